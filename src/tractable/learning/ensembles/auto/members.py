"""Members of the mixture: a candidate, its model, and its score on held-out rows."""

import time
from dataclasses import dataclass, replace
from functools import partial
from math import isnan

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.progress import InnerWatch, Key, Stopped, Watch
from tractable.circuit import Graph, mixture
from tractable.circuit.states import graph_forms
from tractable.data import Table, collapse
from tractable.engine import log_values
from tractable.learning.ensembles.auto.candidates import FLOOR, Candidate
from tractable.learning.learner import Learner
from tractable.learning.statistics.held_out import divide_evenly, random_subset

# ---- training rows, and held-out rows on which models are compared and mixed ----------------------------


FEW_ROWS = 2_000  # below which every row is held out once, in several folds ...
FOLDS = 5
PARTS = 8  # ... and above which one of so many parts is held out
LEAST_ROWS = 10  # with fewer of them none is held out
MOST_SCORED = 20_000  # distinct rows by which models are compared


@dataclass(frozen=True, eq=False)
class Fold:
    """One division of the rows."""

    train: Table
    held: Table  # validation rows for the learner
    scored: Table  # those of them that models are compared by; not all of very many


def make_folds(table: Table, valid: Table | None, rng: np.random.Generator) -> list[Fold]:
    """The validation rows or, without any, a division of the training rows.

    With few rows, each is held out in one fold, and a member of the mixture is itself a mixture of one model
    per fold. The result is empty if there are hardly any rows.
    """
    rows = collapse(table.useful_rows())[0]
    if valid is not None and len(useful := valid.useful_rows()):
        return [_fold(rows, collapse(useful)[0], rng)]
    if len(rows) < 2 or rows.total_weight < LEAST_ROWS:
        return []
    few = rows.total_weight < FEW_ROWS
    shares = divide_evenly(rows.row_weights, FOLDS if few else PARTS, rng)
    return [
        _fold(rows.reweight(rows.row_weights - held), rows.reweight(held), rng)
        for held in (shares if few else shares[:1])
    ]


def _fold(train: Table, held: Table, rng: np.random.Generator) -> Fold:
    train, held = train.useful_rows(), held.useful_rows()
    return Fold(train, held, held.take(random_subset(len(held), MOST_SCORED, rng)))


FOLD = Key(__name__, "fold", Graph)

FAULTS = (ValueError, ArithmeticError, MemoryError)  # of settings that do not suit a table
FIRST_ROWS = 64  # that are scored first, to see how long a row takes
CHUNK_SECONDS = 0.5  # that rows take which are scored before the watch is asked again
SCORE_SHARE, LEAST_SCORE_SECONDS = 0.5, 1.0  # of a member's time that the scores of its rows may take at most


@dataclass(frozen=True, eq=False)
class Member:
    """A model that may become a component of the mixture."""

    candidate: Candidate
    graph: Graph | None  # None if there is no model
    logs: Floats  # (held-out rows,) the log-likelihood of each, of all folds
    seconds: float
    finished: bool  # whether its time was enough
    fault: str = ""  # why there is no model

    def after(self, earlier: "Member | None", row_weights: Floats) -> "Member":
        """The better one of this member and the one that it continues, with their total time."""
        if earlier is None:
            return self
        is_worse = earlier.graph is not None and (
            self.graph is None or row_weights @ self.logs < row_weights @ earlier.logs
        )  # a model of another time budget may be
        better = replace(earlier, finished=self.finished) if is_worse else self
        return replace(better, seconds=earlier.seconds + self.seconds)


@dataclass(frozen=True, eq=False)
class Task:
    """The inputs for learning a member, possibly in another process."""

    candidate: Candidate
    learner: Learner
    folds: list[Fold]
    seed: int
    seconds: float | None  # that it may take; None: as long as it takes

    def run(self, watch: Watch) -> Member:
        """The learned member, or the best one when the time is over."""
        begin = time.perf_counter()
        inner = self._watch(watch)
        try:
            graphs = [self._learn(number, inner) for number in range(len(self.folds))]
            scoring = self._scoring_watch(watch)
            logs = [row_scores(g, f.scored.values, scoring) for g, f in zip(graphs, self.folds, strict=True)]
        except Stopped:
            fault = "there was no time to score its rows"
            return Member(self.candidate, None, np.zeros(0), time.perf_counter() - begin, False, fault)
        except FAULTS as error:
            fault = str(error) or type(error).__name__
            return Member(self.candidate, None, np.zeros(0), time.perf_counter() - begin, True, fault)
        every = np.concatenate(logs)
        if isnan(every.sum()):
            return Member(
                self.candidate, None, np.zeros(0), time.perf_counter() - begin, True, "it has no likelihood"
            )
        graph = graphs[0] if len(graphs) == 1 else mixture(graphs)
        finished = not (inner.should_stop() or inner.wish.hurried)
        return Member(self.candidate, graph, every, time.perf_counter() - begin, finished)

    def _watch(self, outer: Watch) -> InnerWatch:
        """The watch of the member, which reports its name but not its scores."""
        spans = [span for span in (self.seconds, outer.left) if span is not None]
        name = self.candidate.name
        return InnerWatch(outer, label=name, seconds=min(spans, default=None), part=name)

    def _scoring_watch(self, outer: Watch) -> Watch:
        """The watch of scoring, which has some time even if that of the member is over.

        Otherwise there might be no model at all.
        """
        if self.candidate.learner in FLOOR:
            return Watch()
        if self.seconds is None:
            return outer
        return InnerWatch(outer, seconds=max(LEAST_SCORE_SECONDS, SCORE_SHARE * self.seconds))

    def _learn(self, number: int, watch: InnerWatch) -> Graph:
        """The model of one fold; the remaining time is divided evenly among the folds."""
        fold = self.folds[number]
        left = None if watch.left is None else watch.left / (len(self.folds) - number)
        work = partial(self._learn_fold, fold, number)
        forms = graph_forms(fold.train.schema)
        return InnerWatch(watch, seconds=left).remember(FOLD.at(number + 1), work, forms=forms)

    def _learn_fold(self, fold: Fold, number: int, watch: Watch) -> Graph:
        rng = np.random.default_rng([self.seed, self.candidate.number, number])
        return self.learner.learn(fold.train, rng, valid=fold.held, watch=watch)


def row_scores(graph: Graph, rows: Floats, watch: Watch) -> Floats:
    """The log-likelihood of each row, in one batch if that is fast.

    Raises:
        Stopped: if the watch must stop before all rows are scored.
    """
    begin = time.monotonic()
    first = log_values(graph, rows[:FIRST_ROWS])
    each = (time.monotonic() - begin) / FIRST_ROWS
    if len(rows) <= FIRST_ROWS:
        return first
    if each * len(rows) <= CHUNK_SECONDS:
        return log_values(graph, rows)
    logs, start = [first], FIRST_ROWS
    while start < len(rows):
        if watch.must_stop():
            raise Stopped
        size = max(1, min(int(CHUNK_SECONDS / each), 4 * start))
        begin = time.monotonic()
        logs.append(log_values(graph, rows[start : start + size]))
        each = (time.monotonic() - begin) / logs[-1].size
        start += size
    return np.concatenate(logs)
