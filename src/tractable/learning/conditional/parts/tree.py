"""Conditional tree Bayesian networks: each target given the inputs and one other target.

A target without parent has one regression on the inputs. A target with a parent has one for each state of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Watch
from tractable.learning.conditional.parts.regression import (
    Effort,
    Penalty,
    curvature,
    fit_regression,
    log_probs,
    penalty_curvature,
)
from tractable.learning.conditional.parts.rows import RegressionRows

FULL = Effort(30, 1e-6)
TRIAL = Effort(2, 1e-2)  # of regressions that only say how much an edge gains
LEAST_WEIGHT = 1e-8  # of a row that takes part in a fit


class Prior(NamedTuple):
    """What the weights of regressions are shrunk to, and how strongly."""

    l2: float
    means: tuple[Floats, ...]  # a target each: (states - 1, features)
    factors: tuple[Floats, ...] | None = None  # a target each: (features,) what the penalty is multiplied by

    def penalty(self, target: int) -> Penalty:
        """The penalty of each regression of a target."""
        return Penalty(self.l2, self.means[target], None if self.factors is None else self.factors[target])

    def select(self, targets: Ints) -> "Prior":
        """The prior of some targets."""
        factors = None if self.factors is None else tuple(self.factors[j] for j in targets.tolist())
        return Prior(self.l2, tuple(self.means[j] for j in targets.tolist()), factors)


def zero_prior(rows: RegressionRows, l2: float) -> Prior:
    """The prior around zero, but around the log-odds of each state for the intercept."""
    means = []
    for j, states in enumerate(rows.states.tolist()):
        mean, shares = np.zeros((states - 1, rows.x.shape[1])), rows.shares(j)
        mean[:, -1] = np.log(shares[1:] / shares[0])
        means.append(mean)
    return Prior(l2, tuple(means))


@dataclass(frozen=True, slots=True, eq=False)
class ConditionalTree:
    """The parent of each target, and its regressions."""

    parent: Ints  # (targets,) -1 where there is none
    beta: tuple[Floats, ...]  # a target each: (states of the parent or 1, states - 1, features)

    def log_probs(self, rows: RegressionRows, target: int) -> Floats:
        """The log-probability of each state of a target given inputs and parent. Shape (rows, states)."""
        answer = np.empty((len(rows.x), int(rows.states[target])))
        for some, beta in zip(_groups(rows, int(self.parent[target])), self.beta[target], strict=True):
            answer[some] = log_probs(rows.x[some], beta)
        return answer

    def log_likelihood(self, rows: RegressionRows) -> Floats:
        """The log-probability of each row's targets given its inputs. Shape (rows,)."""
        each = np.arange(len(rows.x))
        parts = (self.log_probs(rows, j)[each, rows.y[:, j]] for j in range(self.parent.size))
        return sum(parts, np.zeros(len(each)))

    def refit(self, rows: RegressionRows, prior: Prior, effort: Effort, watch: Watch) -> "ConditionalTree":
        """The tree with its regressions refitted to weighted rows, starting from their current values.

        Regressions for which there is no time are unchanged.
        """
        beta = list(self.beta)
        for j, parent in enumerate(self.parent.tolist()):
            if watch.should_stop():
                break
            beta[j] = fit_target(rows, (j, parent), prior.penalty(j), self.beta[j], effort)
        return ConditionalTree(self.parent, tuple(beta))

    def effective_parameters(self, rows: RegressionRows, prior: Prior) -> float:
        """How many free parameters the regressions have, those that the penalty holds counting less."""
        groups = [
            (j, some, beta)
            for j, parent in enumerate(self.parent.tolist())
            for some, beta in zip(_groups(rows, parent), self.beta[j], strict=True)
        ]
        return sum(_effective(rows, some, beta, prior.penalty(j)) for j, some, beta in groups)


def _groups(rows: RegressionRows, parent: int) -> Iterator[Ints | slice]:
    """The rows with each state of the parent, or all rows."""
    if parent < 0:
        yield slice(None)
        return
    for state in range(int(rows.states[parent])):
        yield np.flatnonzero(rows.y[:, parent] == state)


def fit_target(
    rows: RegressionRows, edge: tuple[int, int], penalty: Penalty, start: Floats, effort: Effort
) -> Floats:
    """The regressions of a target under a parent, from a start. Shape (states of the parent, ...)."""
    target, parent = edge
    answer = start.copy()
    for state, some in enumerate(_groups(rows, parent)):
        weight = rows.weight[some]
        used = weight > LEAST_WEIGHT
        x, y = rows.x[some], rows.y[some, target]
        if not used.all():
            x, y, weight = x[used], y[used], weight[used]
        answer[state] = fit_regression(x, y, weight, penalty, start[state], effort)
    return answer


def roots_alone(rows: RegressionRows, prior: Prior, watch: Watch) -> ConditionalTree:
    """The tree without edges: independent regressions of all targets."""
    start = ConditionalTree(np.full(rows.states.size, -1), tuple(mean[None] for mean in prior.means))
    return start.refit(rows, prior, FULL, watch)


def learn_edges(
    rows: RegressionRows,
    held: RegressionRows | None,
    alone: ConditionalTree,
    tuning: tuple[Prior, int],
    watch: Watch,
) -> ConditionalTree:
    """The tree of highest conditional likelihood, its regressions fitted; `tuning` is (prior, parents tried).

    An edge gains what it adds to the log-likelihood of held-out rows. Without these it is what it adds to the
    training rows, less the effective number of parameters that it costs. Edges are compared after two steps
    of Newton's method, from the regression without parent; those of the tree are then fitted to the end.
    """
    prior, tried = tuning
    gain = np.full((rows.states.size, rows.states.size), -np.inf)
    candidates = _candidates(rows, alone, tried)
    for j, parents in enumerate(candidates):
        watch.report("edges", j, len(candidates))
        if watch.should_stop():
            break
        gain[parents, j] = _gains(rows, held, alone, j, parents, prior.penalty(j))
    parent = maximum_branching(gain)
    beta = tuple(
        np.repeat(alone.beta[j], rows.states[i] if i >= 0 else 1, axis=0)
        for j, i in enumerate(parent.tolist())
    )
    return ConditionalTree(parent, beta).refit(rows, prior, FULL, watch)


def residuals(rows: RegressionRows, tree: ConditionalTree) -> Floats:
    """How far each state but the first is from its probability. Shape (rows, states of all targets).

    They are divided by their standard deviation (Pearson's residuals), and limited so that no row decides.
    """
    parts = []
    for j in range(rows.states.size):
        p = np.exp(tree.log_probs(rows, j)[:, 1:])
        parts.append((rows.indicators(j)[:, 1:] - p) / np.sqrt(np.maximum(p * (1 - p), 1e-12)))
    return np.clip(np.concatenate([np.zeros((len(rows.x), 0)), *parts], axis=1), -5.0, 5.0)


def _candidates(rows: RegressionRows, alone: ConditionalTree, tried: int) -> list[Ints]:
    """For each target the others that would change its intercept most, by a score test, best first."""
    owner = np.repeat(np.arange(rows.states.size), rows.states)
    state = np.concatenate([rows.indicators(i) for i in range(rows.states.size)], axis=1)
    candidates = []
    for j in range(rows.states.size):
        p = np.exp(alone.log_probs(rows, j))
        score = (state * rows.weight[:, None]).T @ (rows.indicators(j) - p)
        spread = (state * rows.weight[:, None]).T @ (p * (1 - p))
        statistic = (score**2 / np.maximum(spread, 1e-9)).sum(axis=1)
        gain = np.bincount(owner, statistic, rows.states.size)
        gain[j] = -1.0
        gain[rows.states < 2] = -1.0
        order = np.argsort(-gain, kind="stable")[:tried]
        candidates.append(order[gain[order] > 0] if rows.states[j] > 1 else order[:0])
    return candidates


def _gains(
    rows: RegressionRows,
    held: RegressionRows | None,
    alone: ConditionalTree,
    target: int,
    parents: Ints,
    penalty: Penalty,
) -> Floats:
    """The log-likelihood gained by an edge from each of some parents. Shape (parents,)."""
    judge = rows if held is None else held
    each = np.arange(len(judge.x))
    before = float(judge.weight @ alone.log_probs(judge, target)[each, judge.y[:, target]])
    cost = _effective(rows, slice(None), alone.beta[target][0], penalty) if held is None else 0.0
    answer = np.empty(parents.size)
    for place, parent in enumerate(parents.tolist()):
        start = np.repeat(alone.beta[target], rows.states[parent], axis=0)
        beta = fit_target(rows, (target, parent), penalty, start, TRIAL)
        after = 0.0
        for some, line in zip(_groups(judge, parent), beta, strict=True):
            logs = log_probs(judge.x[some], line)
            after += float(judge.weight[some] @ logs[np.arange(len(logs)), judge.y[some, target]])
        answer[place] = after - before - cost * (rows.states[parent] - 1)
    return answer


def _effective(rows: RegressionRows, some: Ints | slice, beta: Floats, penalty: Penalty) -> float:
    """The trace of the curvature without penalty over that with it, of one regression."""
    x, weight = rows.x[some], rows.weight[some]
    if penalty.factor is not None:
        free = np.isfinite(penalty.factor)
        x, beta, penalty = x[:, free], beta[:, free], penalty.select(free)
    own = curvature(x, weight, np.exp(log_probs(x, beta)))
    both = own + penalty_curvature(penalty, x.shape[1])
    return float(np.trace(np.linalg.solve(both, own)))


def maximum_branching(gain: Floats) -> Ints:
    """The parent of each node in the forest of highest total gain; -1 for a root. Shape (nodes,).

    `gain[i, j]` is that of an edge from i down to j, -inf where there is none. A root gains nothing.
    """
    size = len(gain)
    above = np.full((size + 1, size + 1), -np.inf)
    above[1:, 1:] = np.where(gain > 0, gain, -np.inf)
    above[0, 1:] = 0.0  # from a node above all roots
    np.fill_diagonal(above, -np.inf)
    return _arborescence(above)[1:] - 1


def _arborescence(gain: Floats) -> Ints:
    """The parent of each node in the best tree below node 0, which every node has an edge from."""
    parent: Ints = np.argmax(gain, axis=0)
    parent[0] = 0
    cycle = _find_cycle(parent)
    if not cycle.size:
        return parent
    rest = np.setdiff1d(np.arange(len(gain)), cycle)
    smaller = np.full((rest.size + 1, rest.size + 1), -np.inf)
    smaller[:-1, :-1] = gain[np.ix_(rest, rest)]
    into = gain[np.ix_(rest, cycle)] - gain[parent[cycle], cycle]
    out = gain[np.ix_(cycle, rest)]
    smaller[:-1, -1], smaller[-1, :-1] = into.max(axis=1), out.max(axis=0)
    contracted = _arborescence(smaller)
    answer = parent.copy()
    below_cycle = contracted[:-1] == rest.size
    answer[rest] = np.where(
        below_cycle, cycle[out.argmax(axis=0)], rest[np.minimum(contracted[:-1], rest.size - 1)]
    )
    answer[cycle[into[contracted[-1]].argmax()]] = rest[contracted[-1]]
    answer[0] = 0
    return answer


def _find_cycle(parent: Ints) -> Ints:
    """The nodes of some cycle on the ways up to node 0; none where all ways arrive there."""
    seen = np.zeros(parent.size, dtype=np.int64)  # in which walk
    seen[0] = -1
    for first in range(1, parent.size):
        node = first
        while not seen[node]:
            seen[node] = first
            node = int(parent[node])
        if seen[node] == first:
            cycle = [node]
            while parent[cycle[-1]] != node:
                cycle.append(int(parent[cycle[-1]]))
            return np.array(cycle)
    return np.zeros(0, dtype=np.int64)
