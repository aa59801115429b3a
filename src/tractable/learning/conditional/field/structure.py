"""Features over targets and inputs, and the growing circuit of their conditions on targets.

A feature is a conjunction of conditions on targets and on inputs. Given a row of inputs its weight either
counts or not, so that all features with the same conditions on targets are one parameter of a circuit over
the targets, whose value depends on the row. A split on a target (a consistent split) grows that circuit; a
split on an input (an inconsistent split) adds features to a parameter that is there already.
"""

from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Bools, Floats, Int32s, Ints
from tractable.learning.growing import Conditions, GrowingCircuit, Structure
from tractable.learning.growing.plan import NEVER


@final
class ConditionalStructure(Structure):
    """Conjunctive features of a conditional random field; each is an item of its own.

    Columns are the targets, followed by the inputs. At first there is one feature for each state of each
    target. A split keeps the feature that was split. Only features without conditions on inputs are split on
    targets: any conjunction can be reached in that order. A split on an input adds no feature for one of its
    states, the reference: the feature that was split tells about it.
    """

    replaces: ClassVar[bool] = False

    def __init__(self, target_states: Ints, input_states: Ints, references: Ints | None = None) -> None:
        self.targets = target_states.size
        self._target_states = target_states
        self._references = np.zeros_like(input_states) if references is None else references
        first = [np.array([feature]) for feature in range(int(target_states.sum()))]
        super().__init__(np.concatenate([target_states, input_states]), first)
        self._start()

    def _new_circuit(self) -> GrowingCircuit:
        return GrowingCircuit(self._target_states)

    def _start(self) -> None:
        """The features before any split."""
        states = enumerate(self._target_states.tolist())
        self.conditions: list[Conditions] = [((c, s),) for c, many in states for s in range(many)]
        self._params = list(range(len(self.conditions)))
        self._features_alone = list(
            range(len(self.conditions))
        )  # of parameters: without conditions on inputs
        self._conjunctions = [0] * len(self.conditions)
        self.conjunctions: list[Conditions] = [()]  # of inputs; the first always holds
        self._number_of: dict[frozenset[tuple[int, int]], int] = {frozenset(): 0}
        self._known = {frozenset(c) for c in self.conditions}
        self._groups: list[list[int]] = [[] for _ in self.conditions]  # first new features of input splits
        self._input_edges = 0

    @property
    def edges(self) -> int:
        """The number of edges of the circuit with the conditions on inputs."""
        return self.circuit.edges + self._input_edges

    @property
    def params(self) -> Int32s:
        """The parameter of the circuit that each feature belongs to. Shape (features,)."""
        return np.array(self._params, dtype=np.int32)

    @property
    def feature_conjunctions(self) -> Int32s:
        """The number of each feature's conjunction of conditions on inputs. Shape (features,)."""
        return np.array(self._conjunctions, dtype=np.int32)

    def conjunction_of(self, item: int) -> int:
        """The number of a feature's conjunction."""
        return self._conjunctions[item]

    def param_of(self, item: int) -> int:
        """The parameter of a feature."""
        return self._params[item]

    def target_conditions(self, param: int) -> Conditions:
        """The conditions on targets that a parameter stands for."""
        return self.conditions[self._features_alone[param]]

    @property
    def features_alone(self) -> Ints:
        """For each parameter, its feature without conditions on inputs. Shape (params,)."""
        return np.array(self._features_alone)

    def groups_of(self, item: int) -> list[int]:
        """The first of the new features of each split of a feature on an input."""
        return self._groups[item]

    def new_states(self, column: int) -> list[int]:
        """The states of a column for which a split on it adds a feature."""
        reference = int(self._references[column - self.targets]) if self.is_input(column) else -1
        return [state for state in range(self.states[column]) if state != reference]

    @property
    def kept_input_states(self) -> Bools:
        """Which of the states of all inputs are not references. Shape (states of all inputs,)."""
        sizes = self.states[self.targets :]
        kept = np.ones(int(sizes.sum()), dtype=np.bool_)
        kept[(np.cumsum(sizes) - sizes + self._references)[sizes > 0]] = False
        return kept

    def is_input(self, column: int) -> bool:
        """Whether a column is an input."""
        return column >= self.targets

    def is_allowed(self, item: int, column: int) -> bool:
        """Whether a split would add any feature that does not exist yet, and keeps to the order of splits."""
        have = frozenset(self.conditions[item])
        if any(known == column for known, _ in have):
            return False
        if not self.is_input(column) and self._conjunctions[item]:
            return False
        return any(have | {(column, state)} not in self._known for state in self.new_states(column))

    def touched_columns(self, item: int, column: int) -> set[int]:
        """The targets that a split is most about: the last one that the feature is about, and a new one."""
        targets = [known for known, _ in self.conditions[item] if not self.is_input(known)]
        return {targets[-1]} if self.is_input(column) else {targets[-1], column}

    def edge_cost(self, item: int, column: int, limit: int = NEVER - 1) -> int:
        """How many edges a split would add."""
        if self.is_input(column):
            return self._edges_of_input_split(item, column)
        return super().edge_cost(item, column, limit)

    def estimate_edge_costs(self, item: int, columns: Bools) -> Floats:
        """Estimates of how many edges splits on some columns would add. Both have shape (columns,)."""
        cost = np.empty(self.states.size)
        cost[self.targets :] = [
            self._edges_of_input_split(item, j) for j in range(self.targets, self.states.size)
        ]
        of_targets = columns[: self.targets]
        if self._conjunctions[item] or not of_targets.any():
            cost[: self.targets] = 0.0
        else:
            param = np.array([self._params[item]])
            cost[: self.targets] = self.circuit.estimate_edge_costs(param, of_targets, replace=False)
        return cost

    def split(self, item: int, column: int) -> range:
        """Split a feature on a column, and answer with the new features."""
        first = self.items
        if self.is_input(column):
            self._split_on_input(item, column)
        else:
            self._split_on_target(item, column)
        for state in self.new_states(column):
            self.conditions.append((*self.conditions[item], (column, state)))
            self._known.add(frozenset(self.conditions[-1]))
        self._items.extend(np.array([self._params[i]]) for i in range(first, len(self._params)))
        self._groups.extend([] for _ in range(first, len(self._params)))
        self._history.append((item, column))
        return range(first, self.items)

    def add_feature(self, param: int, inputs: Conditions) -> int:
        """Add a feature of a parameter that holds for given states of inputs; returns its number.

        It is not a split: structures with such features cannot be undone.
        """
        self._params.append(param)
        self._conjunctions.append(self._number(inputs))
        shifted = tuple((self.targets + column, state) for column, state in inputs)
        self.conditions.append((*self.target_conditions(param), *shifted))
        self._known.add(frozenset(self.conditions[-1]))
        self._items.append(np.array([param]))
        self._groups.append([])
        return self.items - 1

    def regrow(self, history: Ints) -> "ConditionalStructure":
        """Another structure over the same columns, after the splits of a history."""
        inputs = self.states[self.targets :]
        another = ConditionalStructure(self._target_states, inputs, self._references)
        another.replay(history)
        return another

    def undo(self, splits: int) -> None:
        """Return to the structure after a number of splits, with a new circuit."""
        kept = self._history[:splits]
        self.circuit = self._new_circuit()
        self._items, self._history = list(self._first_items), []
        self._start()
        for item, column in kept:
            self.split(item, column)

    def _split_on_target(self, item: int, column: int) -> None:
        fresh = self.circuit.split(np.array([self._params[item]]), column, replace=False)
        self._features_alone.extend(range(self.items, self.items + fresh.shape[1]))
        self._params.extend(fresh[0].tolist())
        self._conjunctions.extend([0] * fresh.shape[1])

    def _split_on_input(self, item: int, column: int) -> None:
        self._input_edges += self._edges_of_input_split(item, column)
        self._groups[item].append(self.items)
        have = self.conjunctions[self._conjunctions[item]]
        for state in self.new_states(column):
            self._params.append(self._params[item])
            self._conjunctions.append(self._number((*have, (column - self.targets, state))))

    def _number(self, conjunction: Conditions) -> int:
        """The number of a conjunction of conditions on inputs."""
        key = frozenset(conjunction)
        if key not in self._number_of:
            self._number_of[key] = len(self.conjunctions)
            self.conjunctions.append(conjunction)
        return self._number_of[key]

    def _edges_of_input_split(self, item: int, column: int) -> int:
        """A sum over states, for each a product of indicator and parameter, below a product of parameters."""
        return 3 * int(self.states[column]) - 2 + (1 if self._groups[item] else 2)
