"""Expectations of a conditional model given each distinct row of inputs, by sweeps over many rows."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
from scipy.sparse import csr_array

from tractable.base.arrays import Floats, Int32s, Ints
from tractable.base.threads import default_threads
from tractable.learning.conditional.field.kernels import (
    SweepQuestion,
    add_features,
    sum_features,
    sweep_rows,
    take_out_maximum,
)
from tractable.learning.conditional.field.rows import ConditionalRows
from tractable.learning.conditional.field.structure import ConditionalStructure
from tractable.learning.growing.store import NODES

MANY = 8  # conjunctions of inputs from which a parameter is worth a line of a matrix
SPARSE = 0.15  # part of ones below which only these are kept


@final
class ZeroOneMatrix:
    """A Boolean matrix (lines, rows), stored in sparse form if it has few ones."""

    def __init__(self, dense: Floats) -> None:
        is_sparse = np.count_nonzero(dense) < SPARSE * dense.size
        self._matrix: Any = csr_array(dense) if is_sparse else dense
        self._is_sparse = is_sparse

    def multiply(self, left: Floats) -> Floats:
        """Left times the matrix. Shape (lines of left, rows)."""
        return np.asarray((self._matrix.T @ left.T).T if self._is_sparse else left @ self._matrix)

    def multiply_transposed(self, left: Floats) -> Floats:
        """Left, (some, rows), times the transposed matrix. Shape (some, lines)."""
        return np.asarray((self._matrix @ left.T).T if self._is_sparse else left @ self._matrix.T)


@final
class FeaturePlaces:
    """Where features stand: in a matrix of parameters and conjunctions of inputs, or by themselves."""

    def __init__(self, params: Int32s, conjunctions: Int32s, indicator: Floats) -> None:
        """`params` and `conjunctions` are (features,); `indicator` is (conjunctions, rows)."""
        self.features = params.size
        self._indicator = indicator
        self._dense = np.flatnonzero(np.bincount(params, conjunctions > 0) >= MANY)
        inside = np.isin(params, self._dense) & (conjunctions > 0)
        used, self._column = np.unique(conjunctions[inside], return_inverse=True)
        self._line: Ints = np.searchsorted(self._dense, params[inside])
        self._columns = ZeroOneMatrix(indicator[used])
        self._size = (self._dense.size, used.size)
        self._inside, self._outside = np.flatnonzero(inside), np.flatnonzero(~inside)
        self._params, self._conjunctions = params[~inside], conjunctions[~inside]

    def add_up(self, weights: Floats, params: int) -> Floats:
        """For each parameter and row the sum of the weights of its features that hold. (params, rows)."""
        total = np.zeros((params, self._indicator.shape[1]))
        if self._dense.size:
            matrix = np.zeros(self._size)
            matrix[self._line, self._column] = weights[self._inside]
            total[self._dense] = self._columns.multiply(matrix)
        add_features(weights[self._outside], self._params, self._conjunctions, self._indicator, total)
        return total

    def sum_over_rows(self, value: Floats) -> Floats:
        """For each feature, its parameter's line of `value`, (params, rows), summed where it holds."""
        total, alone = np.zeros(self.features), np.zeros(self._outside.size)
        sum_features(self._params, self._conjunctions, self._indicator, value, alone)
        total[self._outside] = alone
        if self._dense.size:
            matrix = self._columns.multiply_transposed(value[self._dense])
            total[self._inside] = matrix[self._line, self._column]
        return total


CACHE = 1 << 16  # values of nodes that are swept together: they stay in a cache of the processor
WORTH_A_THREAD = 1 << 20  # values of nodes for which another thread pays
FEWEST_LANES, MOST_LANES = 16, 256


class RowExpectations(NamedTuple):
    """The results of an upward and a downward sweep for each group of rows."""

    log_partition: Floats  # (groups,)
    expected: Floats  # (params, groups) the probability of each parameter's conditions on targets


class RowEvaluator:
    """Evaluates a growing structure for all groups of rows."""

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
        """Drop cached values of features that the structure no longer has."""
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
        """The expected counts of the features from `first` on."""
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


class Sample:
    """Rows, the evaluator of the structure on them, and the counts of its features."""

    def __init__(self, structure: ConditionalStructure, rows: ConditionalRows) -> None:
        self.structure, self.rows = structure, rows
        self.evaluator = RowEvaluator(structure, rows)
        self._counts = np.zeros((0, len(rows.inputs)))
        self._frequency = np.zeros(0)
        first = np.cumsum(rows.target_states) - rows.target_states
        self._flat_states = rows.targets + first  # (rows, targets) among the states of all targets

    @property
    def total(self) -> float:
        """The weight of the rows, to divide by."""
        return max(self.rows.total, 1e-9)

    @property
    def counts(self) -> Floats:
        """The weight of each group's rows in which each parameter's conditions hold. (params, groups)."""
        known, params = len(self._counts), self.structure.circuit.params
        if known < params:
            new = [self.rows.counts(self.structure.target_conditions(p)) for p in range(known, params)]
            self._counts = np.concatenate([self._counts, new])
        return self._counts

    @property
    def frequency(self) -> Floats:
        """The fraction of the rows in which each feature holds. Shape (features,)."""
        known = self._frequency.size
        if known < self.structure.items:
            new = self.evaluator.count_rows(self.counts, known) / self.total
            self._frequency = np.concatenate([self._frequency, new])
        return self._frequency

    def state_counts(self, conditions: Iterable[tuple[int, int]]) -> Floats:
        """The weight of the rows in which targets have given states, by each state of each target."""
        holds = self.rows.holding(conditions)
        chosen = self._flat_states[holds]
        weight = np.repeat(self.rows.weight[holds], chosen.shape[1])
        counts = np.bincount(chosen.ravel(), weight, int(self.rows.target_states.sum()))
        return np.asarray(counts, dtype=np.float64)

    def mean_log_likelihood(self, weights: Floats) -> float:
        """The mean log-likelihood of the targets given the inputs."""
        log_partition = self.evaluator.evaluate(weights).log_partition
        mean = float(self.rows.group_weight @ log_partition) / self.total
        return float(weights @ self.frequency) + self.mean_potential - mean

    @cached_property
    def mean_potential(self) -> float:
        """The mean logarithm of the given factors of the rows' own states; zero without any."""
        if self.rows.potentials is None:
            return 0.0
        own = self.rows.potentials[self._flat_states, self.rows.group[:, None]].sum(axis=1)
        return float(self.rows.weight @ own) / self.total

    def truncate(self) -> None:
        """Drop features and parameters that the structure no longer has."""
        self._counts = self._counts[: self.structure.circuit.params]
        self._frequency = self._frequency[: self.structure.items]
        self.evaluator.forget()
