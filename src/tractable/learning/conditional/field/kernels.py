"""Compiled loops between weights of features and the rows in which their conditions on inputs hold.

Feature i belongs to parameter `param[i]` of the circuit over targets, and its conditions on inputs are
conjunction `conjunction[i]`, which holds in the distinct input rows where `indicator` is one.
"""

from typing import NamedTuple

from tractable.base.arrays import Floats, Int32s, Ints
from tractable.base.compiled import fused_kernel, merged_with, njit
from tractable.circuit import PRODUCT
from tractable.learning.growing.store import Store

contracted = merged_with({"contract"})


@njit(cache=True, nogil=True)
def add_features(
    weight: Floats, param: Int32s, conjunction: Int32s, indicator: Floats, log_value: Floats
) -> None:
    """Add each feature's weight to its parameter's line of `log_value`, (params, rows), where it holds."""
    for i in range(weight.size):
        w = weight[i]
        if w != 0.0:
            line, holds = log_value[param[i]], indicator[conjunction[i]]
            for row in range(line.size):
                line[row] += w * holds[row]


@njit(cache=True, nogil=True, fastmath=True)
def sum_features(param: Int32s, conjunction: Int32s, indicator: Floats, value: Floats, total: Floats) -> None:
    """Sum each feature's line of `value`, (params, rows), over the rows in which its conjunction holds."""
    for i in range(param.size):
        line, holds = value[param[i]], indicator[conjunction[i]]
        x = 0.0
        for row in range(line.size):
            x += line[row] * holds[row]
        total[i] = x


@njit(cache=True, nogil=True)
def take_out_maximum(log_value: Floats, states: Ints, taken_out: Floats) -> None:
    """Subtract the greatest line of each column's states from these, and add it to `taken_out`, (rows,)."""
    first = 0
    for column in range(states.size):
        for row in range(taken_out.size):
            top = log_value[first, row]
            for state in range(first + 1, first + states[column]):
                top = max(top, log_value[state, row])
            for state in range(first, first + states[column]):
                log_value[state, row] -= top
            taken_out[row] += top
        first += states[column]


class SweepQuestion(NamedTuple):
    """A circuit, the leaves whose values are given, and the nodes that are asked about."""

    store: Store
    order: Int32s  # of evaluation, of inner nodes
    leaves: Int32s
    asked: Int32s


@fused_kernel
def sweep_rows(
    q: SweepQuestion, first: int, last: int, value: Floats, root: Floats, share: Floats, memory: Floats
) -> None:
    """Sweep a circuit up and down for some rows, as many side by side as there are lanes in `memory`.

    `value`, (leaves, rows), are the values of some leaves; those of all others are in `memory` already,
    which is (2, nodes, lanes). `root` becomes the value of the root, (rows,), and `share` the part of it that
    passes the nodes that are asked about, (asked, rows).
    """
    s, order, leaves, asked = q.store, q.order, q.leaves, q.asked
    lanes, top = memory.shape[2], order[order.size - 1]
    x, flow = memory[0], memory[1]
    for at in range(first, last, lanes):
        many = min(lanes, last - at)
        for i in range(leaves.size):
            line, given = x[leaves[i]], value[i]
            for lane in range(many):
                line[lane] = given[at + lane]
        _go_up(s, order, x, many)
        for lane in range(many):
            root[at + lane] = x[top, lane]
        for node in range(s.used[0]):
            for lane in range(many):
                flow[node, lane] = 0.0
        for lane in range(many):
            flow[top, lane] = 1.0
        _go_down(s, order, x, flow, many)
        for i in range(asked.size):
            line, found = flow[asked[i]], share[i]
            for lane in range(many):
                found[at + lane] = line[lane]


@contracted
def _go_up(s: Store, order: Int32s, x: Floats, lanes: int) -> None:
    """Fill in the values of inner nodes."""
    for i in range(order.size):
        node = order[i]
        start = s.first[node]
        line, one = x[node], x[s.child[start]]
        is_product = s.kind[node] == PRODUCT
        for lane in range(lanes):
            line[lane] = one[lane]
        for slot in range(start + 1, start + s.degree[node]):
            _take_in(is_product, x[s.child[slot]], line, lanes)


@contracted
def _take_in(is_product: bool, below: Floats, line: Floats, lanes: int) -> None:
    """Multiply by one more factor, or add one more summand."""
    if is_product:
        for lane in range(lanes):
            line[lane] *= below[lane]
    else:
        for lane in range(lanes):
            line[lane] += below[lane]


@contracted
def _go_down(s: Store, order: Int32s, x: Floats, flow: Floats, lanes: int) -> None:
    """Divide what passes each inner node among its children."""
    for i in range(order.size - 1, -1, -1):
        node = order[i]
        start, line, worth = s.first[node], flow[node], x[node]
        if s.kind[node] == PRODUCT:
            for slot in range(start, start + s.degree[node]):
                below = flow[s.child[slot]]
                for lane in range(lanes):
                    below[lane] += line[lane]
        else:
            for lane in range(lanes):
                line[lane] = line[lane] / worth[lane] if worth[lane] > 0 else 0.0
            for slot in range(start, start + s.degree[node]):
                below, value = flow[s.child[slot]], x[s.child[slot]]
                for lane in range(lanes):
                    below[lane] += line[lane] * value[lane]
