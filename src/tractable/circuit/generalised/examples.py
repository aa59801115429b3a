"""Models that are generalised circuits: mixtures of conditional Bernoullis, and the text's own example."""

from collections.abc import Sequence

from tractable.base.arrays import Floats
from tractable.circuit.generalised.builder import GeneralisedBuilder
from tractable.circuit.generalised.graph import GeneralisedGraph
from tractable.data.schema import Schema, Variable


def conditional_bernoullis(
    schema: Schema, gates: tuple[Floats, Floats], components: Sequence[tuple[Floats, Floats]]
) -> GeneralisedGraph:
    """A mixture of conditional Bernoullis: sums over components of gate times logistic regressions.

    Targets have two states and inputs are numeric. `gates` are weights (components, inputs) and biases
    (components,) of a softmax regression; each component has weights (targets, inputs) and biases (targets,).
    All targets are tractable.

    Raises:
        ValueError: if a target must have two states.
    """
    for target in schema.targets.tolist():
        if schema[target].cardinality != 2:
            raise ValueError(f"column '{schema[target].name}' must have two states")
    b = GeneralisedBuilder(schema)
    inputs = [b.input(c) for c in schema.inputs.tolist()]
    parts = []
    for gate_weight, gate_bias, (weight, bias) in zip(*gates, components, strict=True):
        factors = [b.apply("exp", b.affine(inputs, gate_weight.tolist(), float(gate_bias)))]
        for target, w, c in zip(schema.targets.tolist(), weight, bias, strict=True):
            yes = b.apply("sigmoid", b.affine(inputs, w.tolist(), float(c)))
            no = b.apply("sigmoid", b.affine(inputs, (-w).tolist(), -float(c)))
            factors.append(
                b.sum([b.product([yes, b.indicator(target, 1)]), b.product([no, b.indicator(target, 0)])])
            )
        parts.append(b.product(factors))
    return b.freeze(b.sum(parts))


def two_target_example(
    weights: Sequence[float] = (1.0, -0.5, 0.8, 0.3),
    biases: Sequence[float] = (0.2, -0.1),
    theta: float = 2.0,
) -> GeneralisedGraph:
    """The circuit of figure 5.1 of Rooshenas (2017): two tractable targets, three inputs.

    It is phi_1^[y2=1] phi_2^[y1=0] theta^[y1=1 and y2=1], where phi_1 = sigmoid(w1 x1 + w2 x2 + b1) and
    phi_2 = sigmoid(w3 x2 + w4 x3 + b2).
    """
    targets = [Variable(name, states=(0, 1)) for name in ("y1", "y2")]
    inputs = [Variable(name, "real", role="input") for name in ("x1", "x2", "x3")]
    b = GeneralisedBuilder(Schema((*targets, *inputs)))
    x1, x2, x3 = (b.input(c) for c in (2, 3, 4))
    phi_1 = b.apply("sigmoid", b.affine([x1, x2], weights[:2], biases[0]))
    phi_2 = b.apply("sigmoid", b.affine([x2, x3], weights[2:], biases[1]))
    y2_is_1 = b.product([phi_1, b.indicator(1, 1)])
    first_no = b.product([phi_2, b.indicator(0, 0), b.sum([b.indicator(1, 0), y2_is_1])])
    both = b.product([b.parameter(theta), y2_is_1])
    first_yes = b.product([b.indicator(0, 1), b.sum([b.indicator(1, 0), both])])
    return b.freeze(b.sum([first_no, first_yes]))
