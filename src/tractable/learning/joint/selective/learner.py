"""Peharz, Gens and Domingos, «Learning Selective Sum-Product Networks», 2014."""

from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import ClassVar, Literal, NamedTuple, final

import numpy as np

from tractable.base.progress import Key, Watch
from tractable.base.settings import OneOf, setting
from tractable.circuit import Graph
from tractable.circuit.codec import graph_forms
from tractable.data import Schema, Table
from tractable.learning.joint.completion import complete, distinct_rows
from tractable.learning.joint.selective.freeze import freeze
from tractable.learning.joint.selective.rows import CodedRows, coded_rows, list_cells
from tractable.learning.joint.selective.search import Climb, Limits, finish_climb, tie_rules
from tractable.learning.joint.selective.smoothing import Smoothing, all_ways
from tractable.learning.joint.selective.splits import TieRule
from tractable.learning.joint.selective.tree import SelectiveTree
from tractable.learning.learner import Learned, PoolingLearner
from tractable.learning.statistics.estimates import LEAST_SMOOTHING
from tractable.learning.statistics.held_out import hold_out
from tractable.learning.statistics.pieces import view_pieces

FOUND = Key(__name__, "found", tuple[Graph, float])

SMOOTHING = (0.0001, 0.01, 0.1, 0.5, 1.0, 2.0)  # that validation rows choose from ...
SHRINKAGE = (0.0, 2.0, 8.0, 32.0, 128.0)
SMOOTHING_ALONE = 1.0  # ... and where there are none
SHRINKAGE_ALONE = 0.0
PENALTIES = (100.0, 50.0, 25.0, 10.0, 5.0, 2.0, 1.0, 0.5, 0.25, 0.125, 0.0625)


@final
@dataclass(frozen=True, kw_only=True)
class SelectiveLearner(PoolingLearner):
    """A regular selective sum-product tree, learned by greedy splits and merges.

    Each sum node determines the state of one column. The maximum likelihood weights are therefore relative
    frequencies, and entropies, divergences and most probable completions are exact. The score of a tree is
    its log-likelihood minus a penalty for each unit of inference cost, which is two for each edge of a sum
    and one for each edge of a product. Some rows are held out if there are no validation rows. Missing cells
    are imputed by samples from a Chow-Liu tree. Numeric columns are discretised into intervals, with a
    density on each.
    """

    name: ClassVar[str] = "selective"
    title: ClassVar[str] = "selective sum-product tree"

    tuning: Literal["falling", "grid"] = setting(
        "falling",
        "How the penalty is chosen: one search that halves the penalty whenever no change improves the"
        " score or the validation score stops improving (falling), or a separate search for each of several"
        " penalties (grid).",
    )
    penalty: float = setting(
        100.0,
        "Initial penalty, in nats of log-likelihood over all rows, for each unit of inference cost. It is"
        " halved whenever no change improves the score or the score on the validation rows stops improving.",
        at_least=1e-3,
    )
    penalties: tuple[float, ...] = setting(
        PENALTIES,
        "Penalties of the grid, in nats of log-likelihood over all rows, for each unit of inference cost."
        " Each has a separate search.",
        at_least=0,
    )
    smoothing: float | None = setting(
        None,
        "Pseudo-count of each edge of a sum node. If none, a value between 0.0001 and 2 is selected on the"
        " validation rows.",
        at_least=0,
        search=OneOf(None, 0.1, 1.0),
    )
    shrinkage: float | None = setting(
        None,
        "Pseudo-count of a sum node that was copied from another one, in proportion to the weights of the"
        " original. If none, a value between 0 and 128 is selected on the validation rows.",
        at_least=0,
        search=OneOf(None, 0.0, 8.0),
    )
    starts: int = setting(
        3,
        "Number of searches, which differ in the order in which equally good changes are made. The tree"
        " with the best score on the validation rows is kept.",
        at_least=1,
    )
    max_edges: int = setting(
        1_000_000,
        "Maximum number of edges in the circuit, which bounds the time of every query. The initial circuit"
        " of independent columns may be larger.",
        at_least=0,
    )
    patience: int = setting(
        100,
        "Early stopping: minimum number of changes without improvement on the validation rows before the"
        " search with one penalty may end. The more changes follow, the smaller the loss that ends the"
        " search.",
        at_least=1,
    )

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        view = view_pieces(table)
        limits = Limits(max(self.max_edges - view.added_edges, 0), self.patience)

        def learn(part: Table, held_out: Table | None) -> Graph:
            rows = self._prepare(part, held_out, rng)
            return self._search(rows, limits, part.schema, rng, watch)

        return Learned(view.learn(table, valid, learn))

    def _prepare(self, table: Table, valid: Table | None, rng: np.random.Generator) -> "_Rows":
        """Complete rows; rows that are held out say nothing about the missing cells of others."""
        rows, held_out = (table, valid) if valid is not None else hold_out(distinct_rows(table), rng)
        training, validation = complete(rows, held_out, rng)
        if validation is None:
            validation = training.take(slice(0, 0))
        every = training if valid is not None else _joined(training, validation)
        smoothing = self._smoothing(is_validated=bool(validation.row_weights.any()))
        return _Rows(coded_rows(training), coded_rows(validation), coded_rows(every), smoothing)

    def _search(
        self, rows: "_Rows", limits: Limits, schema: Schema, rng: np.random.Generator, watch: Watch
    ) -> Graph:
        """The best circuit of several searches. A checkpoint has the circuits of those that are finished."""
        falls = self.tuning == "falling" or not rows.is_validated
        starts = self.starts if rows.is_validated else 1
        rules = tie_rules(list_cells(rows.training, rows.valid).conditions.column.size, starts, rng)
        best: tuple[Graph, float] | None = None
        for number, how in enumerate(product((self.penalty,) if falls else self.penalties, rules)):
            search = partial(_climb, rows, limits, *how, falls)
            scored = watch.remember(FOUND.at(number), search, forms=graph_forms(schema))
            best = scored if best is None or scored[1] > best[1] else best
            if watch.should_stop():
                break
        assert best is not None
        return best[0]

    def _smoothing(self, *, is_validated: bool) -> Smoothing:
        """The kinds of smoothing to select from on the validation rows."""
        even = SMOOTHING if is_validated else (SMOOTHING_ALONE,)
        inherited = SHRINKAGE if is_validated else (SHRINKAGE_ALONE,)
        if self.smoothing is not None:
            even = (max(self.smoothing, LEAST_SMOOTHING),)
        return all_ways(even, inherited if self.shrinkage is None else (self.shrinkage,))


class _Rows(NamedTuple):
    """The rows of a search."""

    training: CodedRows
    valid: CodedRows  # none where nothing could be held out
    every: CodedRows  # that the weights are fitted to in the end
    smoothing: Smoothing

    @property
    def is_validated(self) -> bool:
        """Whether there are validation rows."""
        return bool(self.valid.weights.size)


def _climb(
    rows: _Rows, limits: Limits, penalty: float, ties: TieRule, falls: bool, watch: Watch
) -> tuple[Graph, float]:
    """The circuit of one search, and its log-likelihood on the validation rows."""
    tree = SelectiveTree(rows.training, rows.valid, rows.smoothing)
    best = finish_climb(Climb(tree, penalty, limits, watch, ties), falls=falls)
    return freeze(tree, rows.every, best.way), best.score


def _joined(one: Table, other: Table) -> Table:
    """The rows of both tables."""
    weights = np.concatenate([one.row_weights, other.row_weights])
    return Table(one.schema, np.concatenate([one.values, other.values]), weights)
