"""Parts of a conditional sum-product network: trees over some targets, products of parts and gated sums.

Each part is a distribution of its targets given the inputs. Rows are those of all targets.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar, final

import numpy as np
from scipy.special import logsumexp

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Watch
from tractable.circuit import Graph
from tractable.circuit.builder import Builder
from tractable.circuit.leaves.logistic import InputFeatures, SoftmaxRegressions
from tractable.data import Schema
from tractable.learning.conditional.parts.growth import Scored, Stopping, best_iterate, pays
from tractable.learning.conditional.parts.regression import (
    Effort,
    Penalty,
    curvature,
    fit_regression,
    log_probs,
    penalty_curvature,
)
from tractable.learning.conditional.parts.rows import RegressionRows, Sample
from tractable.learning.conditional.parts.tree import ConditionalTree, Prior

STEP = Effort(1, 1e-3)  # of each regression between two expectation steps


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """A tree over some targets, and the prior of its regressions."""

    targets: Ints  # ascending numbers of targets
    tree: ConditionalTree
    prior: Prior

    def log_likelihood(self, rows: RegressionRows) -> Floats:
        """The log-probability of these targets in each row, given its inputs. Shape (rows,)."""
        return self.tree.log_likelihood(rows.select(self.targets))

    def maximise(self, rows: RegressionRows, watch: Watch) -> "Leaf":
        """The part after an EM step on weighted rows."""
        return replace(self, tree=self.tree.refit(rows.select(self.targets), self.prior, STEP, watch))

    def effective_parameters(self, rows: RegressionRows) -> float:
        """How many free parameters the regressions have, those that the penalty holds counting less."""
        return self.tree.effective_parameters(rows.select(self.targets), self.prior)


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """Parts over different targets, which are independent given the inputs."""

    parts: "tuple[Part, ...]"

    @property
    def targets(self) -> Ints:
        """The targets of all parts, ascending."""
        return np.sort(np.concatenate([part.targets for part in self.parts]))

    def log_likelihood(self, rows: RegressionRows) -> Floats:
        """See `Leaf.log_likelihood`."""
        return sum((part.log_likelihood(rows) for part in self.parts), np.zeros(len(rows.x)))

    def maximise(self, rows: RegressionRows, watch: Watch) -> "Product":
        """See `Leaf.maximise`."""
        return Product(tuple(part.maximise(rows, watch) for part in self.parts))

    def effective_parameters(self, rows: RegressionRows) -> float:
        """See `Leaf.effective_parameters`."""
        return sum(part.effective_parameters(rows) for part in self.parts)


class WeightedParts(ABC):
    """Parts over the same targets, one of which each row comes from."""

    __slots__ = ()
    parts: "tuple[Part, ...]"

    @abstractmethod
    def log_weights(self, rows: RegressionRows) -> Floats:
        """log P(part | inputs). Shape (rows, parts), or (parts,) if it does not depend on the inputs."""

    @property
    def targets(self) -> Ints:
        """The targets of each part."""
        return self.parts[0].targets

    @final
    def log_joint(self, rows: RegressionRows) -> Floats:
        """log P(part, targets | inputs). Shape (rows, parts)."""
        each = np.stack([part.log_likelihood(rows) for part in self.parts], axis=1)
        return each + self.log_weights(rows)

    def log_likelihood(self, rows: RegressionRows) -> Floats:
        """See `Leaf.log_likelihood`."""
        answer: Floats = logsumexp(self.log_joint(rows), axis=1)
        return answer

    @final
    def responsibilities(self, rows: RegressionRows) -> Floats:
        """P(part | inputs and targets). Shape (rows, parts)."""
        logs = self.log_joint(rows)
        return np.asarray(np.exp(logs - logsumexp(logs, axis=1, keepdims=True)))

    def _maximise_parts(self, rows: RegressionRows, share: Floats, watch: Watch) -> "tuple[Part, ...]":
        return tuple(part.maximise(rows.reweight(share[:, k]), watch) for k, part in enumerate(self.parts))

    def _parameters_of_parts(self, rows: RegressionRows) -> float:
        share = self.responsibilities(rows)
        return sum(p.effective_parameters(rows.reweight(share[:, k])) for k, p in enumerate(self.parts))


@dataclass(frozen=True, slots=True, eq=False)
class Mixture(WeightedParts):
    """Parts over the same targets, whose weights do not depend on the inputs."""

    log_share: Floats  # (parts,)
    parts: "tuple[Part, ...]"

    def log_weights(self, rows: RegressionRows) -> Floats:
        """See `WeightedParts.log_weights`."""
        return self.log_share

    def maximise(self, rows: RegressionRows, watch: Watch) -> "Mixture":
        """See `Leaf.maximise`."""
        return self.fit_to(rows, self.responsibilities(rows), watch)

    def fit_to(self, rows: RegressionRows, share: Floats, watch: Watch) -> "Mixture":
        """The mixture fitted to rows that belong to its parts in shares. `share` is (rows, parts)."""
        size = rows.weight @ share + 1.0 / len(self.parts)
        return Mixture(np.log(size / size.sum()), self._maximise_parts(rows, share, watch))

    def effective_parameters(self, rows: RegressionRows) -> float:
        """See `Leaf.effective_parameters`."""
        return len(self.parts) - 1 + self._parameters_of_parts(rows)


@dataclass(frozen=True, slots=True, eq=False)
class GatedSum(WeightedParts):
    """Parts over the same targets, whose weights are a softmax regression on the inputs."""

    gate: Floats  # (parts - 1, features)
    penalty: float  # L2 of the gate's weights, around zero
    parts: "tuple[Part, ...]"

    def log_weights(self, rows: RegressionRows) -> Floats:
        """See `WeightedParts.log_weights`."""
        return log_probs(rows.x, self.gate)

    def maximise(self, rows: RegressionRows, watch: Watch) -> "GatedSum":
        """See `Leaf.maximise`."""
        return self.fit_to(rows, self.responsibilities(rows), watch)

    def fit_to(self, rows: RegressionRows, share: Floats, watch: Watch) -> "GatedSum":
        """The sum fitted to rows that belong to its parts in shares. `share` is (rows, parts)."""
        gate = fit_regression(rows.x, share, rows.weight, self._penalty(), self.gate, STEP)
        return replace(self, gate=gate, parts=self._maximise_parts(rows, share, watch))

    def effective_parameters(self, rows: RegressionRows) -> float:
        """See `Leaf.effective_parameters`."""
        own = curvature(rows.x, rows.weight, np.exp(log_probs(rows.x, self.gate)))
        both = own + penalty_curvature(self._penalty(), rows.x.shape[1])
        return float(np.trace(np.linalg.solve(both, own))) + self._parameters_of_parts(rows)

    def _penalty(self) -> Penalty:
        return Penalty(self.penalty, np.zeros_like(self.gate))


Part: TypeAlias = Leaf | Product | Mixture | GatedSum
P = TypeVar("P", bound=Part)


def score(part: Part, rows: RegressionRows) -> float:
    """The mean log-likelihood of weighted rows; zero where there are none."""
    return float(rows.weight @ part.log_likelihood(rows)) / rows.total if rows.total else 0.0


def is_worth(larger: Part, before: Part, sample: Sample, least: float = 0.0) -> bool:
    """Whether a larger part is better, as `pays` decides."""
    rows, judge = sample.rows, sample.judge

    def parameters() -> float:
        return larger.effective_parameters(rows) - before.effective_parameters(rows)

    gain = score(larger, judge) - score(before, judge)
    return pays(gain, judge.total, parameters if sample.held is None else None, least)


def improve(part: P, sample: Sample, stopping: Stopping, watch: Watch, *, momentum: bool) -> P:
    """The best iterate of expectation maximisation, by held-out rows or by the rows themselves."""
    start = Scored(part, score(part, sample.judge))
    steps = _iterates(part, sample, momentum, watch)
    return best_iterate(start, steps, stopping, "expectation maximisation", watch).model


def _iterates(part: Part, sample: Sample, momentum: bool, watch: Watch) -> Iterator[Scored[Any]]:
    """Parts after one step of expectation maximisation, two, and so on.

    Where parts overlap its steps are short. With momentum (Nesterov's) each goes on in the direction of the
    last, until the rows become less likely.
    """
    last, last_score, pace = part, -np.inf, 1.0
    while True:
        reached = part.maximise(sample.rows, watch)
        reached_score = score(reached, sample.judge)
        yield Scored(reached, reached_score)
        part = reached
        if momentum:
            on_rows = reached_score if sample.held is None else score(reached, sample.rows)
            faster = 0.5 + np.sqrt(0.25 + pace * pace) if on_rows > last_score else 1.0
            part = extrapolate(last, reached, (pace - 1) / faster) if faster > 1 else reached
            last, last_score, pace = reached, on_rows, faster


def extrapolate(old: P, new: P, times: float) -> P:
    """The new part plus a multiple of its difference from an old one of equal shape."""
    if isinstance(old, Leaf) and isinstance(new, Leaf):
        beta = tuple(b + times * (b - a) for a, b in zip(old.tree.beta, new.tree.beta, strict=True))
        return replace(new, tree=ConditionalTree(new.tree.parent, beta))
    assert not isinstance(old, Leaf)
    assert not isinstance(new, Leaf)
    parts = tuple(extrapolate(a, b, times) for a, b in zip(old.parts, new.parts, strict=True))
    if isinstance(old, GatedSum) and isinstance(new, GatedSum):
        return replace(new, gate=new.gate + times * (new.gate - old.gate), parts=parts)
    return replace(new, parts=parts)


def leaves(part: Part) -> Iterator[Leaf]:
    """All trees of a part."""
    if isinstance(part, Leaf):
        yield part
    else:
        for below in part.parts:
            yield from leaves(below)


# ---- the circuit of a conditional sum-product network, whose leaves are conditional trees ---------------


def freeze_part(part: Part, schema: Schema, features: InputFeatures) -> Graph:
    """The circuit of a part with all targets. Its sum over the targets is one whatever the inputs."""
    builder = Builder(schema)
    _node(builder, part, schema, features)
    return builder.freeze()


def _node(builder: Builder, part: Part, schema: Schema, features: InputFeatures) -> int:
    if isinstance(part, Leaf):
        return tree_node(builder, part.tree, schema.targets[part.targets], features)
    if isinstance(part, GatedSum):
        gates = builder.gates(SoftmaxRegressions(features, part.gate[None]))[0].tolist()
        terms = [
            builder.product([gate, _node(builder, below, schema, features)])
            for gate, below in zip(gates, part.parts, strict=True)
        ]
        return builder.sum(terms, np.zeros(len(terms)))
    terms = [_node(builder, below, schema, features) for below in part.parts]
    if isinstance(part, Product):
        return builder.product(terms)
    return builder.sum(terms, part.log_share) if len(terms) > 1 else terms[0]


def tree_node(builder: Builder, tree: ConditionalTree, targets: Ints, features: InputFeatures) -> int:
    """The node of a tree over some targets, given their columns.

    The sum over the states of a target has an indicator and a gate for each, and below it the targets that
    have this one as their parent. It is one whatever the inputs.
    """
    gates = _gates(builder, tree, features)
    below: list[list[list[int]]] = [[[] for _ in range(lines.shape[1])] for lines in gates]
    tops: list[int] = []
    for j in _children_first(tree.parent):
        column, parent = int(targets[j]), int(tree.parent[j])
        for group, lines in enumerate(gates[j].tolist()):
            terms = [
                builder.product([builder.indicator(column, k), *gate, *below[j][k]])
                for k, gate in enumerate(lines)
            ]
            node = terms[0] if len(terms) == 1 else builder.sum(terms, np.zeros(len(terms)))
            (tops if parent < 0 else below[parent][group]).append(node)
    return builder.product(tops)


def _gates(builder: Builder, tree: ConditionalTree, features: InputFeatures) -> list[Ints]:
    """The gates of each target: (states of the parent, states, 1), or (.., 1, 0) where it has one state."""
    answer: list[Ints] = [np.zeros((len(beta), 1, 0), dtype=np.int64) for beta in tree.beta]
    for above in sorted({beta.shape[1] for beta in tree.beta} - {0}):
        alike = [j for j, beta in enumerate(tree.beta) if beta.shape[1] == above]
        regressions = SoftmaxRegressions(features, np.concatenate([tree.beta[j] for j in alike]))
        nodes = builder.gates(regressions)[:, :, None]
        parts = np.split(nodes, np.cumsum([len(tree.beta[j]) for j in alike])[:-1])
        for j, part in zip(alike, parts, strict=True):
            answer[j] = part
    return answer


def _children_first(parent: Ints) -> list[int]:
    """All targets, each before its parent."""
    children: list[list[int]] = [[] for _ in parent]
    for j, i in enumerate(parent.tolist()):
        if i >= 0:
            children[i].append(j)
    order = np.flatnonzero(parent < 0).tolist()
    for j in order:  # which grows meanwhile
        order += children[j]
    return order[::-1]
