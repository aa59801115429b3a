"""One conditional random field on rows: its unnormalised value, its partition function, its counts."""

from typing import NamedTuple, final

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.learning.conditional.daclearn.expectations import RowEvaluator
from tractable.learning.conditional.daclearn.rows import ConditionalRows
from tractable.learning.conditional.daclearn.structure import ConditionalStructure


class FieldValues(NamedTuple):
    """What a field under some weights says of rows and groups."""

    log_value: Floats  # (rows,) the logarithm of the unnormalised value of each row
    log_partition: Floats  # (groups,)
    expected: Floats  # (params, groups) the probability of each parameter's conditions on targets


@final
class FieldOnRows:
    """A structure that does not change any more, on some rows."""

    def __init__(self, structure: ConditionalStructure, rows: ConditionalRows) -> None:
        self._evaluator = RowEvaluator(structure, rows)
        self._param, self._row = _holding(structure, rows)
        self._group = rows.group[self._row]
        self._size = (structure.circuit.params, len(rows.inputs))
        self._rows = len(rows.targets)

    def evaluate(self, weights: Floats) -> FieldValues:
        """The values of all rows under weights of all features."""
        own = self._evaluator.log_parameters(weights)[self._param, self._group]
        log_value = np.bincount(self._row, own, self._rows).astype(np.float64)
        found = self._evaluator.evaluate(weights)
        return FieldValues(log_value, found.log_partition, found.expected)

    def counts(self, weight: Floats) -> Floats:
        """The weight of the rows in which each feature holds, each row with a weight, (rows,)."""
        params, groups = self._size
        flat = np.bincount(self._param * groups + self._group, weight[self._row], params * groups)
        return self._evaluator.sum_over_rows(flat.astype(np.float64).reshape(self._size))

    def expected_counts(self, values: FieldValues, weight: Floats) -> Floats:
        """The weight in which each feature is expected to hold, each group with a weight, (groups,)."""
        return self._evaluator.sum_over_rows(values.expected * weight)


def _holding(structure: ConditionalStructure, rows: ConditionalRows) -> tuple[Ints, Ints]:
    """All pairs of a parameter and a row in which its conditions on targets hold."""
    found = []
    for param in range(structure.circuit.params):
        holds = np.ones(len(rows.targets), dtype=np.bool_)
        for column, state in structure.target_conditions(param):
            holds &= rows.targets[:, column] == state
        found.append(np.flatnonzero(holds))
    params = np.repeat(np.arange(len(found)), [some.size for some in found])
    return params, np.concatenate([np.zeros(0, dtype=np.int64), *found])
