"""Evaluation of a growing circuit under weights of its features."""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats
from tractable.learning.growing.circuit import GrowingCircuit
from tractable.learning.growing.store import NODES
from tractable.learning.growing.sweep import downward, downward_lanes, upward, upward_lanes


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
