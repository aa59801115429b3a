"""A cutset network: a decision tree over columns with a Chow-Liu tree at each of its leaves.

Nodes are numbered from the root, which is 0, parents before their children. The children of a split are
numbered consecutively, one for each state of its column.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Int32s, Ints
from tractable.learning.joint.cutset.tree import LeafTree
from tractable.learning.statistics.estimates import LEAST_SMOOTHING


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
