"""What a search splits: items, their circuit and the history of splits, without any rows or weights.

An *item* is a group of features of which exactly one holds at a time, and which are split together: a single
feature of a Markov network, or a leaf of a decision tree, which has one feature for each state of the column
that the tree predicts. The split of an item on a column makes one new item for each state of the column.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, TypeAlias, final

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit import LEAF, PRODUCT, ConstantBlock, FeatureTable, Graph
from tractable.circuit.assemble import Edges, assemble, state_leaves
from tractable.data import Schema
from tractable.learning.growing.circuit import GrowingCircuit
from tractable.learning.growing.plan import NEVER
from tractable.learning.growing.store import edge_slots

Conditions: TypeAlias = tuple[tuple[int, int], ...]  # columns, and the state that each of them must have


class Structure(ABC):
    """Items that can be split, the circuit of their features, and the splits that were made.

    Items are numbered in the order in which they were made. A split can be undone, because the circuit can be
    grown again from the history of splits.
    """

    replaces: ClassVar[bool]  # whether the items that a split makes take the place of the item that was split

    def __init__(self, states: Ints, first_items: Sequence[Ints]) -> None:
        self.states = states  # (columns,) the number of states of each column
        self.circuit = self._new_circuit()
        self._first_items = tuple(first_items)  # the features of each item before any split
        self._items = list(first_items)
        self._history: list[tuple[int, int]] = []  # items, and the columns that they were split on
        self._first_state = np.cumsum(states) - states

    @property
    def items(self) -> int:
        """The number of items that were made so far."""
        return len(self._items)

    @property
    def splits(self) -> int:
        """The number of splits that were made."""
        return len(self._history)

    @property
    def edges(self) -> int:
        """The number of edges of the circuit."""
        return self.circuit.edges

    @property
    def history(self) -> Ints:
        """The items and columns of all splits in order. Shape (splits, 2)."""
        return np.array(self._history, dtype=np.int64).reshape(-1, 2)

    def states_of(self, column: int) -> slice:
        """The positions of a column's states among the states of all columns."""
        return slice(int(self._first_state[column]), int(self._first_state[column] + self.states[column]))

    @abstractmethod
    def is_allowed(self, item: int, column: int) -> bool:
        """Whether a split may be made. A split that is not allowed now is never allowed later."""

    def edge_cost(self, item: int, column: int, limit: int = NEVER - 1) -> int:
        """How many edges a split would add to the circuit, exactly; more than `limit` if it exceeds that."""
        return self.circuit.edge_cost(self._items[item], column, replace=self.replaces, limit=limit)

    def estimate_edge_costs(self, item: int, columns: Bools) -> Floats:
        """Estimates of how many edges splits on some columns would add. Both have shape (columns,)."""
        return self.circuit.estimate_edge_costs(self._items[item], columns, replace=self.replaces)

    def touched_columns(self, item: int, column: int) -> set[int]:
        """The columns whose distribution a split changes most: splits of others may be made along with it."""
        return set(range(self.states.size))

    def split(self, item: int, column: int) -> range:
        """Split an item on a column, and answer with the new items, one for each state of the column."""
        first = self.items
        self._grow(item, column)
        return range(first, self.items)

    def repeat(self, item: int, column: int) -> None:
        """Make a split that an earlier run has made; what it knew is restored when all are repeated."""
        self.split(item, column)

    def replay(self, history: Ints) -> None:
        """Make those splits of a history that were not made yet; the others are its beginning."""
        for item, column in history[self.splits :].tolist():
            self.split(item, column)

    def undo(self, splits: int) -> None:
        """Return to the structure after a number of splits, with a new circuit."""
        kept = self._history[:splits]
        self.circuit = self._new_circuit()
        self._items, self._history = list(self._first_items), []
        for item, column in kept:
            self._grow(item, column)

    def freeze(self, schema: Schema, log_weight: Floats, log_factor: float = 0.0) -> Graph:
        """The circuit under weights of all features, times a constant factor."""
        return freeze_circuit(self.circuit, schema, log_weight, log_factor)

    def _new_circuit(self) -> GrowingCircuit:
        """The circuit before any split."""
        return GrowingCircuit(self.states)

    def _grow(self, item: int, column: int) -> None:
        """Split the features of an item in the circuit, and note the new items."""
        fresh = self.circuit.split(self._items[item], column, replace=self.replaces)
        self._items.extend(fresh.T)
        self._history.append((item, column))


@final
class FeatureStructure(Structure):
    """The conjunctive features of a Markov network. Each of them is an item of its own, with the same number.

    Feature i holds where column c has state s for every pair (c, s) of `conditions[i]`. A split adds features
    and keeps the one that was split, which may be split again on another column. At first there is one
    feature for each state of each column.
    """

    replaces: ClassVar[bool] = False

    def __init__(self, states: Ints) -> None:
        super().__init__(states, [np.array([feature]) for feature in range(int(states.sum()))])
        self.conditions: list[Conditions] = [
            ((column, state),) for column, many in enumerate(states.tolist()) for state in range(many)
        ]
        self._known = {frozenset(c) for c in self.conditions}

    def is_allowed(self, item: int, column: int) -> bool:
        """Whether a split would add any feature that does not exist yet."""
        have = frozenset(self.conditions[item])
        return any(have | {(column, state)} not in self._known for state in range(self.states[column]))

    def split(self, item: int, column: int) -> range:
        """Split a feature on a column that it has no condition on."""
        new = super().split(item, column)
        for state in range(self.states[column]):
            self.conditions.append((*self.conditions[item], (column, state)))
            self._known.add(frozenset(self.conditions[-1]))
        return new

    def undo(self, splits: int) -> None:
        """Return to the features after a number of splits, with a new circuit."""
        super().undo(splits)
        del self.conditions[self.items :]
        self._known = {frozenset(c) for c in self.conditions}

    def freeze(self, schema: Schema, log_weight: Floats, log_factor: float = 0.0) -> Graph:
        """The circuit under weights of all features, times a constant factor, with its feature table."""
        return freeze_circuit(self.circuit, schema, log_weight, log_factor, self.conditions)


# ---- conversion of a growing circuit to a graph ---------------------------------------------------------


FACTOR_EDGES = 2  # of the root of a frozen circuit: to the constant factor, and to the circuit that has grown


def freeze_circuit(
    circuit: GrowingCircuit,
    schema: Schema,
    log_weight: Floats,
    log_factor: float,
    conditions: Sequence[tuple[tuple[int, int], ...]] | None = None,
) -> Graph:
    """The graph of a circuit under weights of its features, times a constant factor.

    With `conditions`, those of each feature, the graph also gets a feature table.
    """
    store, order, params = circuit.arrays()
    indicators, inner, size = int(circuit.states.sum()), order.size, params.size
    number = np.zeros(store.kind.size, dtype=np.int64)
    number[1 : indicators + 1] = np.arange(indicators)
    number[params] = indicators + np.arange(size)
    factor = indicators + size
    number[order] = factor + 1 + np.arange(inner)
    root = factor + 1 + inner
    degree = store.degree[order].astype(np.int64)
    parent = np.concatenate([np.repeat(number[order], degree), [root, root]])
    child = np.concatenate([number[store.child[edge_slots(store, order)]], [factor, root - 1]])
    kind = np.concatenate([np.full(factor + 1, LEAF), store.kind[order], [PRODUCT]])
    blocks = state_leaves(circuit.states, np.append(log_weight, log_factor))
    features = None if conditions is None else _feature_table(conditions, blocks[1])
    return assemble(schema, kind, Edges(parent, child, np.zeros(parent.size)), blocks, root, features)


def _feature_table(
    conditions: Sequence[tuple[tuple[int, int], ...]], constants: ConstantBlock
) -> FeatureTable:
    """The features with their weights; the constant factor comes last, as a feature without conditions."""
    size = np.array([*(len(c) for c in conditions), 0])
    flat = np.array([pair for c in conditions for pair in c], dtype=np.int64).reshape(-1, 2)
    start = np.concatenate([[0], np.cumsum(size)])
    equals = np.ones(len(flat), dtype=np.bool_)
    return FeatureTable(constants.node, constants.log_value, start, flat[:, 0], flat[:, 1], equals)
