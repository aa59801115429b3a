"""Compiled sweeps over a growing circuit. Values are plain doubles, as those of a learned model are near one.

The sweeps for one assignment and for several side by side have the same loops but are separate kernels: one
source for both, inlined into two kernels, gives the same bits, but takes a third longer for one assignment,
because running sums and products are then kept in memory instead of a register.
"""

from tractable.base.arrays import Bytes, Floats, Int32s
from tractable.base.compiled import fused_kernel, kernel
from tractable.circuit import PRODUCT


@kernel
def upward(order: Int32s, kind: Bytes, first: Int32s, degree: Int32s, child: Int32s, value: Floats) -> None:
    """Fill in the values of the inner nodes; those of the leaves are filled in already. Shape (nodes,)."""
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


@kernel
def downward(
    order: Int32s, kind: Bytes, first: Int32s, degree: Int32s, child: Int32s, value: Floats, flow: Floats
) -> None:
    """Fill in the share of the root's value that passes each node; `flow` is zero before. Shape (nodes,)."""
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


@fused_kernel
def upward_lanes(
    order: Int32s, kind: Bytes, first: Int32s, degree: Int32s, child: Int32s, value: Floats
) -> None:
    """Do the same as `upward` for several assignments side by side: `value` is (nodes, lanes)."""
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


@fused_kernel
def downward_lanes(
    order: Int32s, kind: Bytes, first: Int32s, degree: Int32s, child: Int32s, value: Floats, flow: Floats,
    share: Floats,
) -> None:  # fmt: skip
    """Do the same as `downward` for several assignments side by side: values and flows are (nodes, lanes).

    `share`, (lanes,), is memory.
    """
    lanes, last = value.shape[1], order[order.size - 1]
    for lane in range(lanes):
        flow[last, lane] = 1.0
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
