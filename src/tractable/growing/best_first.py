"""The best split first, whatever is split: priced lazily, with edges that become cheaper while none pays."""

from abc import ABC, abstractmethod

import numpy as np

from tractable.arrays import Bools, Floats
from tractable.growing.ledger import Ledger
from tractable.progress import Watch

FAR = 4  # times what a split is worth: how far its cost is followed, for the time when edges are cheaper
FULL = 0.01  # part of the edges that may be there which is too little to go on for
RARELY = 200  # lines for each split that is made before all of them are asked again
LEAST_EDGE_COST = 1e-6  # below which edges cost nothing


class BestFirst(ABC):
    """Splits the lines of a ledger one after the other."""

    def __init__(self, ledger: Ledger, max_edges: int, watch: Watch) -> None:
        self.ledger = ledger
        self._max_edges = max_edges
        self.watch = watch
        self._asked_all_at = 0  # splits

    @property
    @abstractmethod
    def splits(self) -> int:
        """The number of splits made."""

    @property
    @abstractmethod
    def edges(self) -> int:
        """The edges of the circuit."""

    @abstractmethod
    def edge_cost(self, line: int, column: int, limit: int) -> int:
        """How many edges a split would add; more than `limit` if it is more."""

    @abstractmethod
    def edge_guesses(self, line: int, columns: Bools) -> Floats:
        """About how many edges splits on some columns would add. Both of shape (columns,)."""

    @abstractmethod
    def ask(self, line: int | None) -> bool:
        """Find anew what splits of a line gain, or of all; false if that is known."""

    @abstractmethod
    def is_allowed(self, line: int, column: int) -> bool:
        """Whether a split may be made; one that may not never may."""

    @abstractmethod
    def split(self, line: int, column: int) -> None:
        """Make a split, and take its new lines into the ledger."""

    def advance(self) -> bool:
        """Make the best split; false if there is none, or no time for it."""
        ledger = self.ledger
        while not self.watch.should_stop():
            line = ledger.best_line()
            if line < 0:
                if not self._finds_more():
                    return False
            elif not self.ask(line):
                column = ledger.best_column(line)
                if not self.is_allowed(line, column):
                    ledger.rule_out(line, column)
                elif self._is_best(line, column):
                    self.split(line, column)
                    return True
        return False

    def _finds_more(self) -> bool:
        """Ask all lines again if it is time for that, or let edges cost less; false if neither helps."""
        if self._room() < FULL * self._max_edges:
            return False
        if self.splits - self._asked_all_at >= self.ledger.size / RARELY:
            self._asked_all_at = self.splits
            if self.ask(None):
                return True
        return self._cheaper_edges() or self.ask(None)

    def _is_best(self, line: int, column: int) -> bool:
        """Whether what seems best still does when it is priced."""
        ledger = self.ledger
        if ledger.priced_at[line, column] == self.splits:
            return True
        if ledger.is_guess_due(line, column, self.edges):
            columns = ledger.promising(line)
            ledger.set_guesses(line, columns, self.edge_guesses(line, columns), self.edges)
            return False
        most = FAR * ledger.worth(line, column)
        limit = int(min(most, self._room()))
        edges: float = self.edge_cost(line, column, limit)
        if edges > limit:  # edges only become more: what has no room now never will
            edges = most if limit >= int(most) else np.inf
        ledger.set_cost(line, column, edges, self.splits)
        return ledger.is_best(line, column)

    def _room(self) -> int:
        return self._max_edges - self.edges

    def _cheaper_edges(self) -> bool:
        """Halve the cost of edges; false if no split can profit from it."""
        if self.ledger.edge_cost < LEAST_EDGE_COST or not self.ledger.any_left():
            return False
        self.ledger.halve_edge_cost()
        return True
