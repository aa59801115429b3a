"""Peharz, Gens and Domingos, «Learning Selective Sum-Product Networks», 2014."""

from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import ClassVar, Literal, NamedTuple, final

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Key, Watch
from tractable.base.settings import OneOf, setting
from tractable.circuit import Builder, Graph
from tractable.circuit.states import graph_forms
from tractable.data import Schema, Table
from tractable.learning.joint.completion import complete, distinct_rows
from tractable.learning.joint.selective.filling import count_edges, pass_rows
from tractable.learning.joint.selective.nodes import Arrays, indices, list_nodes
from tractable.learning.joint.selective.rows import CodedRows, coded_rows, list_cells
from tractable.learning.joint.selective.search import Climb, Limits, finish_climb, tie_rules
from tractable.learning.joint.selective.smoothing import Smoothing, all_ways
from tractable.learning.joint.selective.splits import TieRule
from tractable.learning.joint.selective.tree import SelectiveTree
from tractable.learning.learner import Learned, PoolingLearner
from tractable.learning.statistics.estimates import LEAST_SMOOTHING
from tractable.learning.statistics.held_out import hold_out
from tractable.learning.statistics.pieces import view_pieces

# ---- the circuit of a selective tree --------------------------------------------------------------------


def freeze(tree: SelectiveTree, rows: CodedRows, way: int) -> Graph:
    """The circuit with closed-form weights: relative counts with pseudo-counts, smoothed in one way.

    The rows need not be those that the tree was found on. A sum over a single state is an indicator.
    """
    arrays, nodes, listed = tree.arrays, tree.nodes, list_nodes(tree.arrays, tree.root)
    log_weights = _log_weights(tree, listed, rows, way)
    builder, made = Builder(rows.schema), dict[int, int]()
    for node in listed[::-1].tolist():
        column, first, edges = nodes[["column", "first_edge", "edges"]][node].item()
        if nodes["nodes"][node] > 1:
            below = [made.pop(child) for child in arrays.child[first : first + edges].tolist()]
        else:
            branch = arrays.branch[nodes["first_state"][node] :][: nodes["states"][node]]
            below = [builder.indicator(column, state) for state in np.flatnonzero(branch >= 0).tolist()]
        if column < 0:
            made[node] = builder.product(below)
        else:
            is_sum = len(below) > 1
            made[node] = builder.sum(below, log_weights[first : first + edges]) if is_sum else below[0]
    return builder.freeze(made[tree.root])


def _log_weights(tree: SelectiveTree, listed: Ints, rows: CodedRows, way: int) -> Floats:
    """The logarithms of the weights of all edges of sums."""
    arrays, counts = tree.arrays, _edge_counts(tree.arrays, listed, rows)
    sums = tree.nodes[listed]
    sums = sums[(sums["column"] >= 0) & (sums["edges"] > 0)]
    edge = indices(sums["first_edge"], sums["edges"])
    state = indices(sums["first_state"], sums["states"])
    state_edge = np.repeat(sums["first_edge"], sums["states"]) + arrays.branch[state]
    has_edge = arrays.branch[state] >= 0
    means = np.bincount(state_edge[has_edge], arrays.prior[state[has_edge], way], counts.size)
    even, inherited = tree.smoothing.even[way], tree.smoothing.inherited[way]
    smoothed = counts[edge] + even + inherited * means[edge]
    total = np.bincount(np.repeat(np.arange(sums.size), sums["edges"]), smoothed, sums.size)
    answer: Floats = np.zeros(counts.size)
    answer[edge] = np.log(smoothed / np.repeat(total, sums["edges"]))
    return answer


def _edge_counts(tree: Arrays, listed: Ints, rows: CodedRows) -> Floats:
    """The weight of the rows on each edge of each sum, where all rows reach the first node."""
    many, used = rows.weights.size, -1
    cells = tree.cells._replace(codes=rows.codes, weight=rows.weights, training=many)
    copy = tree._replace(
        nodes=tree.nodes.copy(), counts=tree.counts.copy(), held=tree.held.copy(), cells=cells
    )
    room = 2 * many + 64
    while used < 0:
        room *= 2
        copy = copy._replace(row=np.zeros(room, dtype=np.int32))
        copy.row[:many] = np.arange(many)
        for field, value in (("first_row", 0), ("rows", many), ("all_rows", many)):
            copy.nodes[field][listed[0]] = value
        used = pass_rows(copy, listed, many)
    count_edges(copy, listed)
    return copy.counts


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
