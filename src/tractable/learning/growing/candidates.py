"""The table of candidate splits, with their last known gains and costs."""

import numpy as np

from tractable.base.arrays import AnyArray, Bools, Floats, Ints
from tractable.base.progress import State

TOLERANCE = 0.1  # a candidate counts as best if no other scores more by this part of the best score
DISCOUNT = 0.7  # the part of an estimated cost that a candidate is taken to cost until it is priced exactly
GROWTH = 1.25  # estimates are made anew when the circuit has grown by this factor
LEAST_ESTIMATE = 4.0  # edges that a candidate is taken to cost at least until it is priced exactly
ESTIMATED, UNKNOWN = -1, -2  # stand in `priced_at` for a cost that was not found exactly
USUAL = {"_gain": 0, "_edges": LEAST_ESTIMATE, "priced_at": UNKNOWN}  # what most candidates have


class CandidateTable:
    """The gains and costs of all candidates: a row for each item, an entry for each column.

    The score of a candidate is its gain minus the cost of a split and of its new edges, all in nats. The best
    score of each item is stored, so that the best candidate is found without a scan. Gains and costs are
    those of the last refresh, after `refreshed_at` and `priced_at` splits.
    """

    def __init__(self, columns: int, split_cost: float, edge_cost: float) -> None:
        self.items = 0
        self.edge_cost = edge_cost  # nats that each new edge must gain
        self._split_cost = split_cost
        self._gain = np.zeros((64, columns), dtype=np.float32)  # minus infinity for a split that is ruled out
        self._edges = np.zeros((64, columns), dtype=np.float32)
        self.priced_at = np.zeros((64, columns), dtype=np.int32)  # splits made when a cost was found
        self.refreshed_at = np.zeros(64, dtype=np.int64)  # splits made when the gains of an item were found
        self._estimated_at = np.zeros(64)  # edges of the circuit when costs were estimated; 0 if never
        self._best = np.zeros(64)  # the best score of each item
        self._deferred: list[int] = []

    def add_items(self, items: int) -> None:
        """Append items; until their gains are set they are neither best nor stale."""
        first, self.items = self.items, self.items + items
        if self.items > len(self._best):
            for name in ("_gain", "_edges", "priced_at", "refreshed_at", "_estimated_at", "_best"):
                setattr(self, name, _double_rows(getattr(self, name), self.items))
        new = slice(first, self.items)
        self._gain[new], self._edges[new], self.priced_at[new] = 0, LEAST_ESTIMATE, UNKNOWN
        self._estimated_at[new] = 0.0
        self.refreshed_at[new], self._best[new] = np.iinfo(np.int64).max, -np.inf

    def state(self) -> State:
        """The state of the table in compact form."""
        lines = {
            name: getattr(self, name)[: self.items] for name in ("refreshed_at", "_estimated_at", "_best")
        }
        return {"edge_cost": self.edge_cost, "lines": lines} | {
            name: _unusual_entries(getattr(self, name)[: self.items], usual) for name, usual in USUAL.items()
        }

    def restore(self, state: State) -> None:
        """Restore a state into a table without items."""
        self.edge_cost = state["edge_cost"]
        self.add_items(state["lines"]["_best"].size)
        for name, line in state["lines"].items():
            getattr(self, name)[: self.items] = line
        for name in USUAL:
            where, what = state[name]
            getattr(self, name)[: self.items].ravel()[where] = what

    def set_gains(self, items: Ints, gain: Floats, splits: int) -> None:
        """Set the gains of items, (items, columns), as of a number of splits."""
        ruled_out = self._gain[items] < 0
        self._gain[items] = np.where(ruled_out, -np.inf, gain)
        self.refreshed_at[items] = splits
        self._rank(items)

    def set_estimates(self, item: int, columns: Bools, estimate: Floats, edges: int) -> None:
        """Set the estimated costs of an item's splits on some columns, unless they were priced exactly.

        `estimate` is (columns,), and `edges` is the current size of the circuit.
        """
        unpriced = self.priced_at[item] < 0
        self.priced_at[item, unpriced] = np.where(columns, ESTIMATED, UNKNOWN)[unpriced]
        assumed = np.where(columns, np.maximum(LEAST_ESTIMATE, DISCOUNT * estimate), LEAST_ESTIMATE)
        self._edges[item, unpriced] = assumed[unpriced]
        self._estimated_at[item] = edges
        self._rank(np.array([item]))

    def set_cost(self, item: int, column: int, edges: float, splits: int) -> None:
        """Set the exact cost of a candidate as of a number of splits."""
        self._edges[item, column] = edges
        self.priced_at[item, column] = splits
        self._rank(np.array([item]))

    def rule_out(self, item: int, column: int | slice = slice(None)) -> None:
        """Exclude the split of an item on a column, or on all columns, permanently."""
        self._gain[item, column] = -np.inf
        self._rank(np.array([item]))

    def defer(self, item: int) -> None:
        """Exclude an item until the end of deferral."""
        self._best[item] = -np.inf
        self._deferred.append(item)

    def end_deferral(self) -> None:
        """Include all deferred items again."""
        self._rank(np.array(self._deferred, dtype=np.int64))
        self._deferred.clear()

    def halve_edge_cost(self) -> None:
        """Halve the cost of an edge."""
        self.edge_cost /= 2
        for at in range(0, self.items, 1024):
            self._rank(np.arange(at, min(self.items, at + 1024)))

    def score(self, item: int, column: int) -> float:
        """The gain of a candidate minus its costs."""
        gain, edges = float(self._gain[item, column]), float(self._edges[item, column])
        return gain - self._split_cost - self.edge_cost * edges

    def affordable_edges(self, item: int, column: int) -> float:
        """The number of new edges with which a candidate would score zero."""
        return (float(self._gain[item, column]) - self._split_cost) / self.edge_cost

    def needs_estimate(self, item: int, column: int, edges: int) -> bool:
        """Whether the cost of a candidate is unknown, or was estimated when the circuit was much smaller."""
        known = self.priced_at[item, column]
        return bool(known == UNKNOWN or (known == ESTIMATED and GROWTH * self._estimated_at[item] < edges))

    def promising_columns(self, item: int) -> Bools:
        """The columns on which splits of an item would score above zero, exactly, if edges cost nothing."""
        return np.asarray(self._gain[item].astype(np.float64) > self._split_cost)

    def best_item(self) -> int:
        """The item with the best candidate; -1 if no candidate scores above zero."""
        item = int(self._best[: self.items].argmax())
        return item if self._best[item] > 0 else -1

    def best_column(self, item: int) -> int:
        """The column of an item's best candidate."""
        return int(self._scores(np.array([item]))[0].argmax())

    def is_best(self, item: int, column: int) -> bool:
        """Whether a candidate has a positive score, and no other a much higher one."""
        return self.score(item, column) > max(0.0, (1 - TOLERANCE) * float(self._best[: self.items].max()))

    def stale_items(self, splits: int) -> Ints:
        """The items whose gains were computed before a number of splits."""
        return np.flatnonzero(self.refreshed_at[: self.items] < splits)

    def best_stale_items(self, splits: int, most: int) -> Ints:
        """The stale items with the best positive scores, up to a number."""
        is_stale = self.refreshed_at[: self.items] < splits
        stale = np.flatnonzero(is_stale & (self._best[: self.items] > 0))
        if stale.size > most:
            stale = stale[np.argpartition(-self._best[stale], most)[:most]]
        return stale

    def has_candidates(self) -> bool:
        """Whether any candidate fits into the circuit and has a positive score without edge costs."""
        gain, edges = self._gain[: self.items], self._edges[: self.items]
        return bool(((gain > self._split_cost) & (edges < np.inf)).any())

    def _scores(self, items: Ints) -> Floats:
        """The scores of all candidates of items, but for the cost of a split. Shape (items, columns)."""
        return self._gain[items].astype(np.float64) - self.edge_cost * self._edges[items]

    def _rank(self, items: Ints) -> None:
        self._best[items] = self._scores(items).max(axis=1) - self._split_cost


def _unusual_entries(array: AnyArray, usual: float) -> list[AnyArray]:
    """The places, in the array as one line, of entries that are not as usual, and these entries."""
    where = np.flatnonzero(array != usual)
    return [where, array.ravel()[where]]


def _double_rows(array: AnyArray, least: int) -> AnyArray:
    """A copy of an array with twice as many rows, or with `least` if these are more."""
    larger = np.zeros((max(2 * len(array), least), *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
