"""Compiled variable elimination on tables for a single query of a Bayesian network.

The entries of factors are at most one, and a lower bound on the logarithms of non-zero entries is tracked. If
a product might underflow, there is no answer.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints, Words
from tractable.base.compiled import merged_with, njit
from tractable.networks.answering.factors import (
    Factors,
    Known,
    Tables,
    list_factors,
    needed_variables,
    relevant_columns,
)
from tractable.networks.answering.order import (
    eliminate_greedily,
    eliminate_in_order,
    link_scopes,
    members,
)

merged = merged_with({"contract"})
MANY_NUMBERS = 10_000  # from which on it pays to look at a second order
TOO_SMALL = -600.0  # the logarithm of a product that is still far from the smallest number


class Arena(NamedTuple):
    """Factors in the buckets of their first variables in the elimination order, and the messages."""

    states: Ints  # (variables,)
    place: Ints  # (variables,) in the order of elimination; that of the target is the last one
    head: Ints  # (variables + 1,) a function of the bucket, or -1; the last bucket is for mere numbers
    following: Ints  # (functions,) the next function of the bucket, or -1
    first: Ints  # (functions + 1,) the axes of function f are first[f]:first[f + 1]
    axis: Ints  # (axes,)
    base: Ints  # (functions + 1,) the numbers of f are base[f]:base[f + 1], the last axis runs fastest
    low: Floats  # (functions,) the logarithm of the smallest number that is not zero
    top: Floats  # (functions,) what a message was divided by
    number: Floats  # of all functions


@njit(cache=True, nogil=True)
def answer(tables: Tables, known: Known, target: int, most: float, posterior: Floats) -> tuple[float, float]:
    """Fill in P(target | known); returns log P(known) and the number of table entries.

    With a target the logarithm only shows whether the evidence is possible. Without a target (-1) nothing is
    filled in. The logarithm is NaN if the tables would have more than `most` entries, or an entry might
    underflow.
    """
    chosen = relevant_columns(tables.start, tables.scope, known, target)
    factors = list_factors(tables, known, chosen)
    goal = variable_of(factors.column, target)
    needed = needed_variables(factors, goal)
    states = take(tables.states, factors.column)
    near, order, total = plan_order(factors, states, needed, goal, tables.sequence, most)
    if total > most:
        return np.nan, total
    arena, count = fill_arena(tables, known, factors, needed, near, order, states)
    log_total = send_messages(arena, count, near, order)
    if goal >= 0 and log_total > -np.inf:
        log_total += _join_target(arena, goal, posterior)
    return log_total, total


@njit(cache=True, nogil=True)
def take(values: Ints, places: Ints) -> Ints:
    """The values at some positions; it compiles faster than fancy indexing."""
    found = np.empty(places.size, dtype=np.int64)
    for i in range(places.size):
        found[i] = values[places[i]]
    return found


@njit(cache=True, nogil=True)
def variable_of(columns: Ints, column: int) -> int:
    """The variable of a column, found by binary search, or -1."""
    low, high = 0, columns.size
    while low < high:
        middle = (low + high) >> 1
        if columns[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low if low < columns.size and columns[low] == column else -1


@njit(cache=True, nogil=True)
def plan_order(
    factors: Factors, states: Ints, needed: Bools, goal: int, sequence: Ints, most: float
) -> tuple[Words, Ints, float]:
    """An elimination order of all needed variables except the goal, their neighbours, and the table size.

    The `sequence` of the columns of the whole network is used if the greedy order is worse.
    """
    left = np.empty(states.size, dtype=np.int64)
    log_states = np.empty(states.size)
    count = 0
    for v in range(states.size):
        log_states[v] = np.log(states[v])
        if needed[v] and v != goal:
            left[count] = v
            count += 1
    near = link_scopes(factors.first, factors.axis, states.size)
    order = np.empty(count, dtype=np.int64)
    total = eliminate_greedily(near, log_states, left[:count], order, most)
    if total > MANY_NUMBERS:
        linked = link_scopes(factors.first, factors.axis, states.size)
        count = 0
        for c in sequence:
            v = variable_of(factors.column, c)
            if v >= 0 and needed[v] and v != goal:
                left[count] = v
                count += 1
        rival = eliminate_in_order(linked, log_states, left[:count], total)
        if rival < total:
            return linked, left[:count], rival
    return near, order, total


@njit(cache=True, nogil=True)
def fill_arena(
    tables: Tables, known: Known, factors: Factors, needed: Bools, near: Words, order: Ints, states: Ints
) -> tuple[Arena, int]:
    """The needed factors, copied from the tables, with memory for a message of each variable."""
    around = np.empty(states.size, dtype=np.int64)
    axes, numbers = factors.axis.size, 0
    for v in order:
        size = 1
        for i in range(members(near[v], around)):
            size *= states[around[i]]
            axes += 1
        numbers += size
    for f in range(factors.base.size):
        size = 1
        for e in range(factors.first[f], factors.first[f + 1]):
            size *= states[factors.axis[e]]
        numbers += size
    functions = factors.base.size + order.size
    place = np.full(states.size, order.size, dtype=np.int64)
    for i in range(order.size):
        place[order[i]] = i
    arena = Arena(
        states, place, np.full(states.size + 1, -1, dtype=np.int64), np.empty(functions, dtype=np.int64),
        np.zeros(functions + 1, dtype=np.int64), np.empty(axes, dtype=np.int64),
        np.zeros(functions + 1, dtype=np.int64), np.empty(functions), np.ones(functions), np.empty(numbers),
    )  # fmt: skip
    count = 0
    for f in range(factors.base.size):
        begin, end = factors.first[f], factors.first[f + 1]
        if begin < end and not needed[factors.axis[begin]]:
            continue
        for e in range(begin, end):
            arena.axis[arena.first[count] + e - begin] = factors.axis[e]
        arena.first[count + 1] = arena.first[count] + end - begin
        if factors.is_limit[f]:
            _copy(arena, count, known.possible, factors.base[f], factors.stride, begin)
        else:
            _copy(arena, count, tables.value, factors.base[f], factors.stride, begin)
        _put(arena, count)
        count += 1
    return arena, count


@njit(cache=True, nogil=True)
def _copy(arena: Arena, f: int, values: Floats, base: int, stride: Ints, stride_begin: int) -> None:
    """Copy the entries of a factor from an array; the strides of its axes begin at `stride_begin`."""
    axis = arena.axis[arena.first[f] : arena.first[f + 1]]
    state = np.zeros(axis.size, dtype=np.int64)
    begin, source = arena.base[f], base
    size = 1
    for v in axis:
        size *= arena.states[v]
    lowest = 1.0
    for i in range(begin, begin + size):
        x = values[source]
        arena.number[i] = x
        if 0.0 < x < lowest:
            lowest = x
        for e in range(axis.size - 1, -1, -1):
            state[e] += 1
            source += stride[stride_begin + e]
            if state[e] < arena.states[axis[e]]:
                break
            source -= state[e] * stride[stride_begin + e]
            state[e] = 0
    arena.base[f + 1] = begin + size
    arena.low[f] = np.log(lowest)


@njit(cache=True, nogil=True)
def _put(arena: Arena, f: int) -> None:
    """Put a factor into the bucket of its first variable in the elimination order."""
    earliest, bucket = arena.place.size + 1, arena.states.size
    for e in range(arena.first[f], arena.first[f + 1]):
        if arena.place[arena.axis[e]] < earliest:
            earliest, bucket = arena.place[arena.axis[e]], arena.axis[e]
    arena.following[f] = arena.head[bucket]
    arena.head[bucket] = f


@njit(cache=True, nogil=True)
def list_bucket(arena: Arena, v: int, inside: Ints) -> int:
    """Fill in the factors of a bucket; returns their number."""
    f, functions = arena.head[v], 0
    while f >= 0:
        inside[functions] = f
        functions += 1
        f = arena.following[f]
    return functions


@njit(cache=True, nogil=True)
def send_messages(arena: Arena, count: int, near: Words, order: Ints) -> float:
    """Sum out all variables except the target; returns the logarithm of the remaining constants.

    It is NaN if an entry might underflow. The messages follow the `count` factors in elimination order.
    """
    around = np.empty(arena.states.size, dtype=np.int64)
    inside = np.empty(arena.following.size, dtype=np.int64)
    log_total = 0.0
    for v in order:
        functions = list_bucket(arena, v, inside)
        low = 0.0
        for i in range(functions):
            low += arena.low[inside[i]]
        if low < TOO_SMALL:
            return np.nan
        axes = members(near[v], around)
        for i in range(axes):
            arena.axis[arena.first[count] + i] = around[i]
        arena.first[count + 1] = arena.first[count] + axes
        _sum_out(arena, v, inside[:functions], count)
        log_top = _scale(arena, count)
        if log_top == -np.inf:
            return log_top
        log_total += log_top
        _put(arena, count)
        count += 1
    f = arena.head[-1]
    while f >= 0:
        x = arena.number[arena.base[f]]
        if x == 0.0:
            return -np.inf
        log_total += np.log(x)
        f = arena.following[f]
    return log_total


@njit(cache=True, nogil=True)
def find_steps(arena: Arena, v: int, axis: Ints, inside: Ints) -> Ints:
    """The stride of each factor along each axis and along v, which is last. (axes + 1, functions)."""
    step = np.zeros((axis.size + 1, inside.size), dtype=np.int64)
    for i in range(inside.size):
        stride = 1
        for e in range(arena.first[inside[i] + 1] - 1, arena.first[inside[i]] - 1, -1):
            u = arena.axis[e]
            step[np.searchsorted(axis, u) if u != v else axis.size, i] = stride
            stride *= arena.states[u]
    return step


@merged
def advance(states: Ints, axis: Ints, state: Ints, at: Ints, step: Ints) -> None:
    """Advance to the next cell, where the last axis varies fastest, and update the positions."""
    for e in range(axis.size - 1, -1, -1):
        state[e] += 1
        if state[e] < states[axis[e]]:
            for i in range(at.size):
                at[i] += step[e, i]
            return
        for i in range(at.size):
            at[i] -= (state[e] - 1) * step[e, i]
        state[e] = 0


@njit(cache=True, nogil=True)
def _sum_out(arena: Arena, v: int, inside: Ints, message: int) -> None:
    """Fill in the message: the product of the factors `inside`, summed over variable v."""
    axis = arena.axis[arena.first[message] : arena.first[message + 1]]
    at = take(arena.base, inside)
    step = find_steps(arena, v, axis, inside)
    size = 1
    for u in axis:
        size *= arena.states[u]
    state = np.zeros(axis.size, dtype=np.int64)
    product = np.empty(arena.states[v])
    number, begin = arena.number, arena.base[message]
    for cell in range(begin, begin + size):
        a, s = at[0], step[axis.size, 0]
        for r in range(product.size):
            product[r] = number[a + r * s]
        for i in range(1, inside.size):
            a, s = at[i], step[axis.size, i]
            for r in range(product.size):
                product[r] *= number[a + r * s]
        total = 0.0
        for r in range(product.size):
            total += product[r]
        number[cell] = total
        advance(arena.states, axis, state, at, step)
    arena.base[message + 1] = begin + size


@njit(cache=True, nogil=True)
def _scale(arena: Arena, f: int) -> float:
    """Divide a factor by its maximum; returns the logarithm of the maximum, -inf if all entries are zero."""
    lowest, top = np.inf, 0.0
    for i in range(arena.base[f], arena.base[f + 1]):
        x = arena.number[i]
        top = max(top, x)
        if 0.0 < x < lowest:
            lowest = x
    if top == 0.0:
        return -np.inf
    for i in range(arena.base[f], arena.base[f + 1]):
        arena.number[i] /= top
    arena.low[f] = np.log(lowest) - np.log(top)
    arena.top[f] = top
    return np.log(top)


@njit(cache=True, nogil=True)
def _join_target(arena: Arena, target: int, posterior: Floats) -> float:
    """Fill in the distribution of the target from the remaining factors; returns its log-sum."""
    f, low, total = arena.head[target], 0.0, 0.0
    for r in range(posterior.size):
        posterior[r] = 1.0
    while f >= 0:
        low += arena.low[f]
        for r in range(posterior.size):
            posterior[r] *= arena.number[arena.base[f] + r]
        f = arena.following[f]
    if low < TOO_SMALL:
        return np.nan
    for r in range(posterior.size):
        total += posterior[r]
    if total == 0.0:
        return -np.inf
    for r in range(posterior.size):
        posterior[r] /= total
    return np.log(total)
