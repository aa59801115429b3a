"""Compiled loops over the nodes of a copied part of a selective tree: rows go down, sums go up.

Nodes are numbered from parents to children; node 0 is the top. Everything about edges and states of sums lies
in flat arrays, and `start` arrays tell where that of each node begins. Products have no edges of that kind.
"""

from typing import NamedTuple

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.compiled import njit
from tractable.learners.selective.kernels import (
    SUM_EDGE,
    Codes,
    Entries,
    Scores,
    conditioning_gains,
    count_slots,
    x_log_x,
)


class Nodes(NamedTuple):
    """The structure."""

    column: Codes  # (nodes,) -1 for a product
    parent: Codes  # (nodes,) -1 for the top
    child_start: Codes  # (nodes + 1,)
    child: Codes
    edge_start: Ints  # (nodes + 1,) a marginal over a single state has no edges
    state_start: Ints  # (nodes + 1,) all states of the column count
    branch: Codes  # (states,) the edge that a state belongs to; -1 if none


class Old(NamedTuple):
    """What sums are shrunk towards: the sums that they are copies of."""

    prior: Floats  # (ways of each state of each sum,) a block (ways, states) for each
    counts: Floats  # (edges of the originals,) none if only the prior is inherited
    edge_start: Ints  # (nodes + 1,)
    branch: Codes  # (states,)


class Smoothed(NamedTuple):
    """What is known of nodes; see `nodes.Reached`."""

    prior: Floats  # as `Old.prior`
    held_out: Floats  # (nodes, ways)
    log_likelihood: Floats  # (nodes,)
    size: Ints  # (nodes,)


class Slotted(NamedTuple):
    """The slots as arrays; see `rows.Slots`."""

    state: Ints
    first: Ints


class Passed(NamedTuple):
    """The rows that reach each node."""

    pool: Codes
    bounds: Ints  # (nodes, 2) those of node i are pool[bounds[i, 0]:bounds[i, 1]]
    codes: Codes  # (columns, rows)


@njit(cache=True, nogil=True)
def pass_rows(nodes: Nodes, codes: Codes, rows: Codes) -> tuple[Codes, Ints]:
    """Pass rows down: the pool and the bounds of `Passed`."""
    pool, used = np.empty(4 * rows.size + 64, dtype=np.int32), rows.size
    pool[:used] = rows
    bounds = np.zeros((nodes.column.size, 2), dtype=np.int64)
    bounds[0, 1] = used
    for i in range(nodes.column.size):
        low, high = bounds[i]
        first, last = nodes.child_start[i], nodes.child_start[i + 1]
        if low == high or first == last:
            continue
        if nodes.column[i] < 0:
            for c in range(first, last):
                bounds[nodes.child[c], 0], bounds[nodes.child[c], 1] = low, high
            continue
        if used + high - low > pool.size:
            larger = np.empty(2 * pool.size + high - low, dtype=np.int32)
            larger[:used] = pool[:used]
            pool = larger
        used = _divide_rows(nodes, i, codes[nodes.column[i]], pool, bounds, used)
    return pool[:used].copy(), bounds


@njit(cache=True, nogil=True)
def _divide_rows(nodes: Nodes, i: int, code: Codes, pool: Codes, bounds: Ints, used: int) -> int:
    """Append the rows of each child of a decision to the pool; how much of that is used then."""
    base, first = nodes.state_start[i], nodes.child_start[i]
    for c in range(nodes.child_start[i + 1] - first):
        child = nodes.child[first + c]
        bounds[child, 0] = used
        for r in range(bounds[i, 0], bounds[i, 1]):
            if nodes.branch[base + code[pool[r]]] == c:
                pool[used] = pool[r]
                used += 1
        bounds[child, 1] = used
    return used


@njit(cache=True, nogil=True)
def count_edges(
    nodes: Nodes, codes: Codes, weights: Floats, pool: Codes, bounds: Ints, counts: Floats
) -> None:
    """The weight of the rows on each edge of each sum."""
    for i in range(nodes.column.size):
        if nodes.edge_start[i] < nodes.edge_start[i + 1]:
            code, base = codes[nodes.column[i]], nodes.state_start[i]
            for r in range(bounds[i, 0], bounds[i, 1]):
                edge = nodes.branch[base + code[pool[r]]]
                if edge >= 0:
                    counts[nodes.edge_start[i] + edge] += weights[pool[r]]


@njit(cache=True, nogil=True)
def score_sums(
    nodes: Nodes, old: Old, pseudo_counts: Floats, counts: Floats, held: Floats, scored: Smoothed
) -> None:
    """The priors of sums, and their own part of all scores. `pseudo_counts` are (2, ways)."""
    ways = pseudo_counts.shape[1]
    for i in range(nodes.column.size):
        low, high = nodes.state_start[i], nodes.state_start[i + 1]
        if low == high:
            continue
        model = old.prior[ways * low : ways * high].copy().reshape(ways, high - low)
        if old.edge_start[i] < old.edge_start[i + 1]:
            before = old.counts[old.edge_start[i] : old.edge_start[i + 1]]
            for way in range(ways):
                _use_counts(model[way], old.branch[low:high], before, pseudo_counts[:, way])
        prior = scored.prior[ways * low : ways * high].reshape(ways, high - low)
        _restrict(model, nodes.branch[low:high], prior)
        first, last = nodes.edge_start[i], nodes.edge_start[i + 1]
        scored.log_likelihood[i] = _own_likelihood(counts[first:last])
        if held[first:last].sum() > 0.0:
            for way in range(ways):
                branch, pseudo = nodes.branch[low:high], pseudo_counts[:, way]
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
def add_up(nodes: Nodes, scored: Smoothed) -> None:
    """Add what is known of children to what is known of their parents, and find the sizes."""
    for i in range(nodes.column.size - 1, -1, -1):
        edge = 1 if nodes.column[i] < 0 else SUM_EDGE
        many = nodes.child_start[i + 1] - nodes.child_start[i]
        if many == 0:
            many = nodes.edge_start[i + 1] - nodes.edge_start[i]
        scored.size[i] += many * edge
        if nodes.parent[i] >= 0:
            scored.size[nodes.parent[i]] += scored.size[i]
            scored.log_likelihood[nodes.parent[i]] += scored.log_likelihood[i]
            scored.held_out[nodes.parent[i]] += scored.held_out[i]


@njit(cache=True, nogil=True)
def gain_lines(nodes: Nodes, gain: Floats, line: Ints, rows: Passed, entries: Entries) -> None:
    """What dividing the rows of each sum by each slot would gain, without the sums below it."""
    many, widest = gain.shape[1], 1
    for i in range(line.size):
        widest = max(widest, nodes.edge_start[i + 1] - nodes.edge_start[i])
    room = np.empty((many + 2) * widest)
    for i in range(line.size):
        edges = nodes.edge_start[i + 1] - nodes.edge_start[i]
        low, high = rows.bounds[i]
        if edges == 0 or low == high:
            continue
        for k in range((many + 2) * edges):
            room[k] = 0.0
        table = room[: (many + 2) * edges].reshape(many + 2, edges)
        branch = nodes.branch[nodes.state_start[i] : nodes.state_start[i + 1]]
        count_slots(rows.pool[low:high], rows.codes[nodes.column[i]], branch, entries, table)
        conditioning_gains(table, gain[line[i]])


@njit(cache=True, nogil=True)
def add_up_lines(nodes: Nodes, scores: Scores, line: Ints, slots: Slotted, size: Ints, own: Ints) -> None:
    """Corrections and sizes of sums, and everything of the sums below them.

    `own` is what decisions themselves add to their corrections.
    """
    for i in range(line.size - 1, -1, -1):
        edges = nodes.edge_start[i + 1] - nodes.edge_start[i]
        if edges == 0:
            continue
        scores.size[line[i]] = size[i]
        base, first = nodes.state_start[i], slots.first[nodes.column[i]]
        last = slots.first[nodes.column[i] + 1]
        if nodes.child_start[i] == nodes.child_start[i + 1]:
            change = ((edges - 1 if edges > 2 else 0) - 2 * edges) * SUM_EDGE
            for s in range(first, last):
                if nodes.branch[base + slots.state[s]] >= 0:
                    scores.correction[line[i], s] = change
            continue
        for c in range(nodes.child_start[i], nodes.child_start[i + 1]):
            _add_lines(nodes, scores, line, line[i], nodes.child[c])
        for s in range(first, last):
            own[base + s - first] = _own_correction(nodes, size, i, slots.state[s])
            scores.correction[line[i], s] += own[base + s - first]


@njit(cache=True, nogil=True)
def _add_lines(nodes: Nodes, scores: Scores, line: Ints, into: int, child: int) -> None:
    """Add the scores of a child, which are those of its factors if it is a product."""
    if nodes.column[child] >= 0:
        _add_line(scores, line[child], into)
        return
    for c in range(nodes.child_start[child], nodes.child_start[child + 1]):
        if line[nodes.child[c]] > 0:
            _add_line(scores, line[nodes.child[c]], into)


@njit(cache=True, nogil=True)
def _add_line(scores: Scores, one: int, into: int) -> None:
    for s in range(scores.gain.shape[1]):
        scores.gain[into, s] += scores.gain[one, s]
        scores.correction[into, s] += scores.correction[one, s]


@njit(cache=True, nogil=True)
def _own_correction(nodes: Nodes, size: Ints, i: int, state: int) -> int:
    """What `scores.decision_correction` finds for one state."""
    base, first = nodes.state_start[i], nodes.child_start[i]
    many = nodes.child_start[i + 1] - first
    e = nodes.branch[base + state]
    if e < 0:
        return 0
    states = 0
    for s in range(base, nodes.state_start[i + 1]):
        states += nodes.branch[s] == e
    child = nodes.child[first + e]
    keeping = size[child] - _joined_size(nodes, i, child)
    dropping = size[i]
    if states == 1:
        dropping -= size[child] + SUM_EDGE
        if many == 2:
            dropping -= SUM_EDGE + _joined_size(nodes, i, nodes.child[first + 1 - e])
    return keeping + dropping - 2 * size[i]


@njit(cache=True, nogil=True)
def _joined_size(nodes: Nodes, i: int, child: int) -> int:
    """What is saved when a child takes the place of node i below its parent; see `nodes.joined_size`."""
    parent = nodes.parent[i]
    if parent < 0 or nodes.column[parent] != nodes.column[child]:
        return 0
    if nodes.column[child] < 0:
        return 1
    is_decision = nodes.child_start[child] < nodes.child_start[child + 1]
    return SUM_EDGE if is_decision else 0
