"""A Markov network of conjunctive features with its growing circuit and the rows it is learned on."""

from typing import NamedTuple, TypeAlias

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.data import Table
from tractable.growing.circuit import GrowingCircuit
from tractable.growing.gains import Priors, split_gains
from tractable.growing.rows import Bits, Rows, holding
from tractable.growing.weights import Goal, State, WeightFitter

Conditions: TypeAlias = tuple[tuple[int, int], ...]  # columns and the states that they must have

LEAST_SMOOTHING = 1e-9  # so that no state has probability zero


class Snapshot(NamedTuple):
    """A moment in the growth of a model."""

    splits: int
    weight: Floats
    score: float


class MarkovModel:
    """Features, their weights and how often they hold; it begins with the columns as independent.

    Feature i holds where column `conditions[i][j][0]` has state `conditions[i][j][1]` for every j.
    """

    def __init__(self, train: Table, valid: Table | None, priors: Priors, smoothing: float = 1.0) -> None:
        self.rows = Rows(train)
        self.valid_rows = None if valid is None else Rows(valid)
        self.states = self.rows.states
        self.priors = priors
        self.circuit = GrowingCircuit(self.states)
        self.total = max(self.rows.total, 1e-9)
        self._first = np.cumsum(self.states) - self.states
        self.conditions: list[Conditions] = [
            ((column, state),) for column, many in enumerate(self.states.tolist()) for state in range(many)
        ]
        self._known = {frozenset(c) for c in self.conditions}
        self._history: list[tuple[int, int]] = []  # features and the columns they were split on
        self._bits: list[Bits] = list(self.rows.literals)
        self._parts: dict[int, Floats] = {}
        self.target = self._marginals(self.rows, max(smoothing, LEAST_SMOOTHING))
        self._valid_bits: list[Bits] = []
        self.valid_target = np.zeros(0)
        if self.valid_rows is not None:
            self._valid_bits = list(self.valid_rows.literals)
            self.valid_target = self._marginals(self.valid_rows, LEAST_SMOOTHING)
        self.home = np.log(self.target)
        self._fitter = WeightFitter(self.circuit.moments, self.total, priors)
        self.state: State = self._fitter.evaluate(self.home, self._goal)

    def _marginals(self, rows: Rows, pseudo: float) -> Floats:
        counts = rows.counts(rows.everything) + pseudo / np.repeat(self.states, self.states)
        return counts / np.repeat(np.add.reduceat(counts, self._first), self.states)

    @property
    def features(self) -> int:
        """The number of features."""
        return len(self.conditions)

    @property
    def splits(self) -> int:
        """The number of splits made."""
        return len(self._history)

    @property
    def weight(self) -> Floats:
        """The weights of all features."""
        return self.state.weight

    @property
    def score(self) -> float:
        """The mean log-likelihood of the validation rows, or without any of the training rows."""
        target = self.target if self.valid_rows is None else self.valid_target
        return float(self.weight @ target) - self.state.moments.log_value

    @property
    def _goal(self) -> Goal:
        return Goal(self.target, self.home)

    def states_of(self, column: int) -> slice:
        """Where the states of a column are among the states of all columns."""
        return slice(int(self._first[column]), int(self._first[column] + self.states[column]))

    def gains(self, features: Ints, least: float) -> tuple[Floats, Floats]:
        """What splitting each feature on each column gains, and the weights that new features begin with.

        Shapes (features, columns), (features, states of all columns). Gains below `least` may show as zero.
        """
        chances = self.circuit.state_chances(self.weight, self._evidence(features)).T
        model = self.state.moments.expected[features, None] * chances
        data = self.target[features, None] * np.stack([self.parts(f) for f in features.tolist()])
        gain, weight = np.zeros((features.size, self.states.size)), np.zeros(chances.shape)
        for line, feature in enumerate(features.tolist()):
            limit = np.where(self.states < 2, np.inf, least)
            limit[[column for column, _ in self.conditions[feature]]] = np.inf
            split_gains(
                self.total, model[line], data[line], self.states, self.priors, limit, gain[line], weight[line]
            )
        return gain, weight

    def _evidence(self, features: Ints) -> Floats:
        """Which states are possible where each feature holds. Shape (states of all columns, features)."""
        allowed = np.ones((int(self.states.sum()), features.size))
        for lane, feature in enumerate(features.tolist()):
            for column, state in self.conditions[feature]:
                allowed[self.states_of(column), lane] = 0.0
                allowed[self._first[column] + state, lane] = 1.0
        return allowed

    def parts(self, feature: int) -> Floats:
        """Into which parts columns divide the rows in which a feature holds. (states of all columns,)."""
        if feature not in self._parts:
            self._parts[feature] = self.rows.parts(self._bits[feature])
        return self._parts[feature]

    def is_known(self, feature: int, column: int) -> bool:
        """Whether a split would add nothing but features that are there already."""
        have = frozenset(self.conditions[feature])
        return all(have | {(column, state)} in self._known for state in range(self.states[column]))

    def split(self, feature: int, column: int, weight: Floats, home: Floats | None = None) -> None:
        """Split a feature on a column; `weight` are the weights that the new ones begin with, (states,).

        Priors draw them to `home`, or to zero. What the model makes of them is not asked yet: that is for
        `fit`.
        """
        self.circuit.split(np.array([feature]), column)
        self._history.append((feature, column))
        part = self.parts(feature)[self.states_of(column)]
        self.target = np.concatenate([self.target, self.target[feature] * part])
        self._bits.extend(holding(self.rows, self._bits[feature], column))
        if self.valid_rows is not None:
            bits = self._valid_bits[feature]
            part = self.valid_rows.parts(bits)[self.states_of(column)]
            self.valid_target = np.concatenate([self.valid_target, self.valid_target[feature] * part])
            self._valid_bits.extend(holding(self.valid_rows, bits, column))
        for state in range(self.states[column]):
            self.conditions.append((*self.conditions[feature], (column, state)))
            self._known.add(frozenset(self.conditions[-1]))
        self.home = np.concatenate([self.home, np.zeros(weight.size) if home is None else home])
        self.state = self.state._replace(weight=np.concatenate([self.weight, weight]))

    def fit(self, steps: int, tolerance: float) -> None:
        """Fit all weights together, at most so many steps."""
        state = self._fitter.evaluate(self.weight, self._goal)
        self.state = self._fitter.fit(state, self._goal, steps, tolerance)

    def snapshot(self) -> Snapshot:
        """Where the model is, to come back to."""
        return Snapshot(self.splits, self.weight, self.score)

    def back_to(self, past: Snapshot) -> None:
        """Undo the splits made since; the circuit is grown again, which costs little beside the search."""
        self.circuit = GrowingCircuit(self.states)
        self._history = self._history[: past.splits]
        for feature, column in self._history:
            self.circuit.split(np.array([feature]), column)
        size = past.weight.size
        self._known -= {frozenset(c) for c in self.conditions[size:]}
        self._parts = {feature: parts for feature, parts in self._parts.items() if feature < size}
        for listed in (self.conditions, self._bits, self._valid_bits):
            del listed[size:]
        self.target, self.valid_target = self.target[:size], self.valid_target[:size]
        self.home = self.home[:size]
        self._fitter = WeightFitter(self.circuit.moments, self.total, self.priors)
        self.state = self._fitter.evaluate(past.weight, self._goal)

    @property
    def history(self) -> Ints:
        """Features and the columns they were split on, in order. Shape (splits, 2)."""
        return np.array(self._history, dtype=np.int64).reshape(-1, 2)

    def replay(self, history: Ints, weight: Floats) -> None:
        """Make the splits of a history that were not made yet, and take the weights it ended with."""
        for feature, column in history[self.splits :].tolist():
            self.split(feature, column, np.zeros(self.states[column]))
        self.state = self._fitter.evaluate(weight, self._goal)
