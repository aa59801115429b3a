"""Compiled loops over the nodes of a copied part of a selective tree: rows go down, sums go up."""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.compiled import njit
from tractable.learning.joint.selective.kernels import (
    SUM_EDGE,
    Codes,
    Entries,
    conditioning_gains,
    count_slots,
    x_log_x,
)
from tractable.learning.joint.selective.shapes import Copied, Shape


class Old(NamedTuple):
    """What sums are shrunk towards: the sums that they are copies of."""

    shape: Shape
    prior: Floats  # see `subtrees.Weights`, as the next two
    counts: Floats
    edge_start: Ints
    inherits_counts: bool  # if not, only the prior is inherited


class Smoothed(NamedTuple):
    """What is known of nodes; see `nodes.Reached`."""

    prior: Floats  # (ways of each state of each sum,) a block (ways, states) for each
    held_out: Floats  # (nodes, ways)
    log_likelihood: Floats  # (nodes,)
    size: Ints  # (nodes,)


class Passed(NamedTuple):
    """The rows that reach each node."""

    pool: Codes
    bounds: Ints  # (nodes, 2) those of node i are pool[bounds[i, 0]:bounds[i, 1]]
    codes: Codes  # (columns, rows)


@njit(cache=True, nogil=True)
def pass_rows(shape: Shape, codes: Codes, rows: Codes) -> tuple[Codes, Ints]:
    """Pass rows down: the pool and the bounds of `Passed`."""
    pool, used = np.empty(4 * rows.size + 64, dtype=np.int32), rows.size
    for r in range(used):
        pool[r] = rows[r]
    bounds = np.zeros((shape.column.size, 2), dtype=np.int64)
    bounds[0, 1] = used
    for i in range(shape.column.size):
        low, high = bounds[i]
        if low == high or shape.many[i] == 1:
            continue
        if shape.column[i] >= 0:
            if used + high - low > pool.size:
                pool = _enlarged(pool, used, 2 * pool.size + high - low)
            used = _divide_rows(shape, i, codes[shape.column[i]], pool, bounds, used)
            continue
        child = i + 1
        while child < i + shape.many[i]:
            bounds[child, 0], bounds[child, 1] = low, high
            child += shape.many[child]
    return pool[:used].copy(), bounds


@njit(cache=True, nogil=True)
def _enlarged(pool: Codes, used: int, size: int) -> Codes:
    """A longer pool. A loop compiles in a tenth of the time of an assignment of slices."""
    larger = np.empty(size, dtype=np.int32)
    for r in range(used):
        larger[r] = pool[r]
    return larger


@njit(cache=True, nogil=True)
def _divide_rows(shape: Shape, i: int, code: Codes, pool: Codes, bounds: Ints, used: int) -> int:
    """Append the rows of each child of a decision to the pool; how much of that is used then."""
    base, child, edge = shape.state_start[i], i + 1, 0
    while child < i + shape.many[i]:
        bounds[child, 0] = used
        for r in range(bounds[i, 0], bounds[i, 1]):
            if shape.branch[base + code[pool[r]]] == edge:
                pool[used] = pool[r]
                used += 1
        bounds[child, 1] = used
        child, edge = child + shape.many[child], edge + 1
    return used


@njit(cache=True, nogil=True)
def count_edges(shape: Shape, edge_start: Ints, passed: Passed, weights: Floats, counts: Floats) -> None:
    """The weight of the rows on each edge of each sum."""
    for i in range(shape.column.size):
        if edge_start[i] < edge_start[i + 1]:
            code, base = passed.codes[shape.column[i]], shape.state_start[i]
            for r in range(passed.bounds[i, 0], passed.bounds[i, 1]):
                edge = shape.branch[base + code[passed.pool[r]]]
                if edge >= 0:
                    counts[edge_start[i] + edge] += weights[passed.pool[r]]


@njit(cache=True, nogil=True)
def score_sums(
    copied: Copied, old: Old, pseudo_counts: Floats, counts: Floats, held: Floats, scored: Smoothed
) -> None:
    """The priors of sums, and their own part of all scores. `pseudo_counts` are (2, ways)."""
    ways, shape = pseudo_counts.shape[1], copied.shape
    for i in range(shape.column.size):
        low, high = shape.state_start[i], shape.state_start[i + 1]
        if low == high:
            continue
        was = copied.origin[i]
        base = old.shape.state_start[was]
        model = old.prior[ways * base : ways * (base + high - low)].copy().reshape(ways, high - low)
        before = old.counts[old.edge_start[was] : old.edge_start[was + 1]]
        if old.inherits_counts and before.size:
            branch = old.shape.branch[base : base + high - low]
            for way in range(ways):
                _use_counts(model[way], branch, before, pseudo_counts[:, way])
        prior = scored.prior[ways * low : ways * high].reshape(ways, high - low)
        _restrict(model, shape.branch[low:high], prior)
        first, last = copied.edge_start[i], copied.edge_start[i + 1]
        scored.log_likelihood[i] = _own_likelihood(counts[first:last])
        if held[first:last].sum() > 0.0:
            for way in range(ways):
                branch, pseudo = shape.branch[low:high], pseudo_counts[:, way]
                weights = _weights(prior[way], branch, counts[first:last], pseudo)
                for e in range(last - first):
                    if held[first + e] > 0.0:
                        scored.held_out[i, way] += held[first + e] * np.log(weights[e])


@njit(cache=True, nogil=True)
def _own_likelihood(counts: Floats) -> float:
    answer, total = 0.0, 0.0
    for x in counts:
        answer += x_log_x(x)
        total += x
    return answer - x_log_x(total)


@njit(cache=True, nogil=True)
def _weights(prior: Floats, branch: Codes, counts: Floats, pseudo: Floats) -> Floats:
    """The smoothed weights of edges, in one way."""
    answer = counts + pseudo[0]
    for s in range(branch.size):
        if branch[s] >= 0:
            answer[branch[s]] += pseudo[1] * prior[s]
    total = answer.sum()
    for e in range(answer.size):
        answer[e] /= total
    return answer


@njit(cache=True, nogil=True)
def _use_counts(prior: Floats, branch: Codes, counts: Floats, pseudo: Floats) -> None:
    """Turn a prior mean into smoothed weights of states, which share an edge as they did before."""
    weights = _weights(prior, branch, counts, pseudo)
    mean, states = np.zeros(counts.size), np.zeros(counts.size)
    for s in range(branch.size):
        if branch[s] >= 0:
            mean[branch[s]] += prior[s]
            states[branch[s]] += 1.0
    for s in range(branch.size):
        e = branch[s]
        if e >= 0:
            prior[s] = weights[e] if states[e] == 1.0 else prior[s] * weights[e] / mean[e]


@njit(cache=True, nogil=True)
def _restrict(model: Floats, branch: Codes, prior: Floats) -> None:
    """A prior mean in proportion to a model; even if the model does not allow all states."""
    allowed = True
    for way in range(model.shape[0]):
        for s in range(branch.size):
            allowed = allowed and (branch[s] < 0 or model[way, s] > 0.0)
    for way in range(model.shape[0]):
        total = 0.0
        for s in range(branch.size):
            if branch[s] >= 0:
                prior[way, s] = model[way, s] if allowed else 1.0
                total += prior[way, s]
        for s in range(branch.size):
            prior[way, s] /= total


@njit(cache=True, nogil=True)
def add_up(copied: Copied, scored: Smoothed) -> None:
    """Add what is known of children to what is known of their parents, and find the sizes."""
    for i in range(copied.parent.size - 1, -1, -1):
        above = copied.parent[i]
        scored.size[i] += (copied.edge_start[i + 1] - copied.edge_start[i]) * SUM_EDGE
        if above >= 0:
            scored.size[above] += scored.size[i] + (1 if copied.shape.column[above] < 0 else 0)
            scored.log_likelihood[above] += scored.log_likelihood[i]
            for way in range(scored.held_out.shape[1]):
                scored.held_out[above, way] += scored.held_out[i, way]


@njit(cache=True, nogil=True)
def gain_lines(copied: Copied, gain: Floats, line: Ints, rows: Passed, entries: Entries) -> None:
    """What dividing the rows of each sum by each slot would gain, without the sums below it."""
    shape, many, widest = copied.shape, gain.shape[1], 1
    for i in range(line.size):
        widest = max(widest, copied.edge_start[i + 1] - copied.edge_start[i])
    room = np.empty((many + 2) * widest)
    for i in range(line.size):
        edges = copied.edge_start[i + 1] - copied.edge_start[i]
        low, high = rows.bounds[i]
        if edges == 0 or low == high:
            continue
        for k in range((many + 2) * edges):
            room[k] = 0.0
        table = room[: (many + 2) * edges].reshape(many + 2, edges)
        branch = shape.branch[shape.state_start[i] : shape.state_start[i + 1]]
        count_slots(rows.pool[low:high], rows.codes[shape.column[i]], branch, entries, table)
        conditioning_gains(table, gain[line[i]])


@njit(cache=True, nogil=True)
def add_up_lines(copied: Copied, gain: Floats, line: Ints) -> None:
    """Add the gains of everything below each decision to its own."""
    shape = copied.shape
    for i in range(line.size - 1, -1, -1):
        if shape.column[i] < 0:
            continue
        child = i + 1
        while child < i + shape.many[i]:
            if shape.column[child] >= 0:
                _add_line(gain, line[child], line[i])
            else:
                factor = child + 1
                while factor < child + shape.many[child]:
                    if line[factor] > 0:
                        _add_line(gain, line[factor], line[i])
                    factor += shape.many[factor]
            child += shape.many[child]


@njit(cache=True, nogil=True)
def _add_line(gain: Floats, one: int, into: int) -> None:
    for s in range(gain.shape[1]):
        gain[into, s] += gain[one, s]
