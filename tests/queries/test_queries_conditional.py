"""Circuits of some columns given others: inputs, and factors that come with each row."""

import math
from typing import Any

import numpy as np
import pytest

from tractable import Circuit, queries
from tractable.circuit import Builder, Graph
from tractable.data import Evidence, Schema, Variable


def gated() -> Graph:
    """P(y, z | x): the input x decides between two distributions; x itself is summed to nothing sensible."""
    schema = Schema(
        (
            Variable("x", "categorical", (0, 1), "input"),
            Variable("y", "categorical", ("a", "b"), "target"),
            Variable("z", "categorical", ("c", "d"), "target"),
        )
    )
    builder = Builder(schema)
    gates = []
    for state, (y, z) in enumerate([(0.2, 0.9), (0.7, 0.4)]):
        leaves = [builder.leaf("categorical", c, np.log([1 - p, p])) for c, p in ((1, y), (2, z))]
        mixed = builder.sum([builder.product(leaves), builder.product(leaves[::-1])], [0.1, 0.4])
        gates.append(builder.product([builder.indicator(0, state), mixed]))
    free = builder.product([builder.leaf("bernoulli", 1, [0.2]), builder.leaf("bernoulli", 2, [-0.4])])
    return builder.freeze(builder.sum([*gates, free], [0.0, 0.3, -1.0]))


def value(graph: Graph, x: float, y: float, z: float) -> float:
    """The circuit's value by hand."""
    total = 0.0
    for state, (py, pz), weight in ((0, (0.2, 0.9), 0.0), (1, (0.7, 0.4), 0.3)):
        if x == state:
            p = (py if y else 1 - py) * (pz if z else 1 - pz)
            total += math.exp(weight) * (math.exp(0.1) + math.exp(0.4)) * p
    one, other = 1 / (1 + math.exp(-0.2)), 1 / (1 + math.exp(0.4))
    return total + math.exp(-1.0) * (one if y else 1 - one) * (other if z else 1 - other)


def table(x: float) -> Any:
    values = np.array([[value(gated(), x, y, z) for z in range(2)] for y in range(2)])
    return values / values.sum()


def test_log_prob_is_of_the_targets_given_the_inputs() -> None:
    rows = np.array([[x, y, z] for x in range(2) for y in range(2) for z in range(2)], dtype=float)
    expected = [math.log(table(x)[int(y), int(z)]) for x, y, z in rows]
    np.testing.assert_allclose(queries.log_prob(gated(), rows), expected)
    np.testing.assert_allclose(queries.log_conditional(gated(), rows, []), expected)
    partly = np.array([[1.0, 1.0, np.nan]])
    assert math.exp(queries.log_prob(gated(), partly)[0]) == pytest.approx(table(1)[1].sum())


def test_every_question_is_answered_given_the_inputs() -> None:
    circuit = Circuit(gated())
    p = table(1)
    assert circuit.prob({"y": "b"}, {"x": 1}) == pytest.approx(p[1].sum())
    assert circuit.log_prob({"x": 1, "y": "b"}) == pytest.approx(math.log(p[1].sum()))
    assert circuit.marginals({"x": 1})["z"]["d"] == pytest.approx(p[:, 1].sum())
    np.testing.assert_allclose(circuit.joint_marginal(["z", "y"], {"x": 1}), p.T)
    found = circuit.mpe({"x": 1})
    assert found.exact
    assert found.log_prob == pytest.approx(math.log(p.max()))
    assert circuit.entropy(["y", "z"], {"x": 1}).value == pytest.approx(-(p * np.log(p)).sum())
    drawn = circuit.entropy(["y", "z"], {"x": 1}, method="sample")
    assert abs(drawn.value + (p * np.log(p)).sum()) < 5 * drawn.std_error
    assert circuit.condition({"x": 1}).prob({"y": "b", "z": "c"}) == pytest.approx(p[1, 0])


@pytest.mark.parametrize(
    "ask",
    [
        lambda c: c.log_prob({"y": "a"}),
        lambda c: c.log_prob([[None, "a", "d"]]),
        lambda c: c.prob({"y": "a"}),
        lambda c: c.marginals(),
        lambda c: c.mpe(),
        lambda c: c.mpe(method="exact"),
        lambda c: c.sample(3),
        lambda c: c.impute([[None, None, "d"]], "sample"),
        lambda c: c.impute([[None, None, "d"]], "mean"),
        lambda c: c.joint_marginal(["y"]),
    ],
)
def test_an_input_without_a_value_is_asked_for_by_name(ask: Any) -> None:
    with pytest.raises(ValueError, match="column 'x' is an input of the circuit: it must have a value"):
        ask(Circuit(gated(), {"frame": "numpy"}))


def test_an_input_is_never_completed() -> None:
    with pytest.raises(ValueError, match="column 'x' is an input, which must be given"):
        Circuit(gated()).mpe({"x": 0}, columns=["x"])


def test_an_input_is_not_summed_out_even_where_the_circuit_could() -> None:
    """A conditional model that is valid over all columns was never fitted to its inputs."""
    schema = Schema((Variable("x", "categorical", (0, 1), "input"), Variable("y", "categorical", (0, 1))))
    builder = Builder(schema)
    parts = [
        builder.product([builder.indicator(0, s), builder.leaf("bernoulli", 1, [b])])
        for s, b in ((0, -2), (1, 1))
    ]
    graph = builder.freeze(builder.sum(parts, np.log([0.3, 0.7])))
    assert Circuit(graph).prob({"y": 1}, {"x": 0}) == pytest.approx(1 / (1 + math.exp(2)))
    with pytest.raises(ValueError, match="column 'x' is an input of the circuit: it must have a value"):
        Circuit(graph).prob({"y": 1})
    with pytest.raises(ValueError, match="column 'x' is an input of the circuit: it must have a value"):
        queries.most_probable(graph, np.full((1, 2), np.nan))


def factored() -> Graph:
    """y is drawn in proportion to factors that arrive with the row."""
    schema = Schema(
        (
            Variable("f0", "real", role="potential"),
            Variable("f1", "real", role="potential"),
            Variable("y", "categorical", ("a", "b"), "target"),
        )
    )
    builder = Builder(schema)
    parts = [builder.product([builder.leaf("potential", s, []), builder.indicator(2, s)]) for s in range(2)]
    return builder.freeze(builder.sum(parts, [0.0, 0.0]))


def test_potentials_weigh_the_terms_of_a_row() -> None:
    circuit = Circuit(factored(), {"frame": "numpy"})
    share = 1 / (1 + math.exp(1.5))
    rows = np.array([[2.0, 0.5, np.nan], [0.0, 0.0, np.nan]], dtype=object)
    assert circuit.prob({"y": "b"}, {"f0": 2.0, "f1": 0.5}) == pytest.approx(share)
    assert circuit.prob({"y": "b"}) == pytest.approx(0.5)
    assert circuit.log_prob({"f0": 2.0, "f1": 0.5, "y": "b"}) == pytest.approx(math.log(share))
    found = circuit.marginals(rows=rows)
    assert list(found) == ["y"]
    np.testing.assert_allclose(found["y"], [[1 - share, share], [0.5, 0.5]])
    best = circuit.mpe({"f0": 2.0, "f1": 0.5})
    assert (best.row["y"], best.exact) == ("a", True)
    assert best.log_prob == pytest.approx(math.log(1 - share))
    np.testing.assert_allclose(circuit.joint_marginal(["y"]), [0.5, 0.5])
    np.testing.assert_allclose(circuit.joint_marginal(["y"], {"f0": 2.0, "f1": 0.5}), [1 - share, share])
    drawn = queries.sample(factored(), 4000, Evidence(np.array([2.0, 0.5, np.nan]), {}), 1)
    assert drawn[:, 2].mean() == pytest.approx(share, abs=0.03)
