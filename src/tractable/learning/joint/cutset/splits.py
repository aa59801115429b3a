"""Selection of the column on which a node is split, by one of two scores."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import gammaln

from tractable.base.arrays import Floats, Ints
from tractable.learning.joint.cutset.kernels import fill_column_gains, fill_own_terms
from tractable.learning.joint.cutset.rows import CountedRows
from tractable.learning.joint.cutset.tree import bayesian_score, spanning_tree

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
