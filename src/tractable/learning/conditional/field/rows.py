"""Rows divided into targets and inputs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.data import Schema, Table, Variable, collapse


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
    potentials: Floats | None = None  # (states of all targets, groups) logarithms of given factors

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.group_weight.sum())

    def holding(self, conditions: Iterable[tuple[int, int]]) -> Bools:
        """The rows in which targets have given states. Shape (rows,)."""
        holds: Bools = np.ones(len(self.targets), dtype=np.bool_)
        for column, state in conditions:
            holds &= self.targets[:, column] == state
        return holds

    @property
    def target_indicators(self) -> Floats:
        """One at the state of each target, and zero elsewhere. Shape (rows, states of all targets)."""
        return one_hot_targets(self.targets, self.target_states)

    def counts(self, conditions: Iterable[tuple[int, int]]) -> Floats:
        """The weight of the rows of each group in which targets have given states. Shape (groups,)."""
        counts = np.bincount(self.group, self.weight * self.holding(conditions), self.group_weight.size)
        return np.asarray(counts, dtype=np.float64)

    def indicators(self, column: int) -> Floats:
        """Which groups have each state of an input. Shape (states, groups)."""
        states = np.arange(self.input_states[column])[:, None]
        return (self.inputs[:, column] == states).astype(np.float64)

    def most_frequent_inputs(self) -> Ints:
        """The most frequent state of each input. Shape (inputs,)."""
        columns = zip(self.inputs.T, self.input_states.tolist(), strict=True)
        counts = [np.bincount(column, self.group_weight, states) for column, states in columns]
        return np.array([int(count.argmax()) if count.size else 0 for count in counts], dtype=np.int64)

    def all_indicators(self) -> Floats:
        """Which groups have each state of each input. Shape (states of all inputs, groups)."""
        none = np.zeros((0, len(self.inputs)))
        return np.concatenate([none, *(self.indicators(j) for j in range(self.input_states.size))])


def one_hot_targets(targets: Ints, states: Ints) -> Floats:
    """One at the state of each target, and zero elsewhere. Shape (rows, states of all targets)."""
    indicators = np.zeros((len(targets), int(states.sum())))
    np.put_along_axis(indicators, targets + np.cumsum(states) - states, 1.0, axis=1)
    return indicators


def conditional_rows(table: Table, cuts: Sequence[Floats]) -> ConditionalRows:
    """The rows of a table without missing cells; the schema tells categorical targets and inputs.

    `cuts` has the ascending numbers at which each input is cut into intervals, none for a categorical one.
    """
    schema = table.schema
    targets, inputs = schema.targets, schema.inputs
    kept = table.take(table.row_weights > 0)
    states = [
        c.size + 1 if schema[j].is_numeric else schema[j].cardinality
        for c, j in zip(cuts, inputs, strict=True)
    ]
    coded = np.zeros((len(kept), inputs.size))
    for i, (cut, column) in enumerate(zip(cuts, inputs.tolist(), strict=True)):
        cells = kept.values[:, column]
        coded[:, i] = np.searchsorted(cut, cells) if schema[column].is_numeric else cells
    columns = (Variable(schema[j].name, states=tuple(range(k))) for j, k in zip(inputs, states, strict=True))
    distinct, group = collapse(Table(Schema(tuple(columns)), coded, kept.row_weights))
    return ConditionalRows(
        target_states=schema.cardinalities[targets],
        input_states=np.array(states, dtype=np.int64),
        targets=kept.values[:, targets].astype(np.int64),
        weight=kept.row_weights,
        group=group,
        inputs=distinct.values.astype(np.int64),
        group_weight=distinct.row_weights,
    )


def input_cuts(table: Table, most: int) -> list[Floats]:
    """The cut points that divide each input into at most a number of intervals with equally many rows.

    Categorical inputs have no cut points.
    """
    return [
        _quantiles(table.values[:, j], table.row_weights, most) if table.schema[j].is_numeric else np.zeros(0)
        for j in table.schema.inputs.tolist()
    ]


def _quantiles(x: Floats, weight: Floats, most: int) -> Floats:
    """Values of a column that divide the rows evenly; the greatest one divides nothing."""
    value, which = np.unique(x, return_inverse=True)
    below = np.cumsum(np.bincount(which, weight, value.size))
    if not value.size or below[-1] <= 0:
        return np.zeros(0)
    wanted = below[-1] * np.arange(1, most) / most
    places = np.unique(np.searchsorted(below, wanted * (1 - 1e-12)))
    return np.asarray(value[places[places < value.size - 1]])
