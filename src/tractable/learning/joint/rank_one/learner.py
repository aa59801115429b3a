"""Adel, Balduzzi and Ghodsi, «Learning the Structure of Sum-Product Networks via an SVD-based Algorithm»,
UAI 2015.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, final, get_args

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.base.arrays import Ints
from tractable.base.progress import Stopped, Watch
from tractable.base.settings import Between, OneOf, setting
from tractable.circuit import Builder, Graph
from tractable.data import Table
from tractable.learning.joint.rank_one.leaves import LeafMaker
from tractable.learning.joint.rank_one.regions import DIVISIONS, Block, Division, divide_table, find_divisions
from tractable.learning.learner import Learned, PoolingLearner
from tractable.learning.statistics.conditionals import forest_tables
from tractable.learning.statistics.dependence import pair_gains
from tractable.learning.statistics.encoding import Encoding, encode
from tractable.learning.statistics.forests import best_forest, categorical_mask, forest_node
from tractable.learning.statistics.link_gains import link_parameters
from tractable.learning.statistics.number_matrix import NumberMatrix, States, number_matrix
from tractable.learning.statistics.stack_weights import mean_log_prob

# ---- the circuit of a table's blocks --------------------------------------------------------------------


FEW_ROWS = 20  # below this, a block has too few rows for a tree
Leaf = Literal["instances", "chow-liu"]


class BlockLeaves(NamedTuple):
    """The models of blocks that are not divided."""

    leaf: Leaf
    min_rows: float  # blocks of less weight are not divided
    smoothing: float


def block_circuit(encoding: Encoding, blocks: Sequence[Block], settings: BlockLeaves, watch: Watch) -> Graph:
    """The circuit of the blocks of a table.

    Columns of instances and of blocks of little weight are independent, unless they form Chow-Liu trees. Sums
    below sums become one sum, which is the same function.

    Raises:
        Stopped: if the watch must stop before the circuit is there.
    """
    builder = Builder(encoding.schema)
    maker = LeafMaker(builder, encoding.table, settings.smoothing)
    node: dict[int, int] = {}
    for number in _needed_blocks(blocks, settings.min_rows)[::-1]:
        if watch.must_stop():
            raise Stopped
        block = blocks[number]
        if block.kind == "sum" and block.weight >= settings.min_rows:
            terms = _terms(blocks, number, settings.min_rows)
            weights = np.array([blocks[term].weight for term in terms])
            node[number] = builder.sum([node[term] for term in terms], np.log(weights / weights.sum()))
        elif block.kind == "product" and block.weight >= settings.min_rows:
            node[number] = builder.product([node[child] for child in block.children])
        elif block.kind == "independent":
            node[number] = maker.independent(block.rows, block.columns)
        elif settings.leaf == "chow-liu" and block.weight >= FEW_ROWS:
            node[number] = tree_node(builder, encoding, block.rows, block.columns, settings.smoothing, watch)
        elif block.kind == "instances" and block.weight >= settings.min_rows:
            node[number] = maker.instances(block.rows, block.columns)
        else:
            node[number] = maker.independent(block.rows, block.columns)
    return builder.freeze(node[0])


def independent_circuit(encoding: Encoding, smoothing: float) -> Graph:
    """The circuit of independent columns, which is computed quickly."""
    builder = Builder(encoding.schema)
    rows, columns = np.arange(len(encoding.table)), np.arange(len(encoding.schema))
    return builder.freeze(LeafMaker(builder, encoding.table, smoothing).independent(rows, columns))


def _terms(blocks: Sequence[Block], number: int, min_rows: float) -> list[int]:
    """The blocks below a sum and below the sums below it."""
    terms, waiting = [], list(blocks[number].children)
    while waiting:
        child = waiting.pop()
        if blocks[child].kind == "sum" and blocks[child].weight >= min_rows:
            waiting.extend(blocks[child].children)
        else:
            terms.append(child)
    return terms


def _needed_blocks(blocks: Sequence[Block], min_rows: float) -> list[int]:
    """The blocks that become nodes, parents before children."""
    needed = [0]
    for number in needed:
        block = blocks[number]
        if block.weight >= min_rows and block.kind == "sum":
            needed.extend(_terms(blocks, number, min_rows))
        elif block.weight >= min_rows and block.kind == "product":
            needed.extend(block.children)
    return needed


def tree_node(
    builder: Builder, encoding: Encoding, rows: Ints, columns: Ints, smoothing: float, watch: Watch
) -> int:
    """The root of a Chow-Liu forest over a block of a table, with the links that there is time to find.

    The pseudo-counts are those of each state: a distribution of two states has twice as many.
    """
    part = encoding.part(rows, columns)
    gain = np.zeros((columns.size, columns.size))
    if columns.size > 1:  # the price of extended BIC keeps chance links out of small blocks
        price = (0.5 * np.log(max(part.total, 1.0)) + np.log(columns.size)) * link_parameters(part.schema)
        gain = pair_gains(part, smoothing, watch) - price
    forest = best_forest(gain, categorical_mask(part.schema))
    return forest_node(builder, forest, forest_tables(part, forest, 2.0 * smoothing), columns)


@final
@dataclass(frozen=True, kw_only=True)
class SPNSVDLearner(PoolingLearner):
    """A sum-product network learned by extracting blocks of the table that are nearly of rank one.

    A block and the other columns of its rows form a product, which is one child of a sum; the remaining rows
    are the other child. A block of rank one becomes a sum over its distinct instances. During the search for
    blocks, missing cells are replaced by the mean of their column.
    """

    name: ClassVar[str] = "spn-svd"
    title: ClassVar[str] = "blocks of rank one (SPN-SVD)"

    gamma: tuple[float, ...] = setting(
        (4.0, 1.2, 2.0, 8.0),
        "Tolerance for deviations of a block from rank one. A row or column joins a block if more than the"
        " fraction 1 / gamma of its squared length lies along the singular vector of the block. Large values"
        " give few large blocks. With validation rows, all values are tried and the best is selected;"
        " otherwise the first is used.",
        at_least=1,
        search=OneOf((4.0, 1.2, 2.0, 8.0), (1.2,), (2.0,), (4.0,), (8.0,)),
    )
    min_rows: tuple[int, ...] = setting(
        (2, 200),
        "Minimum number of rows of a block for it to be divided further; the columns of smaller blocks are"
        " independent. With validation rows, all values are tried and the best is selected; otherwise the"
        " first is used.",
        at_least=0,
    )
    leaf: Literal["either", "instances", "chow-liu"] = setting(
        "either",
        "Model of a block of rank one: a sum over its distinct instances, or a Chow-Liu tree over its"
        " columns, which is always used for blocks with few rows. With either, the model with the better"
        " score on the validation rows is selected, and instances are used without them.",
        search=OneOf("either", "instances", "chow-liu"),
    )
    smoothing: float = setting(
        0.1,
        "Pseudo-count that is added to each state of a leaf.",
        at_least=0,
        search=Between(0.01, 1, log=True),
    )
    states: States = setting(
        "numbers",
        "Encoding of states in the search for blocks: as numbers, if they are numeric or ordered, or as one"
        " indicator for each state, which gives all states the same influence.",
        search=OneOf(*get_args(States)),
    )

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        encoding = encode(table)
        held_out = valid if valid is not None and valid.total_weight else None
        best, best_score = independent_circuit(encoding, self.smoothing), -np.inf
        if not encoding.total:
            watch.report("extracting blocks of rank one", 0, 0)
            return Learned(best)
        with threadpool_limits(1, user_api="blas"):  # the same sums in the same order, whatever else runs
            for graph in self._circuits(encoding, held_out is not None, watch):
                score = 0.0 if held_out is None else mean_log_prob(graph, held_out)
                if score > best_score:
                    best, best_score = graph, score
                if watch.must_stop():
                    break
        return Learned(best)

    def _circuits(self, encoding: Encoding, several: bool, watch: Watch) -> Iterator[Graph]:
        """The circuits of all settings, or of the first ones."""
        matrix = number_matrix(encoding.table, self.states)
        for gamma in self.gamma if several else self.gamma[:1]:
            blocks = divide_table(matrix, self._divisions(matrix, gamma, watch))
            for leaves in self._leaves(several):
                try:
                    yield block_circuit(encoding, blocks, leaves, watch)
                except Stopped:
                    return
            if watch.should_stop():
                return

    def _divisions(self, matrix: NumberMatrix, gamma: float, watch: Watch) -> list[Division | None]:
        return watch.remember(DIVISIONS.at(gamma), lambda part: find_divisions(matrix, gamma, part))

    def _leaves(self, several: bool) -> Iterator[BlockLeaves]:
        """What is tried in the place of blocks that are not divided."""
        leaves: tuple[Leaf, ...] = ("instances", "chow-liu") if self.leaf == "either" else (self.leaf,)
        sizes = self.min_rows if several else self.min_rows[:1]
        for leaf in leaves if several else leaves[:1]:
            for size in sizes:
                if leaf == "instances" or size >= FEW_ROWS or size == max(sizes):
                    yield BlockLeaves(leaf, size, self.smoothing)
