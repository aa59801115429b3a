"""What a conditional model expects given each distinct row of inputs, by sweeps over many rows at once."""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.threads import default_threads
from tractable.learning.conditional.daclearn.kernels import SweepQuestion, sweep_rows, take_out_maximum
from tractable.learning.conditional.daclearn.products import FeaturePlaces, ZeroOneMatrix
from tractable.learning.conditional.daclearn.rows import ConditionalRows
from tractable.learning.conditional.daclearn.structure import ConditionalStructure
from tractable.learning.growing.store import NODES

CACHE = 1 << 16  # values of nodes that are swept together: they stay in a cache of the processor
WORTH_A_THREAD = 1 << 20  # values of nodes for which another thread pays
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
        self._states = rows.all_indicators()
        self.singles = self._states[structure.kept_input_states]  # (states that are not references, groups)
        self.single_products = ZeroOneMatrix(self.singles)
        self._indicator = np.ones((1, len(rows.inputs)))
        self._first_state = np.cumsum(rows.input_states) - rows.input_states
        self._memory = np.empty(0)
        self._pool = ThreadPoolExecutor(default_threads())
        self._known_places: FeaturePlaces | None = None
        self._last: tuple[Floats, Floats, Floats] | None = None  # weights, parameters, what was taken out

    def forget(self) -> None:
        """Forget what was known of features that the structure no longer has."""
        self._indicator = self._indicator[: len(self.structure.conjunctions)]
        self._known_places = self._last = None

    @property
    def indicator(self) -> Floats:
        """Where each conjunction of inputs holds. Shape (conjunctions, groups)."""
        known, all_of = len(self._indicator), self.structure.conjunctions
        if known < len(all_of):
            new = np.ones((len(all_of) - known, len(self.rows.inputs)))
            for i, conjunction in enumerate(all_of[known:]):
                for column, state in conjunction:
                    new[i] *= self._states[self._first_state[column] + state]
            self._indicator = np.concatenate([self._indicator, new])
        return self._indicator

    def sum_over_rows(self, value: Floats) -> Floats:
        """For each feature, its parameter's line of `value`, (params, groups), summed where it holds."""
        return self._places().sum_over_rows(value)

    def count_rows(self, value: Floats, first: int) -> Floats:
        """The same for the features from `first` on only."""
        params, conjunctions = self.structure.params[first:], self.structure.feature_conjunctions[first:]
        return FeaturePlaces(params, conjunctions, self.indicator).sum_over_rows(value)

    def evaluate(self, weights: Floats) -> RowExpectations:
        """The log-partition function of each group, and the probability of each parameter's conditions."""
        value, taken_out = self._parameters(weights)
        root, expected = self._sweep(value, None)
        with np.errstate(divide="ignore", over="ignore"):
            return RowExpectations(np.log(root) + taken_out, expected)

    def log_parameters(self, weights: Floats) -> Floats:
        """The logarithms of all parameters. Shape (params, groups)."""
        value = self._places().add_up(weights, self.structure.circuit.params)
        if self.rows.potentials is not None:
            value[: len(self.rows.potentials)] += self.rows.potentials
        return value

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
        return self._sweep(self._parameters(weights)[0], allowed)[1]

    def _parameters(self, weights: Floats) -> tuple[Floats, Floats]:
        """All parameters (params, groups), and the logarithm of what is taken out of them (groups,).

        The greatest parameter of the states of a target by itself is one, so that the partition function is
        a number that a double can hold. They are kept while weights stay the same array.
        """
        if self._last is None or self._last[0] is not weights:
            taken_out = np.zeros(len(self.rows.inputs))
            value = self.log_parameters(weights)
            take_out_maximum(value, self.rows.target_states, taken_out)
            with np.errstate(over="ignore"):
                np.exp(value, out=value)
            self._last = (weights, value, taken_out)
        return self._last[1], self._last[2]

    def _places(self) -> FeaturePlaces:
        structure = self.structure
        if self._known_places is None or self._known_places.features != structure.items:
            conjunctions = structure.feature_conjunctions
            self._known_places = FeaturePlaces(structure.params, conjunctions, self.indicator)
        return self._known_places

    def _sweep(self, value: Floats, allowed: Floats | None) -> tuple[Floats, Floats]:
        """Values of the root (groups,), and shares: of parameters, or with evidence of states of targets.

        Evidence is which states are `allowed`, (states of all targets,).
        """
        s, order, params = self.structure.circuit.arrays()
        groups, states, nodes = value.shape[1], int(self.rows.target_states.sum()), int(s.used[NODES])
        asked = params if allowed is None else np.arange(1, states + 1, dtype=np.int32)
        root, share = np.empty(groups), np.empty((asked.size, groups))
        parts = max(1, min(default_threads(), groups * nodes // WORTH_A_THREAD))
        lanes = int(np.clip(CACHE // nodes, FEWEST_LANES, MOST_LANES))
        memory = self._buffers(parts, nodes, min(max(groups, 1), lanes))
        memory[:, 0, 1 : states + 1] = 1.0 if allowed is None else allowed[:, None]
        question = SweepQuestion(s, order, params, asked)
        ends = [groups * part // parts for part in range(parts + 1)]

        def sweep(part: int) -> None:
            sweep_rows(question, ends[part], ends[part + 1], value, root, share, memory[part])

        for _ in self._pool.map(sweep, range(parts)) if parts > 1 else map(sweep, range(parts)):
            pass
        return root, share

    def _buffers(self, parts: int, nodes: int, lanes: int) -> Floats:
        """Values and flows for each thread, not filled in. Shape (parts, 2, nodes, lanes)."""
        size = 2 * parts * nodes * lanes
        if self._memory.size < size:
            self._memory = np.empty(2 * size)
        return self._memory[:size].reshape(parts, 2, nodes, lanes)
