"""Rows divided into targets and inputs."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tractable.arrays import Bools, Floats, Ints
from tractable.data import Table, collapse


@dataclass(frozen=True, slots=True, eq=False)
class ConditionalRows:
    """Coded targets and inputs. Rows with the same inputs are a group, which has one partition function."""

    target_states: Ints  # (targets,)
    input_states: Ints  # (inputs,)
    targets: Ints  # (rows, targets)
    weight: Floats  # (rows,)
    group: Ints  # (rows,)
    inputs: Ints  # (groups, inputs)
    group_weight: Floats  # (groups,)

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.group_weight.sum())

    def counts(self, conditions: Iterable[tuple[int, int]]) -> Floats:
        """The weight of the rows of each group in which targets have given states. Shape (groups,)."""
        holds: Bools = np.ones(len(self.targets), dtype=np.bool_)
        for column, state in conditions:
            holds &= self.targets[:, column] == state
        found = np.bincount(self.group, self.weight * holds, self.group_weight.size)
        return np.asarray(found, dtype=np.float64)

    def indicators(self, column: int) -> Floats:
        """Which groups have each state of an input. Shape (states, groups)."""
        states = np.arange(self.input_states[column])[:, None]
        return (self.inputs[:, column] == states).astype(np.float64)

    def all_indicators(self) -> Floats:
        """Which groups have each state of each input. Shape (states of all inputs, groups)."""
        none = np.zeros((0, len(self.inputs)))
        return np.concatenate([none, *(self.indicators(j) for j in range(self.input_states.size))])


def conditional_rows(table: Table) -> ConditionalRows:
    """The rows of a table of categorical columns without missing cells; the schema tells targets and inputs."""
    schema = table.schema
    targets, inputs = schema.targets, schema.inputs
    kept = table.take(table.row_weights > 0)
    distinct, group = collapse(kept.select(inputs))
    sizes = schema.cardinalities
    return ConditionalRows(
        target_states=sizes[targets],
        input_states=sizes[inputs],
        targets=kept.values[:, targets].astype(np.int64),
        weight=kept.row_weights,
        group=group,
        inputs=distinct.values.astype(np.int64),
        group_weight=distinct.row_weights,
    )
