"""Rows together with what is known of a structure's features in them."""

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from tractable.base.arrays import Floats
from tractable.learning.conditional.daclearn.expectations import RowEvaluator
from tractable.learning.conditional.daclearn.rows import ConditionalRows
from tractable.learning.conditional.daclearn.structure import ConditionalStructure


class Sample:
    """Rows, the evaluator of the structure on them, and how often its features hold in them."""

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
        """The part of the rows in which each feature holds. Shape (features,)."""
        known = self._frequency.size
        if known < self.structure.items:
            new = self.evaluator.count_rows(self.counts, known) / self.total
            self._frequency = np.concatenate([self._frequency, new])
        return self._frequency

    def state_counts(self, conditions: Iterable[tuple[int, int]]) -> Floats:
        """The weight of the rows in which targets have given states, by each state of each target."""
        holds = np.ones(len(self.rows.targets), dtype=np.bool_)
        for column, state in conditions:
            holds &= self.rows.targets[:, column] == state
        chosen = self._flat_states[holds]
        weight = np.repeat(self.rows.weight[holds], chosen.shape[1])
        found = np.bincount(chosen.ravel(), weight, int(self.rows.target_states.sum()))
        return np.asarray(found, dtype=np.float64)

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
        """Forget features and parameters that the structure no longer has."""
        self._counts = self._counts[: self.structure.circuit.params]
        self._frequency = self._frequency[: self.structure.items]
        self.evaluator.forget()
