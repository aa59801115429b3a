"""What a conditional model expects given each distinct row of inputs, by sweeps over many rows at once."""

from typing import NamedTuple

import numpy as np

from tractable.arrays import Floats
from tractable.conditional.daclearn.kernels import add_features, sum_features, take_out_maximum
from tractable.conditional.daclearn.rows import ConditionalRows
from tractable.conditional.daclearn.structure import ConditionalStructure
from tractable.growing.store import NODES
from tractable.growing.sweep import downward_lanes, upward_lanes

CACHE = 1 << 16  # values of nodes that are swept together: they stay in a cache of the processor
FEWEST_LANES, MOST_LANES = 16, 256


class RowExpectations(NamedTuple):
    """What one sweep up and down finds for each group of rows."""

    log_partition: Floats  # (groups,)
    expected: Floats  # (params, groups) the probability of each parameter's conditions on targets


class RowEvaluator:
    """Evaluates a structure, as it is at each call, for all groups of some rows."""

    def __init__(self, structure: ConditionalStructure, rows: ConditionalRows) -> None:
        self.structure = structure
        self.rows = rows
        self.singles = rows.all_indicators()
        self._indicator = np.ones((1, len(rows.inputs)))
        self._first_state = np.cumsum(rows.input_states) - rows.input_states
        self._memory = np.empty((2, 0))
        self._last: tuple[Floats, Floats, Floats] | None = None  # weights, parameters, what was taken out

    @property
    def indicator(self) -> Floats:
        """Where each conjunction of inputs holds. Shape (conjunctions, groups)."""
        known, all_of = len(self._indicator), self.structure.conjunctions
        if known > len(all_of):
            self._indicator = self._indicator[: len(all_of)]
        elif known < len(all_of):
            new = np.ones((len(all_of) - known, len(self.rows.inputs)))
            for i, conjunction in enumerate(all_of[known:]):
                for column, state in conjunction:
                    new[i] *= self.singles[self._first_state[column] + state]
            self._indicator = np.concatenate([self._indicator, new])
        return self._indicator

    def sum_over_rows(self, value: Floats, first: int = 0) -> Floats:
        """For each feature from `first` on, its parameter's line of `value` summed where it holds.

        `value` is (params, groups).
        """
        params, conjunctions = self.structure.params[first:], self.structure.feature_conjunctions[first:]
        total = np.zeros(params.size)
        sum_features(params, conjunctions, self.indicator, value, total)
        return total

    def evaluate(self, weights: Floats) -> RowExpectations:
        """The log-partition function of each group, and the probability of each parameter's conditions."""
        value, taken_out = self._parameters(weights)
        root, expected, _ = self._sweep(value, None)
        with np.errstate(divide="ignore", over="ignore"):
            return RowExpectations(np.log(root) + taken_out, expected)

    def target_states(self, weights: Floats, param: int) -> Floats:
        """The probability of each state of each target, given the row and that a parameter's conditions hold.

        Shape (states of all targets, groups).
        """
        structure = self.structure
        allowed = np.ones(int(self.rows.target_states.sum()))
        for column, state in structure.target_conditions(param):
            states = structure.states_of(column)
            allowed[states] = 0.0
            allowed[states.start + state] = 1.0
        return self._sweep(self._parameters(weights)[0], allowed)[2]

    def _parameters(self, weights: Floats) -> tuple[Floats, Floats]:
        """All parameters (params, groups), and the logarithm of what is taken out of them (groups,).

        The greatest parameter of the states of a target by itself is one, so that the partition function is
        a number that a double can hold. They are kept while weights stay the same array.
        """
        if self._last is None or self._last[0] is not weights:
            structure = self.structure
            value = np.zeros((structure.circuit.params, len(self.rows.inputs)))
            taken_out = np.zeros(len(self.rows.inputs))
            if self.rows.potentials is not None:
                value[: len(self.rows.potentials)] = self.rows.potentials
            add_features(weights, structure.params, structure.feature_conjunctions, self.indicator, value)
            take_out_maximum(value, self.rows.target_states, taken_out)
            with np.errstate(over="ignore"):
                np.exp(value, out=value)
            self._last = (weights, value, taken_out)
        return self._last[1], self._last[2]

    def _sweep(self, value: Floats, allowed: Floats | None) -> tuple[Floats, Floats, Floats]:
        """Values of the root (groups,), shares of parameters (params, groups), and of states with evidence.

        The last is empty without evidence, which `allowed` is, (states of all targets,).
        """
        s, order, nodes = self.structure.circuit.arrays()
        groups, indicators = value.shape[1], int(self.rows.target_states.sum())
        root, shares = np.empty(groups), np.empty(value.shape if allowed is None else (0, groups))
        states = np.empty((0 if allowed is None else indicators, groups))
        lanes = int(np.clip(CACHE // max(1, int(s.used[NODES])), FEWEST_LANES, MOST_LANES))
        share = np.empty(lanes)
        for at in range(0, groups, lanes):
            here = slice(at, min(groups, at + lanes))
            x, flow = self._buffers(int(s.used[NODES]), here.stop - at)
            x[1 : indicators + 1] = 1.0 if allowed is None else allowed[:, None]
            x[nodes] = value[:, here]
            upward_lanes(order, s.kind, s.first, s.degree, s.child, x)
            downward_lanes(order, s.kind, s.first, s.degree, s.child, x, flow, share[: x.shape[1]])
            root[here] = x[order[-1]]
            if allowed is None:
                shares[:, here] = flow[nodes]
            else:
                states[:, here] = flow[1 : indicators + 1]
        return root, shares, states

    def _buffers(self, nodes: int, lanes: int) -> tuple[Floats, Floats]:
        """Values, not filled in, and flows of zero. Shape (nodes, lanes)."""
        size = nodes * lanes
        if self._memory.shape[1] < size:
            self._memory = np.empty((2, 2 * size))
        value, flow = (part[:size].reshape(nodes, lanes) for part in self._memory)
        flow.fill(0.0)
        return value, flow
