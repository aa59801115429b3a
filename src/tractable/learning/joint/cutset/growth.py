"""Growing of a cutset network from its root, splitting nodes that have enough rows."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Watch
from tractable.learning.joint.cutset.network import CutsetTree, Node
from tractable.learning.joint.cutset.rows import CountedRows, prior_pairs
from tractable.learning.joint.cutset.splits import Block, Splitting, choose_column, split_block
from tractable.learning.joint.cutset.tree import LeafTree, log_tables, spanning_tree
from tractable.learning.statistics.estimates import LEAST_SMOOTHING


@dataclass(frozen=True, kw_only=True)
class Growth:
    """The settings for growing a network."""

    splitting: Splitting
    shrinkage: float  # pseudo-counts of a leaf's pairs, distributed as in its parent
    smoothing: float  # pseudo-counts of each distribution of a leaf
    link_cost: float  # nats that a link of a leaf's tree must gain for each parameter
    max_leaves: float = np.inf
    keep_trees: bool = False  # whether splits have trees, too, so that they can be made leaves afterwards


class _Waiting(NamedTuple):
    """A node that is still to be created."""

    number: int
    block: Block
    pseudo: Floats  # (features, features) pseudo-counts of pairs
    columns: Ints  # those without a split above
    leaves: float  # how many leaves it may have


def grow_network(data: CountedRows, growth: Growth, rng: np.random.Generator, watch: Watch) -> CutsetTree:
    """The cutset network of weighted rows; when `watch` says to stop, nodes become leaves."""
    nodes: list[Node | None] = [None]
    waiting = [_whole(data, growth)]
    while waiting:
        at = waiting.pop()
        column = -1
        if not watch.should_stop():
            column = choose_column(data, at.block, at.columns, at.leaves, growth.splitting, rng)
        tree = _fit_leaf(data, at, growth) if column < 0 or growth.keep_trees else None
        if column < 0:
            nodes[at.number] = Node(at.block.weight, tree)
            continue
        share, children = _split(data, at, column, len(nodes), growth.shrinkage)
        nodes[at.number] = Node(at.block.weight, tree, column, len(nodes), share)
        nodes += [None] * share.size
        waiting += children
    return CutsetTree([node for node in nodes if node is not None])


def _whole(data: CountedRows, growth: Growth) -> _Waiting:
    """The root with all rows of positive weight."""
    rows = np.flatnonzero(data.weights > 0)
    weights = data.weights[rows]
    counts = data.count_pairs(rows, weights)
    smoothing = max(growth.smoothing, LEAST_SMOOTHING)
    pseudo = smoothing * prior_pairs(data, counts, smoothing)
    return _Waiting(0, Block(rows, weights, counts), pseudo, np.arange(data.columns), growth.max_leaves)


def _fit_leaf(data: CountedRows, at: _Waiting, growth: Growth) -> LeafTree:
    pair = at.block.counts + at.pseudo
    shape = spanning_tree(pair, data.places, at.columns, growth.link_cost)
    return LeafTree(
        shape,
        log_tables(shape, shape.cells(pair), growth.smoothing),
        shape.cells(at.pseudo),
        growth.smoothing,
    )


def _split(
    data: CountedRows, at: _Waiting, column: int, first: int, shrinkage: float
) -> tuple[Floats, list[_Waiting]]:
    """The shares of the branches of a split, and the branches."""
    pair = at.block.counts + at.pseudo
    share = np.maximum(data.state_counts(pair)[column, : data.places[column, 1]], LEAST_SMOOTHING)
    share = share / share.sum()
    pseudo = pair * (max(shrinkage, LEAST_SMOOTHING) / pair[0, 0])
    columns = at.columns[at.columns != column]
    blocks = split_block(data, at.block, column)
    leaves = 1 + (at.leaves - share.size) * share  # one each, and of the others as many as there are rows
    below = zip(range(first, first + share.size), blocks, leaves.tolist(), strict=True)
    return share, [_Waiting(number, block, pseudo, columns, most) for number, block, most in below]
