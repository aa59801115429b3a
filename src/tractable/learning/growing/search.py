"""Best-first search for splits, in which gains and costs are refreshed only where that may matter.

A candidate is an item of a structure and a column to split it on. There are far too many candidates to find
the gains and costs of all of them anew after every split. But as a model grows, the gains of the remaining
candidates tend to fall and their costs in edges tend to rise, so that a score that was found earlier is about
an upper bound of the present one. The search therefore takes the candidate whose last known score is best and

1. finds the gains of its item anew, if these were found before the last split;
2. estimates the costs of the item's candidates, if nothing is known about them;
3. finds the exact cost of the candidate, if it is still the best;
4. makes the split, if it is still the best, or nearly so.

After each of the first three steps the best candidate may be another one, with which the search goes on. When
no candidate scores above zero, the gains of all items are found anew from time to time, and if that does not
help either, edges become cheaper: the gain that each new edge must bring is halved.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Form, Forms, Key, State, Watch
from tractable.learning.growing.candidates import CandidateTable
from tractable.learning.growing.objective import Objective, Snapshot

LOOK_AHEAD = 4  # costs up to this many times what a candidate can afford are found exactly, for cheaper edges
FULL = 0.01  # the search ends when less than this part of `max_edges` is left
ITEMS_PER_SPLIT = 200  # all gains are found anew after one split for every so many items
PART_OF_FIRST = 0.2  # of the score of a batch's first split that the others must reach
LEAST_EDGE_COST = 1e-6  # nats: below this, edges are not made cheaper any more, unless told otherwise
FAIR_CHANCE = 100  # splits before a search is given up
DOUBLINGS = 4  # of its splits that a search is thought to make at most


@dataclass(frozen=True, kw_only=True)
class SplitCosts:
    """The minimum gains of splits, in nats over all rows, and the limits of the search."""

    split: float  # nats that each split must gain
    edge: float  # nats that each new edge must gain at first; this is halved while no split gains enough
    max_edges: int  # the most edges that the circuit may have
    least_support: float = 0.0  # the part of the rows in which an item must hold to be split
    least_edge: float = LEAST_EDGE_COST  # nats: from here on edges are not made cheaper
    batch: int = 1  # the most splits, of parts of the model that are apart, between two fits of the weights


class SearchState(NamedTuple):
    """The state of a search."""

    history: Ints  # (splits, 2) items, and the columns that they were split on
    weights: Floats
    memory: State  # of the objective
    candidates: State
    all_refreshed_at: int
    best: Snapshot
    scores: list[float | None]  # after each batch of splits


STATE, MODEL = Key(__name__, "search", SearchState), Key(__name__, "model", Objective)


@dataclass
class Race:
    """The scores of a growing model, which is abandoned if it will not reach the score `goal`.

    Gains decrease as a circuit grows: the next doubling of splits is unlikely to gain more than the last one.
    """

    goal: float
    is_lost: bool = False
    _scores: list[float] = field(default_factory=list)

    def note_score(self, score: float) -> None:
        """Record the score after another split."""
        self._scores.append(score)
        many = len(self._scores)
        if many > FAIR_CHANCE and np.isfinite(self.goal):
            halfway = self._scores[many // 2]
            self.is_lost = self.is_lost or score + DOUBLINGS * (score - halfway) < self.goal


class SplitSearch:
    """Splits the structure of an objective while splits pay off, and returns to the best model."""

    def __init__(self, objective: Objective, costs: SplitCosts, watch: Watch) -> None:
        self.objective = objective
        self.structure = objective.structure
        self.watch = watch
        self.table = CandidateTable(self.structure.states.size, costs.split, costs.edge)
        self._costs = costs
        self._all_refreshed_at = 0  # splits made when the gains of all items were last found
        self._begun = 0  # splits made before the batch
        self._touched: set[int] = set()  # the columns that splits of the batch are about
        self._least = 0.0  # score of a split that joins the batch
        self._best: Snapshot | None = None
        self._scores: list[float | None] = []  # after each batch of splits
        self._race = Race(watch.goal)

    @property
    def splits(self) -> int:
        """The number of splits that were made."""
        return self.structure.splits

    def resume(self) -> bool:
        """Continue from the last checkpoint of an earlier run; false without one."""
        saved = self.watch.checkpoint(STATE)
        if saved is None:
            return False
        self._best, self._all_refreshed_at = saved.best, saved.all_refreshed_at
        _restore(self.objective, saved.history, saved.weights, saved.memory)
        self.table.restore(saved.candidates)
        for score in saved.scores:
            self._note(score)
        self._report()
        return True

    def run(self, patience: int) -> None:
        """Split until no split pays off, or the model has not improved for `patience` splits.

        It also ends when the model will not reach the goal of the watch. Structure and objective are returned
        to the best model.
        """
        objective = self.objective
        if self._best is None and not self.resume():
            self._best = objective.snapshot()
            self._note(objective.reported_score)
            self._report()
        assert self._best is not None
        while not self._race.is_lost and self.advance():
            if objective.improves_on(self._best):
                self._best = objective.snapshot()
            elif self.splits - self._best.splits >= patience:
                break
            self._note(objective.reported_score)
            self._report()
            self.watch.save_checkpoint(STATE, partial(self._state, self._best))
        if self._best.splits < self.splits:
            self.structure.undo(self._best.splits)
            objective.restore(self._best.weights)

    def _note(self, score: float | None) -> None:
        """Keep a score, by which the search may be given up."""
        self._scores.append(score)
        if score is not None:
            self._race.note_score(score)

    def _report(self) -> None:
        stage = f"{self.structure.edges:,} edges, splits"
        self.watch.report(stage, self.splits, None, self._scores[-1])

    def _state(self, best: Snapshot) -> SearchState:
        objective = self.objective
        return SearchState(
            self.structure.history, objective.weights, objective.memory(), self.table.state(),
            self._all_refreshed_at, best, self._scores,
        )  # fmt: skip

    def advance(self) -> bool:
        """Make the best splits and fit the weights; false if there is no split or no time for it."""
        self._add_items()
        self._begun, self._touched, self._least = self.splits, set(), 0.0
        while self.splits - self._begun < self._costs.batch:
            best = self._find_best()
            if best is None:
                break
            self._split(*best)
        if self.splits == self._begun:
            return False
        self.table.end_deferral()
        self.objective.fit()
        return True

    def _find_best(self) -> tuple[int, int] | None:
        """The item and column of the best split for this batch, or None."""
        table = self.table
        while not self.watch.should_stop():
            item = table.best_item()
            if item < 0:
                if self._touched or not self._finds_more():
                    return None
            elif not self._refresh_best(item):
                column = table.best_column(item)
                if not self.structure.is_allowed(item, column):
                    table.rule_out(item, column)
                elif self._is_best(item, column):
                    if self._joins_batch(item, column):
                        return item, column
                    table.defer(item)
        return None

    def _joins_batch(self, item: int, column: int) -> bool:
        """Whether a split is independent of those of the batch, and about as good."""
        touched, score = self.structure.touched_columns(item, column), self.table.score(item, column)
        if self._costs.batch > 1 and (touched & self._touched or score < self._least):
            return False
        self._least = max(self._least, PART_OF_FIRST * score)
        self._touched |= touched
        return True

    def _add_items(self) -> None:
        """Add the items of the structure that the table lacks; those with little support are never split."""
        items = np.arange(self.table.items, self.structure.items)
        self.table.add_items(items.size)
        self._refresh(items[self.objective.support(items) >= self._costs.least_support])

    def _split(self, item: int, column: int) -> None:
        self.structure.split(item, column)
        self.objective.add_split(item, column)
        self.table.rule_out(item, slice(None) if self.structure.replaces else column)

    def _is_best(self, item: int, column: int) -> bool:
        """Whether a candidate is still the best after its cost was refined."""
        table, structure = self.table, self.structure
        if table.priced_at[item, column] == self.splits:
            return True
        if table.needs_estimate(item, column, structure.edges):
            columns = table.promising_columns(item)
            estimate = structure.estimate_edge_costs(item, columns)
            table.set_estimates(item, columns, estimate, structure.edges)
            return False
        most = LOOK_AHEAD * table.affordable_edges(item, column)
        limit = int(min(most, self._room()))
        edges: float = structure.edge_cost(item, column, limit)
        if edges > limit:  # the circuit only grows: what does not fit now never will
            edges = most if limit >= int(most) else np.inf
        table.set_cost(item, column, edges, self.splits)
        return table.is_best(item, column)

    def _finds_more(self) -> bool:
        """Refresh all gains if it is time, or make edges cheaper; false if neither helps."""
        if self._room() < FULL * self._costs.max_edges:
            return False
        if self.splits - self._all_refreshed_at >= self.table.items / ITEMS_PER_SPLIT:
            self._all_refreshed_at = self.splits
            if self._refresh_all():
                return True
        return self._make_edges_cheaper() or self._refresh_all()

    def _make_edges_cheaper(self) -> bool:
        """Halve the edge cost; false if no candidate can profit from it."""
        if self.table.edge_cost < self._costs.least_edge or not self.table.has_candidates():
            return False
        self.table.halve_edge_cost()
        return True

    def _room(self) -> int:
        return self._costs.max_edges - self.structure.edges

    def _refresh_best(self, item: int) -> bool:
        """Refresh the gains of the best item and of other promising ones; false if they are up to date.

        Within a batch the item is put off instead, because the weights will be fitted soon.
        """
        if not self.objective.gains_change or self.table.refreshed_at[item] >= self._begun:
            return False
        if self._touched:
            self.table.defer(item)
            return True
        stale = self.table.best_stale_items(self._begun, self.objective.batch_size)
        self._refresh(stale)
        return bool(stale.size)

    def _refresh_all(self) -> bool:
        """Refresh the gains of all items; false if they are up to date."""
        if not self.objective.gains_change:
            return False
        stale = self.table.stale_items(self._begun)
        self._refresh(stale)
        return bool(stale.size)

    def _refresh(self, items: Ints) -> None:
        size = self.objective.batch_size
        for at in range(0, items.size, size):
            if self.watch.should_stop():
                return
            batch = items[at : at + size]
            self.table.set_gains(batch, self.objective.gains(batch, self._costs.split), self.splits)


def search_splits(objective: Objective, costs: SplitCosts, patience: int, watch: Watch) -> None:
    """Search for splits, or repeat those of an earlier run; the objective is left at its best."""

    def search(part: Watch) -> Objective:
        SplitSearch(objective, costs, part).run(patience)
        return objective

    watch.remember(MODEL, search, forms=model_forms(objective))


def model_forms(objective: Objective) -> Forms:
    """How the structure and the weights of an objective are saved; they are restored in the objective."""

    def to_state(_: Objective) -> State:
        return [objective.structure.history, objective.weights, objective.memory()]

    def from_state(state: State) -> Objective:
        _restore(objective, *state)
        return objective

    return {Objective: Form(to_state, from_state)}


def _restore(objective: Objective, history: Ints, weights: Floats, memory: State) -> None:
    objective.replay(history)
    objective.restore(weights)
    objective.recall(memory)
