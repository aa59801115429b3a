"""A gated mixture of conditional random fields as a vector of weights.

The probability of targets y given inputs x is sum_k g_k(x) C_k(y, x) / sum_k g_k(x) Z_k(x): C_k is the value
of a field, Z_k its sum over all targets, and the logarithm of g_k is linear in features of the inputs. Fields
are not normalised by themselves, so that this is one conditional random field with a latent variable k.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.progress import Form, Forms, Key
from tractable.circuit import PRODUCT, SUM, Block, ConstantBlock, GateBlock, Graph
from tractable.circuit.assemble import assemble
from tractable.circuit.leaves.logistic import InputFeatures, SoftmaxRegressions
from tractable.data import Schema
from tractable.learning.conditional.field.freeze import (
    NodeList,
    field_node,
    freeze_conditional,
    indicator_blocks,
)
from tractable.learning.conditional.field.structure import ConditionalStructure
from tractable.learning.conditional.parts.regression import INTERCEPT_PENALTY


@dataclass(frozen=True, slots=True, eq=False)
class Component:
    """A conditional random field, and the prior means of its weights."""

    structure: ConditionalStructure
    prior_mean: Floats  # (features,)
    weights: Floats  # (features,)


@dataclass(frozen=True, slots=True, eq=False)
class FieldMixture:
    """Components and their gates."""

    components: tuple[Component, ...]
    gate: Floats  # (components, features of the inputs + 1) the last is the intercept

    @property
    def vector(self) -> Floats:
        """All weights: those of the components, then those of the gates."""
        return np.concatenate([*(c.weights for c in self.components), self.gate.ravel()])

    def at(self, vector: Floats) -> "FieldMixture":
        """The mixture with other weights."""
        ends = np.cumsum([c.weights.size for c in self.components])
        *weights, gate = np.split(vector, ends)
        components = (replace(c, weights=w) for c, w in zip(self.components, weights, strict=True))
        return FieldMixture(tuple(components), gate.reshape(self.gate.shape))

    @property
    def free_parameters(self) -> int:
        """The number of weights that differ from their prior means, and of free gate weights."""
        moved = sum(int(np.count_nonzero(c.weights != c.prior_mean)) for c in self.components)
        return moved + (len(self.components) - 1) * self.gate.shape[1]


class MixturePriors(NamedTuple):
    """The priors of the weights."""

    l1: float  # a unit of a feature weight's distance from its prior mean
    variance: float  # of the Gaussian prior of a feature weight
    gate_l2: float  # penalty of the weights of gates

    def mean(self, mixture: FieldMixture) -> Floats:
        """The prior means of all weights."""
        return np.concatenate([*(c.prior_mean for c in mixture.components), np.zeros(mixture.gate.size)])

    def price(self, mixture: FieldMixture) -> Floats:
        """The L1 penalty of each weight."""
        features = mixture.vector.size - mixture.gate.size
        return np.repeat([self.l1, 0.0], [features, mixture.gate.size])

    def precision(self, mixture: FieldMixture) -> Floats:
        """The precision of the Gaussian prior of each weight.

        Each component has gates, not all but one, so that with two components and twice the penalty their
        difference is penalised as a logistic regression is.
        """
        gate = np.full(mixture.gate.shape, 2 * self.gate_l2)
        gate[:, -1] = 2 * INTERCEPT_PENALTY
        features = mixture.vector.size - mixture.gate.size
        return np.concatenate([np.full(features, 1 / self.variance), gate.ravel()])


def structure_forms(mixture: FieldMixture) -> Forms:
    """How structures over the columns of a mixture are saved."""
    structure = mixture.components[0].structure
    return {ConditionalStructure: Form(lambda grown: grown.history, structure.regrow)}


LARGER: Key[FieldMixture | None] = Key(__name__, "larger", FieldMixture | None)


def freeze_mixture(
    mixture: FieldMixture, schema: Schema, features: InputFeatures, cuts: Sequence[Floats]
) -> Graph:
    """The circuit over the columns of a schema with targets and inputs; a single field has no gates.

    `cuts` has the numbers at which each input is cut into intervals, none for a categorical one.
    """
    first, many = mixture.components[0], len(mixture.components)
    if many == 1:
        return freeze_conditional(first.structure, schema, first.weights, cuts)
    states, targets = first.structure.states, first.structure.targets
    indicators, weights = int(states.sum()), np.concatenate([c.weights for c in mixture.components])
    gates = indicators + weights.size + np.arange(many)
    nodes, terms, at = NodeList(indicators + weights.size + many), [], indicators
    for component, gate in zip(mixture.components, gates.tolist(), strict=True):
        field = field_node(component.structure, component.weights, nodes, at)
        terms.append(nodes.add(PRODUCT, [gate, field]))
        at += component.weights.size
    root = nodes.add(SUM, terms)
    constants = indicators + np.arange(weights.size)
    columns = np.concatenate([schema.targets, schema.inputs])
    regression = SoftmaxRegressions(features, (mixture.gate[1:] - mixture.gate[0])[None])
    blocks: list[Block] = [
        *indicator_blocks(schema, columns, states, [np.zeros(0)] * targets + list(cuts)),
        ConstantBlock(constants, weights),
        GateBlock(regression, gates, np.zeros(many, dtype=np.int64), np.arange(many)),
    ]
    return assemble(schema, np.array(nodes.kind), nodes.edges, blocks, root)
