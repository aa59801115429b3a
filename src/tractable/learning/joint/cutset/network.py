"""A cutset network: a decision tree over columns with a Chow-Liu tree at each of its leaves.

Nodes are numbered from the root, which is 0, parents before their children. The children of a split are
numbered consecutively, one for each state of its column.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

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
from tractable.learning.statistics.estimates import LEAST_SMOOTHING

# ---- the Chow-Liu tree at a leaf of a cutset network ----------------------------------------------------


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


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A split, or a leaf if `column` is -1."""

    weight: float  # of the rows that it was learned from
    tree: LeafTree | None  # of all columns above which there is no split; may be left out of splits
    column: int = -1
    first: int = -1  # the number of the first child
    share: Floats | None = None  # (states,) the pseudo-counted shares of the children


class Reached(NamedTuple):
    """The rows that reach a leaf."""

    number: int  # of the leaf
    rows: Ints
    weights: Floats  # the probability that each row gets there: one, but where cells of splits are missing


@dataclass(frozen=True, slots=True, eq=False)
class CutsetTree:
    """A cutset network over coded rows."""

    nodes: list[Node]

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return sum(node.column < 0 for node in self.nodes)

    def route(self, codes: Int32s) -> Iterator[Reached]:
        """The rows that reach each leaf; a row reaches all children of a split whose column is missing."""
        waiting = [Reached(0, np.arange(len(codes)), np.ones(len(codes)))]
        while waiting:
            number, rows, weights = waiting.pop()
            node = self.nodes[number]
            if node.column < 0:
                yield Reached(number, rows, weights)
                continue
            assert node.share is not None
            parts = divide_rows(codes[rows, node.column], weights, node.share)
            waiting += [Reached(node.first + k, rows[part], w) for k, (part, w) in enumerate(parts)]

    def log_probs(self, codes: Int32s) -> Floats:
        """The log-probability of each row."""
        answer = np.full(len(codes), -np.inf)
        path = self._path_logs()
        for number, rows, _ in self.route(codes):
            tree = self.nodes[number].tree
            assert tree is not None
            logs = tree.log_probs(codes[rows]) + path[number]
            answer[rows] = np.logaddexp(answer[rows], logs)
        return answer

    def _path_logs(self) -> Floats:
        """The log-probability of the states on the path to each node."""
        answer = np.zeros(len(self.nodes))
        for number, node in enumerate(self.nodes):
            if node.share is not None:
                answer[node.first : node.first + node.share.size] = answer[number] + np.log(node.share)
        return answer

    def refit(self, codes: Int32s, weights: Floats, shrinkage: float) -> "CutsetTree":
        """The network with parameters fitted to rows with other weights.

        The shares of children are shrunk towards the current ones, and the tables keep their pseudo-counts.
        Rows in which the column of a split is missing count for each leaf by its posterior probability.
        """
        nodes, weight = list(self.nodes), np.zeros(len(self.nodes))
        total, path = self.log_probs(codes), self._path_logs()
        for number, rows, part in self.route(codes):
            tree, own = self.nodes[number].tree, weights[rows]
            assert tree is not None
            if (part < 1).any():
                own = own * np.exp(tree.log_probs(codes[rows]) + path[number] - total[rows])
            weight[number] = own.sum()
            nodes[number] = replace(nodes[number], tree=tree.refit(codes[rows], own))
        return CutsetTree(_with_shares(nodes, weight, shrinkage))


def _with_shares(nodes: list[Node], weight: Floats, shrinkage: float) -> list[Node]:
    """The nodes with the shares of other leaf weights, (nodes,), shrunk towards the current ones."""
    weight, answer = weight.copy(), list(nodes)
    for number in range(len(nodes) - 1, -1, -1):
        node = nodes[number]
        if node.share is not None:
            below = weight[node.first : node.first + node.share.size]
            weight[number] = below.sum()
            share = below + max(shrinkage, LEAST_SMOOTHING) * node.share
            answer[number] = replace(node, share=share / share.sum())
    return answer


def prune(network: CutsetTree, codes: Int32s, weights: Floats) -> CutsetTree:
    """The network in which splits that do not improve the score on held-out rows are replaced by leaves.

    Rows in which the column of a split is missing count for all children by their shares.
    """
    reached: dict[int, tuple[Ints, Floats]] = {0: (np.arange(len(codes)), weights)}
    as_leaf, of_shares = np.zeros((2, len(network.nodes)))  # log-likelihoods of the rows that reach a node
    for number, node in enumerate(network.nodes):
        assert node.tree is not None
        rows, weight = reached.pop(number)
        as_leaf[number] = weight @ node.tree.log_probs(codes[rows])
        if node.share is not None:
            parts = divide_rows(codes[rows, node.column], weight, node.share)
            reached.update({node.first + k: (rows[part], w) for k, (part, w) in enumerate(parts)})
            of_shares[number] = np.array([w.sum() for _, w in parts]) @ np.log(node.share)
    kept, best = list(network.nodes), as_leaf.copy()
    for number in range(len(kept) - 1, -1, -1):
        node = kept[number]
        if node.share is None:
            continue
        split = of_shares[number] + best[node.first : node.first + node.share.size].sum()
        if as_leaf[number] >= split:
            kept[number] = Node(node.weight, node.tree)
        best[number] = max(as_leaf[number], split)
    return CutsetTree(_reachable(kept))


def _reachable(nodes: list[Node]) -> list[Node]:
    """The nodes below the root, renumbered."""
    answer = [nodes[0]]
    for number, node in enumerate(answer):
        if node.share is not None:
            answer[number] = replace(node, first=len(answer))
            answer += nodes[node.first : node.first + node.share.size]
    return answer


def divide_rows(states: Int32s, weights: Floats, share: Floats) -> list[tuple[Ints, Floats]]:
    """The positions and weights of the rows in each state; missing states are divided by shares."""
    unknown = np.flatnonzero(states < 0)
    answer = []
    for k in range(share.size):
        known = np.flatnonzero(states == k)
        own = weights[known]
        if unknown.size:
            known = np.concatenate([known, unknown])
            own = np.concatenate([own, weights[unknown] * share[k]])
        answer.append((known, own))
    return answer
