"""Sweeps over a grown circuit of targets whose parameters differ from row to row."""

import numpy as np

from tractable.base.arrays import Floats
from tractable.learning.conditional.field.expectations import CACHE, FEWEST_LANES, MOST_LANES
from tractable.learning.conditional.field.kernels import take_out_maximum
from tractable.learning.conditional.field.structure import ConditionalStructure
from tractable.learning.growing.store import NODES
from tractable.learning.growing.sweep import downward_lanes, upward_lanes


class TargetCircuit:
    """A circuit over targets that grows no more, evaluated for any logarithms of its parameters."""

    def __init__(self, structure: ConditionalStructure) -> None:
        self._store, self._order, self._nodes = structure.circuit.arrays()
        self.states = structure.states[: structure.targets]
        self.params = structure.circuit.params

    def evaluate(self, log_value: Floats) -> tuple[Floats, Floats]:
        """The log-partition function of each row, (rows,), and its derivatives, (params, rows).

        `log_value` is (params, rows); the parameters of single states come first. The derivative for one is
        the probability of its conditions.
        """
        value, taken_out = log_value.copy(), np.zeros(log_value.shape[1])
        take_out_maximum(value, self.states, taken_out)
        np.exp(value, out=value)
        share = np.empty_like(value)
        nodes = int(self._store.used[NODES])
        lanes = int(np.clip(CACHE // max(1, nodes), FEWEST_LANES, MOST_LANES))
        root = np.empty(value.shape[1])
        for first in range(0, value.shape[1], lanes):
            here = slice(first, min(first + lanes, value.shape[1]))
            root[here], share[:, here] = self._sweep(value[:, here], nodes)
        with np.errstate(divide="ignore"):
            return np.log(root) + taken_out, share

    def _sweep(self, value: Floats, nodes: int) -> tuple[Floats, Floats]:
        s, lanes = self._store, value.shape[1]
        x, flow = np.empty((nodes, lanes)), np.zeros((nodes, lanes))
        x[1 : int(self.states.sum()) + 1] = 1.0
        x[self._nodes] = value
        upward_lanes(self._order, s.kind, s.first, s.degree, s.child, x)
        downward_lanes(self._order, s.kind, s.first, s.degree, s.child, x, flow, np.empty(lanes))
        return x[self._order[-1]], flow[self._nodes]
