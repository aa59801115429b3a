"""Compiled loops over the counts of pairs of states, and over Chow-Liu trees.

`pair` is a symmetric matrix of weighted counts of pairs of features, as in `statistics/encoding.py`: feature
0 is the constant one, and each state but the first of a column has a feature. `places` has a row for each
column: the feature of its second state, its number of states, and the feature that marks where it is observed
(0 if always). Counts of first states are differences.

A tree over `order`, parents before their children, has for column c a table of a line for each state of its
parent (one line for a root), whose first cell is at `start[c]` of a flat array.
"""

import numpy as np

from tractable.base.arrays import Bools, Floats, Int32s, Ints
from tractable.base.compiled import njit

LEAST_CELL = 1e-9  # a count that stands for none, so that no state is impossible


@njit(cache=True, nogil=True)
def _n_log_n(n: float) -> float:
    return n * np.log(n) if n > 0.0 else 0.0


@njit(cache=True, nogil=True)
def fill_own_terms(pair: Floats, places: Ints, own: Floats) -> None:
    """Fill in for each column the sum of n log n over its states minus n log n of their total."""
    for c in range(places.shape[0]):
        seen = pair[0, places[c, 2]]
        rest, total = seen, 0.0
        for k in range(places[c, 1] - 1):
            n = pair[0, places[c, 0] + k]
            rest -= n
            total += _n_log_n(n)
        own[c] = total + _n_log_n(rest) - _n_log_n(seen)


@njit(cache=True, nogil=True)
def _pair_gain(pair: Floats, places: Ints, own: Floats, a: int, b: int) -> float:
    """The mutual information of two columns, times the weight of the rows in which both are known."""
    fa, ka, sa = places[a, 0], places[a, 1], places[a, 2]
    fb, kb, sb = places[b, 0], places[b, 1], places[b, 2]
    both = pair[sa, sb]
    total, corner = 0.0, both
    for x in range(fa, fa + ka - 1):
        rest = pair[x, sb]
        corner -= rest
        for y in range(fb, fb + kb - 1):
            total += _n_log_n(pair[x, y])
            rest -= pair[x, y]
        total += _n_log_n(rest)
    for y in range(fb, fb + kb - 1):
        rest = pair[sa, y]
        for x in range(fa, fa + ka - 1):
            rest -= pair[x, y]
        corner -= rest
        total += _n_log_n(rest)
    total += _n_log_n(corner)
    if sa == 0 and sb == 0:
        return total - own[a] - own[b] - _n_log_n(both)
    apart, rest = 0.0, both
    for x in range(fa, fa + ka - 1):
        rest -= pair[x, sb]
        apart += _n_log_n(pair[x, sb])
    apart += _n_log_n(rest)
    rest = both
    for y in range(fb, fb + kb - 1):
        rest -= pair[sa, y]
        apart += _n_log_n(pair[sa, y])
    return total - apart - _n_log_n(rest) + _n_log_n(both)


@njit(cache=True, nogil=True)
def fill_column_gains(
    pair: Floats, places: Ints, own: Floats, column: int, others: Ints, gain: Floats
) -> None:
    """Fill in the mutual information of a column and each of the others, times the weight of their rows."""
    for i in range(others.size):
        gain[i] = _pair_gain(pair, places, own, column, others[i])


@njit(cache=True, nogil=True)
def fill_spanning_tree(
    pair: Floats, places: Ints, own: Floats, least: Floats, best: Floats, parent: Ints, order: Ints
) -> None:
    """Fill in the parents of the columns of `order` in the maximum spanning tree (Prim's algorithm).

    `order` is sorted so that parents precede their children. An edge must gain more than `least[0]` nats, and
    costs `least[1]` nats for each parameter that it adds; a root has the parent -1. `best` is initialised to
    minus infinity, and overwritten. Logarithms are skipped for pairs of binary columns that cannot be
    connected: mutual information times weight is at most the chi-squared statistic.
    """
    n = pair[0, 0]
    count, spread = np.empty(order.size), np.empty(order.size)  # of the columns as they stand in `order`
    feature = np.empty(order.size, dtype=np.int64)
    for i in range(order.size):
        is_binary = places[order[i], 1] == 2 and places[order[i], 2] == 0  # and always observed
        feature[i] = places[order[i], 0]
        count[i] = pair[0, feature[i]] if is_binary else 0.0
        spread[i] = count[i] * (n - count[i]) if is_binary else -1.0
    for done in range(order.size):
        chosen = done
        for i in range(done + 1, order.size):
            if best[i] > best[chosen]:
                chosen = i
        a, value = order[chosen], best[chosen]
        if not value > least[0]:
            parent[a] = -1
        n_a, spread_a, row = count[chosen], spread[chosen], pair[feature[chosen]]
        count[chosen], spread[chosen], best[chosen] = count[done], spread[done], best[done]
        order[chosen], feature[chosen] = order[done], feature[done]
        order[done] = a
        for i in range(done + 1, order.size):
            cost = least[1]
            if spread_a >= 0.0 and spread[i] >= 0.0:
                off = n * row[feature[i]] - n_a * count[i]
                if n * off * off <= (best[i] + cost) * (spread_a * spread[i]):
                    continue
            b = order[i]
            cost *= (places[a, 1] - 1) * (places[b, 1] - 1)
            gain = _pair_gain(pair, places, own, a, b) - cost
            if gain > best[i]:
                best[i] = gain
                parent[b] = a


@njit(cache=True, nogil=True)
def fill_cells(pair: Floats, places: Ints, parent: Ints, order: Ints, start: Ints, cells: Floats) -> None:
    """Fill in the joint counts of each column's states and those of its parent, in rows by parent's state."""
    for c in order:
        p, f, k, s = parent[c], places[c, 0], places[c, 1], places[c, 2]
        lines = 1 if p < 0 else places[p, 1]
        for j in range(lines):
            at = start[c] + j * k
            if p < 0:
                row = 0
            elif j > 0:
                row = places[p, 0] + j - 1
            else:
                row = places[p, 2]
            cells[at] = pair[row, s]
            for x in range(1, k):
                cells[at + x] = pair[row, f + x - 1]
        for j in range(1, lines):  # what the other states of the parent have is not in its first one
            for x in range(k):
                cells[start[c] + x] -= cells[start[c] + j * k + x]
        for j in range(lines):
            at = start[c] + j * k
            for x in range(1, k):
                cells[at] -= cells[at + x]


@njit(cache=True, nogil=True)
def fill_log_tables(
    cells: Floats, smoothing: float, places: Ints, parent: Ints, order: Ints, start: Ints, log_prob: Floats
) -> None:
    """Fill in the smoothed log-probabilities of each row of counts, none of which is -inf.

    A row is smoothed towards the sum of all rows of its column, a single row towards the uniform
    distribution.
    """
    for c in order:
        k = places[c, 1]
        lines = 1 if parent[c] < 0 else places[parent[c], 1]
        whole = 0.0
        for x in range(start[c], start[c] + lines * k):
            whole += max(cells[x], LEAST_CELL)
        for x in range(k):
            share = 0.0
            for j in range(lines):
                share += max(cells[start[c] + j * k + x], LEAST_CELL) / whole
            if lines == 1:
                share = 1.0 / k
            for j in range(lines):
                at = start[c] + j * k + x
                log_prob[at] = max(cells[at], LEAST_CELL) + smoothing * share
        for j in range(lines):
            at = start[c] + j * k
            total = 0.0
            for x in range(at, at + k):
                total += log_prob[x]
            for x in range(at, at + k):
                log_prob[x] = np.log(log_prob[x] / total)


@njit(cache=True, nogil=True)
def fill_tree_logs(
    codes: Int32s,
    places: Ints,
    parent: Ints,
    order: Ints,
    start: Ints,
    log_prob: Floats,
    message: Floats,
    log: Floats,
) -> None:
    """Fill in the log-probability of each row under a tree; cells with code -1 are summed out.

    Columns that are not in `order` are ignored. `message` has memory for a number for each state of each
    column.
    """
    for r in range(codes.shape[0]):
        total = 0.0
        complete = True
        for c in order:
            x, p = codes[r, c], parent[c]
            above = 0 if p < 0 else codes[r, p]
            if x < 0 or above < 0:
                complete = False
                break
            total += log_prob[start[c] + above * places[c, 1] + x]
        log[r] = total
        if not complete:
            log[r] = _sum_out(codes[r], places, parent, order, start, log_prob, message)


@njit(cache=True, nogil=True)
def _sum_out(
    row: Int32s, places: Ints, parent: Ints, order: Ints, start: Ints, log_prob: Floats, message: Floats
) -> float:
    """The log-probability of a row with missing cells, by messages from the leaves to the roots.

    `message` has a row for each column, which accumulates the messages of its children.
    """
    for c in order:
        for x in range(places[c, 1]):
            message[c, x] = 0.0
    answer = 0.0
    for i in range(order.size - 1, -1, -1):
        c = order[i]
        k, p = places[c, 1], parent[c]
        for j in range(1 if p < 0 else places[p, 1]):
            if p >= 0 and row[p] >= 0 and row[p] != j:
                continue
            at = start[c] + j * k
            if row[c] >= 0:
                said = log_prob[at + row[c]] + message[c, row[c]]
            else:
                top = -np.inf
                for x in range(k):
                    top = max(top, log_prob[at + x] + message[c, x])
                total = 0.0
                for x in range(k):
                    total += np.exp(log_prob[at + x] + message[c, x] - top)
                said = top + np.log(total)
            if p < 0:
                answer += said
            else:
                message[p, j] += said
    return answer


@njit(cache=True, nogil=True)
def add_tree_counts(
    codes: Int32s, weight: Floats, places: Ints, parent: Ints, order: Ints, start: Ints, cells: Floats
) -> None:
    """Add the weights of rows to their cells; rows with a missing cell or parent are ignored."""
    for r in range(codes.shape[0]):
        for c in order:
            x, p = codes[r, c], parent[c]
            above = 0 if p < 0 else codes[r, p]
            if x >= 0 and above >= 0:
                cells[start[c] + above * places[c, 1] + x] += weight[r]


@njit(cache=True, nogil=True)
def number_nodes(places: Ints, parent: Ints, order: Ints, has_children: Bools, first: int, node: Ints) -> int:
    """Number the circuit nodes of a tree from `first` on, children before parents; returns the next number.

    `node[c]` becomes the first of the nodes of column c, one for each row of its table, preceded by a product
    for each of its states if c has children.
    """
    for i in range(order.size - 1, -1, -1):
        c = order[i]
        if has_children[c]:
            first += places[c, 1]
        node[c] = first
        first += 1 if parent[c] < 0 else places[parent[c], 1]
    return first


@njit(cache=True, nogil=True)
def fill_edges(
    places: Ints, parent: Ints, order: Ints, has_children: Bools, node: Ints, above: Ints, below: Ints
) -> None:
    """Fill in the edges of a tree's circuit: sums to products, products to indicators and to table rows.

    Indicators are numbered by column and state from 0 up; `places[c, 0] - 1 + c` is that of c's first state.
    """
    e = 0
    for c in order:
        k, p = places[c, 1], parent[c]
        if has_children[c]:
            for j in range(1 if p < 0 else places[p, 1]):
                for x in range(k):
                    above[e], below[e] = node[c] + j, node[c] - k + x
                    e += 1
            for x in range(k):
                above[e], below[e] = node[c] - k + x, places[c, 0] - 1 + c + x
                e += 1
        if p >= 0:
            for j in range(places[p, 1]):
                above[e], below[e] = node[p] - places[p, 1] + j, node[c] + j
                e += 1
