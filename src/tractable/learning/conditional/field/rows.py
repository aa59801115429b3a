"""Rows divided into targets and inputs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit import FeatureTable
from tractable.data import Schema, Table, Variable, collapse
from tractable.learning.conditional.field.structure import ConditionalStructure
from tractable.learning.growing import Conditions


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


# ---- a Markov network over all columns as a conditional random field of its targets ---------------------
#
# Given a row of inputs a feature either has no condition left but those on targets, or does not hold. So
# the partition function of a row is that of a circuit over the targets alone, which is far smaller than
# the circuit of the joint network, and features without a condition on targets cancel out.


@dataclass(frozen=True, slots=True, eq=False)
class ConditionalNetwork:
    """The features of a Markov network as features of a conditional structure."""

    structure: ConditionalStructure
    feature: Ints  # (features that bear on targets,) their numbers in the network
    item: Ints  # (features that bear on targets,) their numbers in the structure


def conditional_network(
    features: FeatureTable, roles: tuple[Ints, Ints], states: Ints, max_edges: int
) -> ConditionalNetwork | None:
    """The network as a conditional structure; None if its circuit would have too many edges.

    `roles` are the columns of targets and of inputs, `states` the number of states of each column.
    """
    targets, inputs = roles
    place = np.zeros(states.size, dtype=np.int64)
    place[targets], place[inputs] = np.arange(targets.size), np.arange(inputs.size)
    is_target = np.zeros(states.size, dtype=np.bool_)
    is_target[targets] = True
    grower = _Grower(ConditionalStructure(states[targets], states[inputs]), max_edges)
    links: list[tuple[int, int]] = []
    for number in range(len(features)):
        some = slice(features.start[number], features.start[number + 1])
        column, state = features.column[some], features.state[some]
        mine = is_target[column]
        if not mine.any():
            continue
        above = tuple(zip(place[column[mine]].tolist(), state[mine].tolist(), strict=True))
        below = tuple(zip(place[column[~mine]].tolist(), state[~mine].tolist(), strict=True))
        item = grower.add(above, below)
        if item is None:
            return None
        links.append((number, item))
    numbers = np.array(links, dtype=np.int64).reshape(-1, 2)
    return ConditionalNetwork(grower.structure, numbers[:, 0], numbers[:, 1])


class _Grower:
    """Adds features to a structure, and the splits on targets that they need."""

    def __init__(self, structure: ConditionalStructure, max_edges: int) -> None:
        self.structure = structure
        self._max_edges = max_edges
        self._alone = {frozenset(c): i for i, c in enumerate(structure.conditions)}

    def add(self, targets: Conditions, inputs: Conditions) -> int | None:
        """The number of a feature, which is new or was made by a split; None if that costs too many edges."""
        for size in range(2, len(targets) + 1):
            if frozenset(targets[:size]) not in self._alone and not self._split(targets[:size]):
                return None
        alone = self._alone[frozenset(targets)]
        return self.structure.add_feature(self.structure.param_of(alone), inputs) if inputs else alone

    def _split(self, targets: Conditions) -> bool:
        """Make the parameter of conditions on targets by a split of all but the last."""
        item, column = self._alone[frozenset(targets[:-1])], targets[-1][0]
        limit = self._max_edges - self.structure.circuit.edges
        if limit < 0 or self.structure.edge_cost(item, column, limit) > limit:
            return False
        for new in self.structure.split(item, column):
            self._alone.setdefault(frozenset(self.structure.conditions[new]), new)
        return True
