"""The best split first: all splits there could be, with what they gain and cost as last seen.

Scores are taken to fall as the model grows, so only the splits that seem best are looked at again: first what
they gain, then, if they still seem best, what they cost in edges.
"""

from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import NamedTuple

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.growing.ledger import Ledger
from tractable.growing.markov import MarkovModel, Snapshot
from tractable.progress import Watch

LANES = 8  # features whose gains are found in one sweep
FAR = 4  # times what a split is worth: how far its cost is followed, for the time when edges are cheaper
LEAST_EDGE_COST = 1e-6  # below which edges cost nothing


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


class SplitSearch:
    """Splits features of a model one after the other."""

    def __init__(self, model: MarkovModel, costs: Costs, fitting: Fitting) -> None:
        self.model = model
        self._costs = costs
        self._fitting = fitting
        self._ledger = Ledger(model.states.size, costs.split, costs.edge)
        self._weights: dict[int, Floats] = {}  # to begin with, of features asked just now

    def run(self, watch: Watch, patience: int) -> None:
        """Split until nothing is worth it, or validation scores have not risen for `patience` splits.

        With validation rows the model ends as it was when it scored best on them.
        """
        model = self.model
        best = self._taken_up(watch.notes())
        checks = model.valid_rows is not None
        self._report(watch)
        while not watch.should_stop() and self._advance():
            if not checks or model.valid_score > best.valid_score:
                best = model.snapshot()
            elif model.splits - best.splits >= patience:
                break
            self._report(watch)
            watch.note(partial(self._notes, best))
        if best.splits < model.splits:
            model.back_to(best)

    def _taken_up(self, notes: bytes | None) -> Snapshot:
        """Go on where an earlier run has noted to be; the best model so far."""
        if notes is not None:
            with np.load(BytesIO(notes)) as noted:
                self.model.replay(noted["history"], noted["weight"])
                best = Snapshot(int(noted["splits"]), noted["best"], float(noted["score"]))
                self._ledger.edge_cost = float(noted["edge_cost"])
        self._add(np.arange(self.model.features))
        return self.model.snapshot() if notes is None else best

    def _notes(self, best: Snapshot) -> bytes:
        notes = BytesIO()
        np.savez(
            notes, history=self.model.history, weight=self.model.weight, edge_cost=self._ledger.edge_cost,
            splits=best.splits, best=best.weight, score=best.valid_score,
        )  # fmt: skip
        return notes.getvalue()

    def _report(self, watch: Watch) -> None:
        model = self.model
        score = model.train_score if model.valid_rows is None else model.valid_score
        watch.report(f"{model.circuit.edges:,} edges, splits", model.splits, None, score)

    def _advance(self) -> bool:
        """Make the best split; false if there is none."""
        ledger, model = self._ledger, self.model
        while True:
            feature = ledger.best_feature()
            if feature < 0:
                if self._ask_all() and not self._cheaper_edges():
                    return False
                continue
            if ledger.asked_at[feature] < model.splits:
                self._ask(ledger.best_stale(model.splits, LANES))
                continue
            column = ledger.best_column(feature)
            if ledger.priced_at[feature, column] < model.splits:
                self._price(feature, column)
                if not ledger.is_best(feature, column):
                    continue
            if model.is_known(feature, column):
                ledger.rule_out(feature, column)
                continue
            self._split(feature, column)
            return True

    def _split(self, feature: int, column: int) -> None:
        model = self.model
        model.split(feature, column, self._weights[feature][model.states_of(column)])
        model.fit(self._fitting.steps, self._fitting.tolerance)
        self._ledger.rule_out(feature, column)
        self._weights.clear()
        self._add(np.arange(self._ledger.size, model.features), feature)

    def _add(self, features: Ints, parent: int | None = None) -> None:
        """Take features in; those with too little support are never split."""
        self._ledger.add(features.size, parent)
        self._ask(features[self.model.target[features] >= self._costs.least_support])

    def _ask(self, features: Ints) -> None:
        """Find anew what splits of features gain."""
        for at in range(0, features.size, LANES):
            lot = features[at : at + LANES]
            gain, weight = self.model.gains(lot, self._costs.split)
            self._ledger.set_gains(lot, gain, self.model.splits)
            self._weights.update(zip(lot.tolist(), weight, strict=True))

    def _ask_all(self) -> bool:
        """Ask every feature that was not asked since the last split; true if there was none."""
        stale = self._ledger.stale(self.model.splits)
        self._ask(stale)
        return not stale.size

    def _price(self, feature: int, column: int) -> None:
        """Find anew what a split costs; where that is more than it gains, how much more does not matter."""
        most = FAR * self._ledger.worth(feature, column)
        limit = int(min(most, self._room()))
        edges: float = self.model.circuit.edge_cost(np.array([feature]), column, limit=limit)
        if edges > limit:  # edges only become more: what has no room now never will
            edges = most if limit >= int(most) else np.inf
        self._ledger.set_cost(feature, column, edges, self.model.splits)

    def _room(self) -> int:
        return self._costs.max_edges - self.model.circuit.edges

    def _cheaper_edges(self) -> bool:
        """Halve the cost of edges; false if no split can profit from it."""
        ledger = self._ledger
        full = self._room() < 0.01 * self._costs.max_edges
        if full or ledger.edge_cost < LEAST_EDGE_COST or not ledger.any_left():
            return False
        self._ledger.halve_edge_cost()
        return True
