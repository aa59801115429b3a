"""Parts of a conditional sum-product network: trees over some targets, products of parts and gated sums.

Each part is a distribution of its targets given the inputs. Rows are those of all targets.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from scipy.special import logsumexp

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Watch
from tractable.learning.conditional.trees.regression import (
    Effort,
    Penalty,
    curvature,
    fit_regression,
    log_probs,
    penalty_curvature,
)
from tractable.learning.conditional.trees.rows import RegressionRows
from tractable.learning.conditional.trees.tree import ConditionalTree, Prior

STEP = Effort(1, 1e-3)  # of each regression between two expectation steps
PATIENCE = 3  # iterations without progress
LEAST_PROGRESS = 5e-5  # nats a row


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
        """The same part after a step of expectation maximisation from weighted rows."""
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


@dataclass(frozen=True, slots=True, eq=False)
class GatedSum:
    """Parts over the same targets, whose weights are a softmax regression on the inputs."""

    gate: Floats  # (parts - 1, features)
    penalty: float  # L2 of the gate's weights, around zero
    parts: "tuple[Part, ...]"

    @property
    def targets(self) -> Ints:
        """The targets of each part."""
        return self.parts[0].targets

    def log_joint(self, rows: RegressionRows) -> Floats:
        """log P(part, targets | inputs). Shape (rows, parts)."""
        each = np.stack([part.log_likelihood(rows) for part in self.parts], axis=1)
        return each + log_probs(rows.x, self.gate)

    def log_likelihood(self, rows: RegressionRows) -> Floats:
        """See `Leaf.log_likelihood`."""
        answer: Floats = logsumexp(self.log_joint(rows), axis=1)
        return answer

    def responsibilities(self, rows: RegressionRows) -> Floats:
        """P(part | inputs and targets). Shape (rows, parts)."""
        logs = self.log_joint(rows)
        return np.asarray(np.exp(logs - logsumexp(logs, axis=1, keepdims=True)))

    def maximise(self, rows: RegressionRows, watch: Watch) -> "GatedSum":
        """See `Leaf.maximise`."""
        return self.fit_to(rows, self.responsibilities(rows), watch)

    def fit_to(self, rows: RegressionRows, share: Floats, watch: Watch) -> "GatedSum":
        """The sum fitted to rows that belong to its parts in shares. `share` is (rows, parts)."""
        gate = fit_regression(rows.x, share, rows.weight, self._penalty(), self.gate, STEP)
        parts = tuple(part.maximise(rows.reweight(share[:, k]), watch) for k, part in enumerate(self.parts))
        return replace(self, gate=gate, parts=parts)

    def effective_parameters(self, rows: RegressionRows) -> float:
        """See `Leaf.effective_parameters`."""
        own = curvature(rows.x, rows.weight, np.exp(log_probs(rows.x, self.gate)))
        both = own + penalty_curvature(self._penalty(), rows.x.shape[1])
        share = self.responsibilities(rows)
        each = (p.effective_parameters(rows.reweight(share[:, k])) for k, p in enumerate(self.parts))
        return float(np.trace(np.linalg.solve(both, own))) + sum(each)

    def _penalty(self) -> Penalty:
        return Penalty(self.penalty, np.zeros_like(self.gate))


Part: TypeAlias = Leaf | Product | GatedSum


def score(part: Part, rows: RegressionRows) -> float:
    """The mean log-likelihood of weighted rows; zero where there are none."""
    return float(rows.weight @ part.log_likelihood(rows)) / rows.total if rows.total else 0.0


def improve(
    part: Part, rows: RegressionRows, held: RegressionRows | None, iterations: int, watch: Watch
) -> Part:
    """The best part on the way of expectation maximisation, by held-out rows or by the rows themselves.

    Where parts overlap its steps are short, so that each goes on in the direction of the last (Nesterov's
    momentum), until the rows become less likely.
    """
    judge = rows if held is None else held
    best, best_score, waited = part, score(part, judge), 0
    last, last_score, pace = part, -np.inf, 1.0
    for iteration in range(iterations):
        watch.report("expectation maximisation", iteration, iterations, best_score)
        if watch.should_stop() or waited == PATIENCE:
            break
        reached = part.maximise(rows, watch)
        on_rows = score(reached, rows)
        faster = 0.5 + np.sqrt(0.25 + pace * pace) if on_rows > last_score else 1.0
        part = extrapolate(last, reached, (pace - 1) / faster) if faster > 1 else reached
        last, last_score, pace = reached, on_rows, faster
        found = on_rows if held is None else score(reached, held)
        waited = 0 if found > best_score + LEAST_PROGRESS else waited + 1
        if found > best_score:
            best, best_score = reached, found
    return best


def extrapolate(old: Part, new: Part, times: float) -> Part:
    """The new part, moved on by so many times its distance from an old one of the same shape."""
    if isinstance(old, Leaf):
        assert isinstance(new, Leaf)
        beta = tuple(b + times * (b - a) for a, b in zip(old.tree.beta, new.tree.beta, strict=True))
        return replace(new, tree=ConditionalTree(new.tree.parent, beta))
    assert not isinstance(new, Leaf)
    parts = tuple(extrapolate(a, b, times) for a, b in zip(old.parts, new.parts, strict=True))
    if isinstance(old, Product) or isinstance(new, Product):
        return Product(parts)
    return replace(new, gate=new.gate + times * (new.gate - old.gate), parts=parts)


def leaves(part: Part) -> Iterator[Leaf]:
    """All trees of a part."""
    if isinstance(part, Leaf):
        yield part
    else:
        for below in part.parts:
            yield from leaves(below)
