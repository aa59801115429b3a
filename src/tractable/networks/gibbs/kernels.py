"""Compiled Gibbs chains.

A chain maintains, for every state of every column, its log-weight given the current values of the other
columns. The contributions of features are updated whenever a column changes. Trees and tables store the
current leaf and are evaluated again only for a column on the path to that leaf, after another such column has
changed. If nothing has changed, a step takes one random number.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Int32s, Ints, Words
from tractable.base.compiled import njit
from tractable.engine.trace import uniform
from tractable.networks.features import Literals
from tractable.networks.flat import Rules


class Blankets(NamedTuple):
    """The trees and tables that contain each column, and the columns on the path to each leaf."""

    first: Ints  # (columns + 1,)
    rule: Ints  # column c's rules are rule[first[c]:first[c + 1]]
    matter_first: Ints  # (nodes + 1,)
    matter: Ints  # a leaf is reached by way of, or looked up by, matter[matter_first[n]:matter_first[n + 1]]
    tested: Words  # (nodes, columns / 64) the same columns as bits, but for those only looked up by


class Factors(NamedTuple):
    """The factors of a network in the form of the chains."""

    literals: Literals
    rules: Rules
    blankets: Blankets
    slots: Ints  # (columns + 1,) column c's states are slots[c]:slots[c + 1]


class Query(NamedTuple):
    """The queried states of several columns; empty if only marginals are requested."""

    column: Ints  # free columns
    allowed: Bools  # (states,) of those columns, the states that satisfy the query


class Sums(NamedTuple):
    """The sums that chains accumulate over their sweeps, in batches."""

    marginal: Floats  # (rows, batches, states) distributions of the free columns given all others
    query: Floats  # (rows, batches) probabilities of the query


class Chain(NamedTuple):
    """The state of a chain."""

    row: Int32s  # (columns,)
    unmet: Ints  # (features,) how many of a feature's literals do not hold
    field: Floats  # (states,) the logarithms that features give each state
    leaf: Ints  # (rules,) the leaf of each tree or table that the row leads to
    local: Floats  # (states,) the logarithms that trees and tables give each state
    stale: Bools  # (columns,) whether `local` is out of date
    prob: Floats  # (states,) the distribution of each column given all others
    fresh: Bools  # (columns,) whether `prob` is up to date


@njit(cache=True, nogil=True)
def tested_columns(rules: Rules, columns: int) -> Words:
    """The columns that are tested on the path to each node, as bits. Shape (nodes, columns / 64)."""
    tested = np.zeros((rules.column.size, (columns + 63) // 64), dtype=np.uint64)
    for node in range(rules.column.size):  # branches lead to later nodes
        column = rules.column[node]
        if column >= 0:
            for branch in (rules.then[node], rules.otherwise[node]):
                tested[branch] |= tested[node]
                tested[branch, column >> 6] |= np.uint64(1) << np.uint64(column & 63)
    return tested


@njit(cache=True, nogil=True)
def run_chains(
    factors: Factors, rows: Int32s, random: Words, length: tuple[int, int], query: Query, sums: Sums
) -> None:
    """Run the chains of each row, accumulate their sums, and store the final states in `rows`.

    Columns with a negative code in `rows` are sampled. Each row has one chain per random sequence; `length`
    is the number of burn-in sweeps and of sweeps after it. The latter are divided into consecutive batches of
    nearly equal size, one for each row of `sums`.
    """
    literals, rules, blankets, slots = factors
    columns, batches = rows.shape[1], sums.query.shape[1]
    chain = Chain(
        np.zeros(columns, dtype=np.int32),
        np.zeros(literals.log_weight.size, dtype=np.int64),
        np.zeros(slots[-1]),
        np.zeros(rules.root.size, dtype=np.int64),
        np.zeros(slots[-1]),
        np.zeros(columns, dtype=np.bool_),
        np.zeros(slots[-1]),
        np.zeros(columns, dtype=np.bool_),
    )
    for r in range(rows.shape[0]):
        free = _order(rows[r], query)
        for c in range(random.shape[1]):
            words = random[r, c : c + 1]
            _begin(chain, literals, rules, slots, rows[r], words)
            for sweep in range(length[0] + length[1]):
                counted = sweep - length[0]
                batch = counted * batches // length[1] if counted >= 0 else 0
                for i in range(free.size):
                    column = int(free[i])
                    _step(chain, literals, rules, blankets, slots, column, words)
                    if counted >= 0:
                        for s in range(slots[column], slots[column + 1]):
                            sums.marginal[r, batch, s] += chain.prob[s]
                if counted >= 0 and query.column.size:
                    sums.query[r, batch] += _query_probability(chain, slots, query)
        rows[r] = chain.row


@njit(cache=True, nogil=True)
def _order(row: Int32s, query: Query) -> Ints:
    """The free columns in the order of a sweep; the last column of the query comes last."""
    free = np.flatnonzero(row < 0)
    if query.column.size:
        last, at = query.column[-1], 0
        for i in range(free.size):
            if free[i] != last:
                free[at] = free[i]
                at += 1
        free[at] = last
    return free


@njit(cache=True, nogil=True)
def _query_probability(chain: Chain, slots: Ints, query: Query) -> float:
    """The probability of the query given all columns except the last one of the query.

    The distribution of the last column given all others is known, and has a lower variance than the sampled
    state (Rao-Blackwellisation).
    """
    for i in range(query.column.size - 1):
        column = query.column[i]
        if not query.allowed[slots[column] + chain.row[column]]:
            return 0.0
    total, column = 0.0, query.column[-1]
    for s in range(slots[column], slots[column + 1]):
        if query.allowed[s]:
            total += chain.prob[s]
    return total


@njit(cache=True, nogil=True)
def _begin(chain: Chain, literals: Literals, rules: Rules, slots: Ints, row: Int32s, words: Words) -> None:
    """Initialise free columns at random, and the state of the chain accordingly."""
    for column in range(row.size):
        states = slots[column + 1] - slots[column]
        chain.row[column] = row[column] if row[column] >= 0 else int(uniform(words, 0) * states)
    chain.stale[:] = True
    chain.fresh[:] = False
    chain.field[:] = 0.0
    for rule in range(rules.root.size):
        chain.leaf[rule] = _walk(rules, rule, chain.row)
    for f in range(literals.log_weight.size):
        chain.unmet[f] = 0
        for i in range(literals.start[f], literals.start[f + 1]):
            chain.unmet[f] += not _holds(chain, literals, i)
        _weigh(chain, literals, slots, f, -1, literals.log_weight[f])


@njit(cache=True, nogil=True, forceinline=True)
def _step(
    chain: Chain, literals: Literals, rules: Rules, blankets: Blankets, slots: Ints, column: int, words: Words
) -> None:
    """Sample one column given all others."""
    first, last = slots[column], slots[column + 1]
    if not chain.fresh[column]:
        if chain.stale[column]:
            _ask_rules(chain, rules, blankets, column, first, last)
        _normalise(chain, first, last)
        chain.fresh[column] = True
    u, new = uniform(words, 0), 0
    while new < last - first - 1 and u >= chain.prob[first + new]:
        u -= chain.prob[first + new]
        new += 1
    old = chain.row[column]
    if new == old:
        return
    chain.row[column] = new
    _move_rules(chain, rules, blankets, column)
    for i in range(literals.first[column], literals.first[column + 1]):
        _turn(chain, literals, slots, literals.order[i], old, new)


@njit(cache=True, nogil=True, forceinline=True)
def _turn(chain: Chain, literals: Literals, slots: Ints, literal: int, old: int, new: int) -> None:
    """Update the columns whose weights change because a literal has changed."""
    offset = literals.offset[literal]
    was, holds = literals.allowed[offset + old], literals.allowed[offset + new]
    if was == holds:
        return
    f, column = literals.feature[literal], literals.column[literal]
    if holds:
        chain.unmet[f] -= 1
        _weigh(chain, literals, slots, f, column, literals.log_weight[f])
    else:
        _weigh(chain, literals, slots, f, column, -literals.log_weight[f])
        chain.unmet[f] += 1


@njit(cache=True, nogil=True, forceinline=True)
def _weigh(chain: Chain, literals: Literals, slots: Ints, f: int, but: int, weight: float) -> None:
    """Add the weight of a feature to the columns, except one, for which all its other literals hold."""
    if chain.unmet[f] > 1:
        return
    for i in range(literals.start[f], literals.start[f + 1]):
        column = literals.column[i]
        if column != but and (chain.unmet[f] == 0 or not _holds(chain, literals, i)):
            chain.fresh[column] = False
            for k in range(slots[column + 1] - slots[column]):
                if literals.allowed[literals.offset[i] + k]:
                    chain.field[slots[column] + k] += weight


@njit(cache=True, nogil=True, forceinline=True)
def _holds(chain: Chain, literals: Literals, i: int) -> bool:
    return literals.allowed[literals.offset[i] + chain.row[literals.column[i]]]


@njit(cache=True, nogil=True)
def _ask_rules(chain: Chain, rules: Rules, blankets: Blankets, column: int, first: int, last: int) -> None:
    """The log-weights of the states of a column by trees and tables."""
    # Arrays are taken out of their tuples once: to do so costs more than a test.
    local, row, leaf, mine, tested = chain.local, chain.row, chain.leaf, blankets.rule, blankets.tested
    start, key, stride, offset, value = rules.start, rules.key, rules.stride, rules.offset, rules.value
    word, bit = column >> 6, np.uint64(1) << np.uint64(column & 63)
    local[first:last] = 0.0
    old = row[column]
    for i in range(blankets.first[column], blankets.first[column + 1]):
        node = leaf[mine[i]]
        elsewhere = tested[node, word] & bit != 0
        if not elsewhere and not _is_key(start, key, node, column):
            continue  # no state makes a difference
        for k in range(last - first):
            row[column] = k
            if elsewhere:
                node = _walk(rules, mine[i], row)
            at = offset[node]
            for j in range(start[node], start[node + 1]):
                at += row[key[j]] * stride[j]
            local[first + k] += value[at]
        row[column] = old
    chain.stale[column] = False


@njit(cache=True, nogil=True)
def _move_rules(chain: Chain, rules: Rules, blankets: Blankets, column: int) -> None:
    """Move to the new leaves after a change of a column, and mark dependent columns."""
    leaf, mine, tested = chain.leaf, blankets.rule, blankets.tested
    word, bit = column >> 6, np.uint64(1) << np.uint64(column & 63)
    for i in range(blankets.first[column], blankets.first[column + 1]):
        node = leaf[mine[i]]
        if tested[node, word] & bit != 0:
            _tell(chain, blankets, node, column)
            leaf[mine[i]] = _walk(rules, mine[i], chain.row)
            _tell(chain, blankets, leaf[mine[i]], column)
        elif _is_key(rules.start, rules.key, node, column):
            _tell(chain, blankets, node, column)


@njit(cache=True, nogil=True, forceinline=True)
def _tell(chain: Chain, blankets: Blankets, node: int, but: int) -> None:
    """Mark the columns on the path to a leaf, except one, as outdated."""
    stale, fresh, matter = chain.stale, chain.fresh, blankets.matter
    for i in range(blankets.matter_first[node], blankets.matter_first[node + 1]):
        if matter[i] != but:
            stale[matter[i]] = True
            fresh[matter[i]] = False


@njit(cache=True, nogil=True, forceinline=True)
def _is_key(start: Ints, key: Ints, node: int, column: int) -> bool:
    """Whether the table of a leaf includes a column."""
    i, end = start[node], start[node + 1]
    while i < end and key[i] != column:
        i += 1
    return i < end


@njit(cache=True, nogil=True, forceinline=True)
def _walk(rules: Rules, rule: int, row: Int32s) -> int:
    """The leaf of a tree or table for a row."""
    asked, state, then, otherwise = rules.column, rules.state, rules.then, rules.otherwise
    node = rules.root[rule]
    while asked[node] >= 0:
        node = then[node] if row[asked[node]] == state[node] else otherwise[node]
    return node


@njit(cache=True, nogil=True, forceinline=True)
def _normalise(chain: Chain, first: int, last: int) -> None:
    """The distribution of a column from its log-weights."""
    top = -np.inf
    for s in range(first, last):
        top = max(top, chain.field[s] + chain.local[s])
    total = 0.0
    for s in range(first, last):
        chain.prob[s] = np.exp(chain.field[s] + chain.local[s] - top)
        total += chain.prob[s]
    for s in range(first, last):
        chain.prob[s] /= total
