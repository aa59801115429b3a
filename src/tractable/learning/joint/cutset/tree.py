"""The Chow-Liu tree at a leaf of a cutset network."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln

from tractable.base.arrays import Floats, Int32s, Ints
from tractable.learning.joint.cutset.kernels import (
    add_tree_counts,
    fill_cells,
    fill_log_tables,
    fill_own_terms,
    fill_spanning_tree,
    fill_tree_logs,
)

LEAST_LINK = 1e-9  # nats a row that a link gains at least; less may be rounding


@dataclass(frozen=True, slots=True, eq=False)
class TreeShape:
    """A tree over the columns of `order`, and the offsets of their tables in a flat array."""

    places: Ints  # (columns, 3) as in the kernels
    order: Ints  # the columns, parents before their children
    parent: Ints  # (columns,) -1 for a root and for columns that are not in the tree
    start: Ints  # (columns,) where each column's table begins
    size: int  # of all tables

    @property
    def states(self) -> Ints:
        """The number of states of each column of `order`."""
        return self.places[self.order, 1]

    @property
    def lines(self) -> Ints:
        """The number of table rows of each column of `order`."""
        above = self.parent[self.order]
        return np.where(above < 0, 1, self.places[above, 1])

    def cells(self, pair: Floats) -> Floats:
        """The tables of pair counts as a flat array."""
        answer = np.zeros(self.size)
        fill_cells(pair, self.places, self.parent, self.order, self.start, answer)
        return np.maximum(answer, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class LeafTree:
    """A tree with a conditional distribution of each column given its parent."""

    shape: TreeShape
    log_prob: Floats  # flat tables
    pseudo: Floats  # pseudo-counts of the tables
    smoothing: float  # further pseudo-counts of each line, distributed like the column

    def log_probs(self, codes: Int32s) -> Floats:
        """The log-probability of each row's cells in the tree; missing cells are summed out."""
        answer = np.empty(len(codes))
        places, order, parent, start = (
            self.shape.places,
            self.shape.order,
            self.shape.parent,
            self.shape.start,
        )
        message = np.empty((len(places), int(places[:, 1].max())))
        fill_tree_logs(codes, places, parent, order, start, self.log_prob, message, answer)
        return answer

    def refit(self, codes: Int32s, weights: Floats) -> "LeafTree":
        """The tree with distributions fitted to other rows and unchanged pseudo-counts."""
        shape, cells = self.shape, self.pseudo.copy()
        add_tree_counts(codes, weights, shape.places, shape.parent, shape.order, shape.start, cells)
        return replace(self, log_prob=log_tables(shape, cells, self.smoothing))


def log_tables(shape: TreeShape, cells: Floats, smoothing: float) -> Floats:
    """The smoothed log-probabilities of counts; both are flat tables."""
    answer = np.zeros(cells.size)
    fill_log_tables(cells, smoothing, shape.places, shape.parent, shape.order, shape.start, answer)
    return answer


def spanning_tree(pair: Floats, places: Ints, columns: Ints, link_cost: float) -> TreeShape:
    """The Chow-Liu tree over some columns from pair counts; edges cost nats for each parameter."""
    own = np.empty(len(places))
    fill_own_terms(pair, places, own)
    parent, order = np.full(len(places), -1, dtype=np.int64), columns.copy()
    least, best = np.array([LEAST_LINK * pair[0, 0], link_cost]), np.full(order.size, -np.inf)
    fill_spanning_tree(pair, places, own, least, best, parent, order)
    size = (np.where(parent < 0, 1, places[parent, 1]) * places[:, 1])[order]
    start = np.zeros(len(places), dtype=np.int64)
    start[order] = np.cumsum(size) - size
    return TreeShape(places, order, parent, start, int(size.sum()))


def bayesian_score(shape: TreeShape, cells: Floats, equivalent_rows: float) -> float:
    """The marginal log-likelihood of counts given a tree, with Dirichlet priors (BDeu).

    `equivalent_rows` are spread evenly over the rows of a table and over the states.
    """
    states, lines = shape.states, shape.lines
    width = np.repeat(states, lines)
    prior = equivalent_rows / np.repeat(lines, lines)
    each = np.repeat(prior / width, width)
    first = np.cumsum(width) - width
    total = np.add.reduceat(cells, first)
    whole = gammaln(prior) - gammaln(prior + total)
    return float(whole.sum() + (gammaln(each + cells) - gammaln(each)).sum())
