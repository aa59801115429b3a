"""Selection of the column on which a node is split, by one of two scores."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import gammaln

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Watch
from tractable.learning.joint.cutset.kernels import fill_column_gains, fill_own_terms
from tractable.learning.joint.cutset.network import (
    CutsetTree,
    LeafTree,
    Node,
    bayesian_score,
    log_tables,
    spanning_tree,
)
from tractable.learning.joint.cutset.rows import CountedRows, prior_pairs
from tractable.learning.statistics.estimates import LEAST_SMOOTHING

Score = Literal["information", "bayesian"]

FINALISTS = 16  # candidates of greatest information gain whose Bayesian scores are computed


class Block(NamedTuple):
    """The rows of a node with the counts of all pairs of features in them."""

    rows: Ints
    weights: Floats
    counts: Floats  # (features, features)

    @property
    def weight(self) -> float:
        """The weight of the rows."""
        return float(self.counts[0, 0])


@dataclass(frozen=True, kw_only=True)
class Splitting:
    """The settings for selecting columns."""

    score: Score = "information"
    candidates: int | None = None  # columns drawn at random at each node; all when None
    min_rows: float = 200.0  # weight of the rows of a node that is split
    min_branch: float = 10.0  # weight of the rows in the second most frequent state of the column
    equivalent_rows: float = 1.0  # of the priors of the Bayesian score
    split_cost: float = 0.0  # nats by which the Bayesian score must rise


def choose_column(
    data: CountedRows,
    block: Block,
    columns: Ints,
    leaves: float,
    settings: Splitting,
    rng: np.random.Generator,
) -> int:
    """The candidate column with the best score, or -1 if the node becomes a leaf.

    `leaves` is the maximum number of leaves below the node.
    """
    eligible = _eligible(data, block, columns, settings)
    eligible = eligible[data.places[eligible, 1] <= leaves]
    if settings.candidates is not None and eligible.size > settings.candidates:
        eligible = np.sort(rng.choice(eligible, settings.candidates, replace=False))
    if not eligible.size:
        return -1
    if settings.score == "information":
        return int(eligible[information_gains(data, block.counts, columns, eligible).argmax()])
    if eligible.size > FINALISTS:
        gain = information_gains(data, block.counts, columns, eligible)
        eligible = eligible[np.sort(np.argsort(-gain, kind="stable")[:FINALISTS])]
    gain = bayesian_gains(data, block, columns, eligible, settings.equivalent_rows)
    return int(eligible[gain.argmax()]) if gain.max() > settings.split_cost else -1


def _eligible(data: CountedRows, block: Block, columns: Ints, settings: Splitting) -> Ints:
    """The columns whose branches have enough rows, on average and in the second most frequent state."""
    if block.weight < settings.min_rows or columns.size < 2:
        return columns[:0]
    states, width = data.state_counts(block.counts)[columns], data.places[columns, 1]
    if states.shape[1] < 2:
        return columns[:0]
    second = np.partition(states, -2, axis=1)[:, -2]
    fits = (second > 0) & (second >= settings.min_branch) & (width * settings.min_rows <= 2 * block.weight)
    return columns[fits]


def information_gains(data: CountedRows, counts: Floats, columns: Ints, candidates: Ints) -> Floats:
    """The information gain of a split on each candidate: the decrease of the entropies of the columns.

    It is the sum of the candidate's mutual information with each of the other columns, times the weight of
    the rows, in nats.
    """
    own, gain = np.empty(data.columns), np.empty(columns.size)
    fill_own_terms(counts, data.places, own)
    answer = np.empty(candidates.size)
    for i, column in enumerate(candidates.tolist()):
        others = columns[columns != column]
        fill_column_gains(counts, data.places, own, column, others, gain)
        answer[i] = gain[: others.size].sum()
    return answer


def bayesian_gains(
    data: CountedRows, block: Block, columns: Ints, candidates: Ints, equivalent_rows: float
) -> Floats:
    """The increase of the Bayesian score by a split on each candidate, in nats.

    The score is the marginal log-likelihood of the rows given the Chow-Liu tree of the node, or given the
    split and the Chow-Liu trees of its branches.
    """

    def leaf_score(counts: Floats, scope: Ints) -> float:
        shape = spanning_tree(counts, data.places, scope, 0.0)
        return bayesian_score(shape, shape.cells(counts), equivalent_rows)

    whole = leaf_score(block.counts, columns)
    states = data.state_counts(block.counts)
    answer = np.empty(candidates.size)
    for i, column in enumerate(candidates.tolist()):
        seen = states[column, : data.places[column, 1]]
        rest = columns[columns != column]
        below = sum(leaf_score(part.counts, rest) for part in split_block(data, block, column))
        answer[i] = below + _dirichlet_score(seen, equivalent_rows) - whole
    return answer


def _dirichlet_score(counts: Floats, equivalent_rows: float) -> float:
    """The marginal log-likelihood of the counts of a column with a Dirichlet prior."""
    prior = equivalent_rows / counts.size
    each = (gammaln(prior + counts) - gammaln(prior)).sum()
    return float(gammaln(equivalent_rows) - gammaln(equivalent_rows + counts.sum()) + each)


def split_block(data: CountedRows, block: Block, column: int) -> list[Block]:
    """The rows of each branch of a split, without those in which the column is missing.

    The counts of the largest branch are computed by subtraction.
    """
    states = data.codes[block.rows, column]
    parts = [np.flatnonzero(states == k) for k in range(-1, int(data.places[column, 1]))]
    largest = max(range(1, len(parts)), key=lambda k: parts[k].size)
    rest = block.counts.copy()
    answer = []
    for k, place in enumerate(parts):
        rows, weights = block.rows[place], block.weights[place]
        counts = rest if k == largest else data.count_pairs(rows, weights)
        if k != largest and place.size:
            rest -= counts
        answer.append(Block(rows, weights, counts))
    np.maximum(rest, 0.0, out=rest)  # rounding may take weighted counts below zero
    return answer[1:]


# ---- growing of a cutset network from its root, splitting nodes that have enough rows -------------------


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
