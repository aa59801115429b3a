"""What every split of every feature gains and costs, as last seen, and which is best."""

from typing import Any

import numpy as np

from tractable.arrays import Bools, Floats, Ints

SLOPPY = 0.1  # part of the score by which another split may be better
CARE = 0.7  # part of what a split is guessed to cost that it is taken to cost before anyone asks
GROWN = 1.25  # times that a circuit has grown before costs are guessed anew
GUESSED, UNKNOWN = -1, -2  # in the place of the time at which a cost was found
FIRST_COST = 4.0  # edges that a split is taken to cost at least before anyone asks


class Ledger:
    """Tables of features by columns that append lines; each line knows its best score."""

    def __init__(self, columns: int, split_cost: float, edge_cost: float) -> None:
        self.size = 0
        self.edge_cost = edge_cost
        self._split_cost = split_cost
        self._gain = np.zeros((64, columns), dtype=np.float32)
        self._cost = np.zeros((64, columns), dtype=np.float32)
        self.priced_at = np.zeros((64, columns), dtype=np.int32)  # splits made when a cost was found
        self.asked_at = np.zeros(64, dtype=np.int64)  # splits made when the gains were found
        self.guessed_at = np.zeros(64)  # edges that there were when costs were guessed; 0: never
        self._best = np.zeros(64)

    def add(self, lines: int) -> None:
        """Append lines, without gains yet."""
        first, self.size = self.size, self.size + lines
        if self.size > len(self._best):
            for name in ("_gain", "_cost", "priced_at", "asked_at", "guessed_at", "_best"):
                setattr(self, name, _doubled(getattr(self, name), self.size))
        new = slice(first, self.size)
        self._gain[new], self._cost[new], self.priced_at[new] = 0, FIRST_COST, UNKNOWN
        self.guessed_at[new] = 0.0
        self.asked_at[new], self._best[new] = np.iinfo(np.int64).max, -np.inf  # until asked: never to be

    def set_gains(self, features: Ints, gain: Floats, now: int) -> None:
        """Note gains, (features, columns)."""
        ruled_out = self._gain[features] < 0
        self._gain[features] = np.where(ruled_out, -np.inf, gain)
        self.asked_at[features] = now
        self._rank(features)

    def promising(self, line: int) -> Bools:
        """The columns that would pay if edges cost nothing: those that can score above zero, exactly."""
        return np.asarray(self._gain[line].astype(np.float64) > self._split_cost)

    def is_guess_due(self, line: int, column: int, edges: int) -> bool:
        """Whether nobody knows about what a split costs, of a circuit with so many edges."""
        known = self.priced_at[line, column]
        return bool(known == UNKNOWN or (known == GUESSED and GROWN * self.guessed_at[line] < edges))

    def set_guesses(self, line: int, columns: Bools, guess: Floats, edges: int) -> None:
        """Note about what splits of a line on some columns cost, (columns,), unless it is known."""
        unpriced = self.priced_at[line] < 0
        self.priced_at[line, unpriced] = np.where(columns, GUESSED, UNKNOWN)[unpriced]
        about = np.where(columns, np.maximum(FIRST_COST, CARE * guess), FIRST_COST)
        self._cost[line, unpriced] = about[unpriced]
        self.guessed_at[line] = edges
        self._rank(np.array([line]))

    def set_cost(self, feature: int, column: int, edges: float, now: int) -> None:
        """Note the cost of one split."""
        self._cost[feature, column] = edges
        self.priced_at[feature, column] = now
        self._rank(np.array([feature]))

    def rule_out(self, feature: int, column: int) -> None:
        """A split that is not to be made, ever."""
        self._gain[feature, column] = -np.inf
        self._rank(np.array([feature]))

    def close(self, feature: int) -> None:
        """Rule out every split of a feature."""
        self._gain[feature] = -np.inf
        self._rank(np.array([feature]))

    def halve_edge_cost(self) -> None:
        """Let edges cost half as much."""
        self.edge_cost /= 2
        for at in range(0, self.size, 1024):
            self._rank(np.arange(at, min(self.size, at + 1024)))

    def score(self, feature: int, column: int) -> float:
        """What a split gains less what it costs."""
        gain, cost = float(self._gain[feature, column]), float(self._cost[feature, column])
        return gain - self._split_cost - self.edge_cost * cost

    def worth(self, feature: int, column: int) -> float:
        """The number of edges that a split is worth."""
        return (float(self._gain[feature, column]) - self._split_cost) / self.edge_cost

    def best_line(self) -> int:
        """The line whose best split scores most; -1 if none is above zero."""
        line = int(self._best[: self.size].argmax())
        return line if self._best[line] > 0 else -1

    def is_best(self, feature: int, column: int) -> bool:
        """Whether a split is worth it, and none seems much better."""
        return self.score(feature, column) > max(0.0, (1 - SLOPPY) * float(self._best[: self.size].max()))

    def best_column(self, feature: int) -> int:
        """The column of a feature's best split."""
        return int(self._scores(np.array([feature]))[0].argmax())

    def best_stale(self, now: int, most: int) -> Ints:
        """The features that seem best of those asked before now."""
        stale = np.flatnonzero((self.asked_at[: self.size] < now) & (self._best[: self.size] > 0))
        if stale.size > most:
            stale = stale[np.argpartition(-self._best[stale], most)[:most]]
        return stale

    def stale(self, now: int) -> Ints:
        """All features asked before now."""
        return np.flatnonzero(self.asked_at[: self.size] < now)

    def any_left(self) -> bool:
        """Whether some split has room and would be made if edges cost nothing."""
        gain, cost = self._gain[: self.size], self._cost[: self.size]
        return bool(((gain > self._split_cost) & (cost < np.inf)).any())

    def _scores(self, features: Ints) -> Floats:
        """Of all splits of features, but for what every split costs. Shape (features, columns)."""
        return self._gain[features].astype(np.float64) - self.edge_cost * self._cost[features]

    def _rank(self, features: Ints) -> None:
        self._best[features] = self._scores(features).max(axis=1) - self._split_cost


def _doubled(array: "np.typing.NDArray[Any]", least: int) -> "np.typing.NDArray[Any]":
    """The same lines with room for at least so many."""
    larger = np.zeros((max(2 * len(array), least), *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
