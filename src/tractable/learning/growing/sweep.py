"""Compiled sweeps over a growing circuit. Values are plain doubles, as those of a learned model are near one.

The sweeps for one assignment and for several side by side have the same loops but are separate kernels: one
source for both, inlined into two kernels, gives the same bits, but takes a third longer for one assignment,
because running sums and products are then kept in memory instead of a register.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bytes, Floats, Int32s
from tractable.base.compiled import fused_kernel, kernel
from tractable.circuit import PRODUCT
from tractable.learning.growing.circuit import GrowingCircuit
from tractable.learning.growing.store import NODES


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


# ---- evaluation of a growing circuit under weights of its features --------------------------------------


class FeatureExpectations(NamedTuple):
    """The results of an upward and a downward sweep under the weights of all features."""

    log_partition: float  # the logarithm of the partition function
    expected: Floats  # (features,) the probability that each feature holds


class Evaluator:
    """Evaluates a growing circuit repeatedly in reused memory."""

    def __init__(self, circuit: GrowingCircuit) -> None:
        self.circuit = circuit
        self._memory = np.empty((2, 0))

    def feature_expectations(self, log_weight: Floats) -> FeatureExpectations:
        """The log-partition function and the probability of each feature."""
        s, order, params = self.circuit.arrays()
        value, flow = (array[:, 0] for array in self._values_and_flows(1))
        value[1 : self.circuit.states.sum() + 1] = 1.0
        with np.errstate(
            over="ignore", divide="ignore"
        ):  # after a step of the weights that went much too far
            value[params] = np.exp(log_weight)
            upward(order, s.kind, s.first, s.degree, s.child, value)
            downward(order, s.kind, s.first, s.degree, s.child, value, flow)
            return FeatureExpectations(float(np.log(value[order[-1]])), flow[params])

    def state_probabilities(self, log_weight: Floats, allowed: Floats) -> Floats:
        """The posterior probabilities of the states of each column, for several pieces of evidence at once.

        `allowed` is (states of all columns, pieces of evidence): 1 for states that are possible, 0 for
        others. The answer has the same shape; it is zero where the evidence is impossible.
        """
        s, order, params = self.circuit.arrays()
        value, flow = self._values_and_flows(allowed.shape[1])
        value[1 : len(allowed) + 1] = allowed
        value[params] = np.exp(log_weight)[:, None]
        upward_lanes(order, s.kind, s.first, s.degree, s.child, value)
        downward_lanes(order, s.kind, s.first, s.degree, s.child, value, flow, np.empty(allowed.shape[1]))
        return flow[1 : len(allowed) + 1].copy()

    def _values_and_flows(self, lanes: int) -> tuple[Floats, Floats]:
        """Values, not yet filled in, and flows of zero. Shape (nodes, lanes)."""
        store, _, _ = self.circuit.arrays()
        size = int(store.used[NODES]) * lanes
        if self._memory.shape[1] < size:
            self._memory = np.empty((2, 2 * size))
        value, flow = (part[:size].reshape(-1, lanes) for part in self._memory)
        flow.fill(0.0)
        return value, flow
