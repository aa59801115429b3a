"""The search for the features of a Markov network.

Scores are taken to fall as the model grows, so only the splits that seem best are looked at again: first what
they gain, then, if they still seem best, what they cost in edges.
"""

from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import NamedTuple

import numpy as np

from tractable.arrays import Bools, Floats, Ints
from tractable.growing.best_first import BestFirst
from tractable.growing.ledger import Ledger
from tractable.growing.markov import MarkovModel, Snapshot
from tractable.progress import Watch

LANES = 8  # features whose gains are found in one sweep


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What a split must gain, in nats over all rows."""

    split: float  # each
    edge: float  # for each edge that the circuit gets, at first; halved while no split is worth it
    max_edges: int  # that the circuit may have
    least_support: float = 0.0  # part of the rows in which a feature holds that is split


class Fitting(NamedTuple):
    """How thoroughly all weights are fitted after each split."""

    steps: int
    tolerance: float  # part of the loss that a step must gain


class SplitSearch(BestFirst):
    """Splits features of a model one after the other."""

    def __init__(self, model: MarkovModel, costs: Costs, fitting: Fitting, watch: Watch) -> None:
        super().__init__(Ledger(model.states.size, costs.split, costs.edge), costs.max_edges, watch)
        self.model = model
        self._costs = costs
        self._fitting = fitting
        self._weights: dict[int, Floats] = {}  # to begin with, of features asked just now

    def run(self, patience: int) -> None:
        """Split until nothing is worth it, or validation scores have not risen for `patience` splits.

        With validation rows the model ends as it was when it scored best on them.
        """
        model, watch = self.model, self.watch
        best = self._resume(watch.checkpoint())
        self._report()
        while self.advance():
            if model.valid_rows is None or model.score > best.score:
                best = model.snapshot()
            elif model.splits - best.splits >= patience:
                break
            self._report()
            watch.save_checkpoint(partial(self._checkpoint, best))
        if best.splits < model.splits:
            model.back_to(best)

    def _report(self) -> None:
        self.watch.report(f"{self.edges:,} edges, splits", self.splits, None, self.model.score)

    def _resume(self, checkpoint: bytes | None) -> Snapshot:
        """Go on from the checkpoint of an earlier run, if there is one; return the best model so far."""
        best = None
        if checkpoint is not None:
            with np.load(BytesIO(checkpoint)) as saved:
                self.model.replay(saved["history"], saved["weight"])
                best = Snapshot(int(saved["splits"]), saved["best"], float(saved["score"]))
                self.ledger.edge_cost = float(saved["edge_cost"])
        self._add(np.arange(self.model.features))
        return best or self.model.snapshot()

    def _checkpoint(self, best: Snapshot) -> bytes:
        """What a later run needs to go on from here."""
        checkpoint = BytesIO()
        np.savez(
            checkpoint, history=self.model.history, weight=self.model.weight, edge_cost=self.ledger.edge_cost,
            splits=best.splits, best=best.weight, score=best.score,
        )  # fmt: skip
        return checkpoint.getvalue()

    @property
    def splits(self) -> int:
        """The number of splits made."""
        return self.model.splits

    @property
    def edges(self) -> int:
        """The edges of the circuit."""
        return self.model.circuit.edges

    def edge_cost(self, line: int, column: int, limit: int) -> int:
        """How many edges a split would add; more than `limit` if it is more."""
        return self.model.circuit.edge_cost(np.array([line]), column, limit=limit)

    def edge_guesses(self, line: int, columns: Bools) -> Floats:
        """About how many edges splits on some columns would add."""
        return self.model.circuit.edge_guesses(np.array([line]), columns)

    def ask(self, line: int | None) -> bool:
        """Find anew what splits of a feature gain, together with others that seem good, or of all."""
        if line is not None and self.ledger.asked_at[line] == self.splits:
            return False
        stale = self.ledger.stale(self.splits) if line is None else self.ledger.best_stale(self.splits, LANES)
        self._ask(stale)
        return bool(stale.size)

    def is_allowed(self, line: int, column: int) -> bool:
        """Whether a split would add a feature that is not there."""
        return not self.model.is_known(line, column)

    def split(self, line: int, column: int) -> None:
        """Split a feature and fit all weights."""
        model = self.model
        model.split(line, column, self._weights[line][model.states_of(column)])
        model.fit(self._fitting.steps, self._fitting.tolerance)
        self.ledger.rule_out(line, column)
        self._weights.clear()
        self._add(np.arange(self.ledger.size, model.features))

    def _add(self, features: Ints) -> None:
        """Take features in; those with too little support are never split."""
        self.ledger.add(features.size)
        self._ask(features[self.model.target[features] >= self._costs.least_support])

    def _ask(self, features: Ints) -> None:
        for at in range(0, features.size, LANES):
            if self.watch.should_stop():
                return
            lot = features[at : at + LANES]
            gain, weight = self.model.gains(lot, self._costs.split)
            self.ledger.set_gains(lot, gain, self.splits)
            self._weights.update(zip(lot.tolist(), weight, strict=True))
