"""Posterior distributions of all columns by an upward and a downward pass over the buckets.

The factors of a bucket, divided by its message, are the distribution of its variable given the variables of
the message, whose distribution the receiving bucket provides. Only probabilities are multiplied in the
downward pass.
"""

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.compiled import njit
from tractable.networks.answering.elimination import (
    Arena,
    advance,
    fill_arena,
    find_steps,
    list_bucket,
    plan_order,
    send_messages,
    take,
)
from tractable.networks.answering.factors import Known, Tables, list_factors


@njit(cache=True, nogil=True)
def answer_all(tables: Tables, known: Known, most: float, posterior: Floats) -> float:
    """Fill in the concatenated distributions of all unknown columns; returns log P(known).

    There is no answer if that is NaN, as in `answer`.
    """
    factors = list_factors(tables, known, np.ones(known.state.size, dtype=np.bool_))
    states = take(tables.states, factors.column)
    needed = np.ones(states.size, dtype=np.bool_)
    near, order, total = plan_order(factors, states, needed, -1, tables.sequence, most)
    if total > most:
        return np.nan
    arena, count = fill_arena(tables, known, factors, needed, near, order, states)
    log_total = send_messages(arena, count, near, order)
    if log_total > -np.inf:
        first = take(known.first, factors.column)
        inside = np.empty(arena.following.size, dtype=np.int64)
        joint = np.zeros(arena.number.size)  # of the variables of each message, where its numbers are
        for i in range(order.size - 1, -1, -1):
            v = order[i]
            functions = list_bucket(arena, v, inside)
            own = posterior[first[v] : first[v] + states[v]]
            _spread(arena, v, inside[:functions], (count, count + i), joint, own)
    return log_total


@njit(cache=True, nogil=True)
def _spread(  # noqa: C901
    arena: Arena, v: int, inside: Ints, messages: tuple[int, int], joint: Floats, own: Floats
) -> None:
    """Fill in the distribution of a variable, and the joint distributions of the messages of its bucket.

    `messages` are the index of the first message and that of this bucket.
    """
    count, message = messages
    begin, end = arena.base[message], arena.base[message + 1]
    axis = arena.axis[arena.first[message] : arena.first[message + 1]]
    if axis.size == 0:
        joint[begin] = 1.0
    step = find_steps(arena, v, axis, inside)
    at, state = take(arena.base, inside), np.zeros(axis.size, dtype=np.int64)
    product = np.empty(own.size)
    for r in range(own.size):
        own[r] = 0.0
    number = arena.number
    for cell in range(begin, end):
        if joint[cell] > 0.0:
            share = joint[cell] / number[cell]
            for r in range(own.size):
                product[r] = 1.0 / arena.top[message]
            for i in range(inside.size):
                a, s = at[i], step[axis.size, i]
                for r in range(own.size):
                    product[r] *= number[a + r * s]
            for r in range(own.size):
                product[r] *= share
                own[r] += product[r]
            for i in range(inside.size):
                if inside[i] >= count:
                    a, s = at[i], step[axis.size, i]
                    for r in range(own.size):
                        joint[a + r * s] += product[r]
        advance(arena.states, axis, state, at, step)
