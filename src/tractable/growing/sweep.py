"""Values and flows of a growing circuit. Values are plain numbers: what is learned stays near one."""

import numpy as np
from numba import njit

from tractable.arrays import Bytes, Floats
from tractable.growing.store import PRODUCT, Numbers


@njit(cache=True, nogil=True)
def upward(
    order: Numbers, kind: Bytes, first: Numbers, degree: Numbers, child: Numbers, value: Floats
) -> None:
    """Fill in the values of inner nodes, given those of leaves."""
    for i in range(order.size):
        node = order[i]
        start = first[node]
        x = value[child[start]]
        if kind[node] == PRODUCT:
            for slot in range(start + 1, start + degree[node]):
                x *= value[child[slot]]
        else:
            for slot in range(start + 1, start + degree[node]):
                x += value[child[slot]]
        value[node] = x


@njit(cache=True, nogil=True)
def downward(
    order: Numbers, kind: Bytes, first: Numbers, degree: Numbers, child: Numbers, value: Floats, flow: Floats
) -> None:
    """Fill in how much of the root's value goes through each node; `flow` comes in as zeros."""
    flow[order[order.size - 1]] = 1.0
    for i in range(order.size - 1, -1, -1):
        node = order[i]
        start = first[node]
        if kind[node] == PRODUCT:
            x = flow[node]
            for slot in range(start, start + degree[node]):
                flow[child[slot]] += x
        elif value[node] > 0:
            x = flow[node] / value[node]
            for slot in range(start, start + degree[node]):
                flow[child[slot]] += x * value[child[slot]]


@njit(cache=True, nogil=True, fastmath={"contract"})
def upward_lanes(
    order: Numbers, kind: Bytes, first: Numbers, degree: Numbers, child: Numbers, value: Floats
) -> None:
    """The same for several assignments side by side: `value` is (nodes, lanes)."""
    lanes = value.shape[1]
    for i in range(order.size):
        node = order[i]
        start = first[node]
        x = value[node]
        below = value[child[start]]
        for lane in range(lanes):
            x[lane] = below[lane]
        for slot in range(start + 1, start + degree[node]):
            below = value[child[slot]]
            if kind[node] == PRODUCT:
                for lane in range(lanes):
                    x[lane] *= below[lane]
            else:
                for lane in range(lanes):
                    x[lane] += below[lane]


@njit(cache=True, nogil=True, fastmath={"contract"})
def downward_lanes(
    order: Numbers, kind: Bytes, first: Numbers, degree: Numbers, child: Numbers, value: Floats, flow: Floats
) -> None:
    """The same for several assignments side by side: `value` and `flow` are (nodes, lanes)."""
    lanes = value.shape[1]
    share = np.empty(lanes)
    flow[order[order.size - 1]] = 1.0
    for i in range(order.size - 1, -1, -1):
        node = order[i]
        start = first[node]
        x = flow[node]
        if kind[node] == PRODUCT:
            for slot in range(start, start + degree[node]):
                below = flow[child[slot]]
                for lane in range(lanes):
                    below[lane] += x[lane]
        else:
            for lane in range(lanes):
                share[lane] = x[lane] / value[node, lane] if value[node, lane] > 0 else 0.0
            for slot in range(start, start + degree[node]):
                below = flow[child[slot]]
                worth = value[child[slot]]
                for lane in range(lanes):
                    below[lane] += share[lane] * worth[lane]
