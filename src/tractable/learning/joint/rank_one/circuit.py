"""The circuit of a table's blocks."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from tractable.base.arrays import Ints
from tractable.base.progress import Stopped, Watch
from tractable.circuit import Builder, Graph
from tractable.learning.joint.rank_one.leaves import LeafMaker
from tractable.learning.joint.rank_one.regions import Block
from tractable.learning.statistics.conditionals import forest_tables
from tractable.learning.statistics.dependence import pair_gains
from tractable.learning.statistics.encoding import Encoding
from tractable.learning.statistics.forests import best_forest, categorical_mask, forest_node
from tractable.learning.statistics.link_gains import link_parameters

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
