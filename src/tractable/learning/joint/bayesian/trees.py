"""The trees of a Bayesian network, whose leaves are split into one leaf for each state of a column."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats
from tractable.data import Schema
from tractable.networks import TreeFactor


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """The end of a path in the tree of a column: a distribution of its states."""

    child: int
    columns: tuple[int, ...]  # the conditions of the path, from the root down: this column ...
    states: tuple[int, ...]  # ... has this state
    counts: Floats  # (states of the child,) the weight of the training rows that end here
    log_prob: Floats  # (states of the child,) smoothed


class Split(NamedTuple):
    """A leaf that was replaced by several leaves."""

    leaf: int
    column: int
    gain: float  # nats on all training rows, less the penalty
    held_out: float  # nats on all held-out rows; zero without any
    first: int  # the new leaf of the column's first state; those of the other states follow


THEN, OTHERWISE = 2, 3  # where a line of a tree says what follows its test


def tree_factor(
    schema: Schema, root: int, leaves: list[Leaf], split_of: Callable[[int], Split | None]
) -> TreeFactor:
    """The tree below a leaf; a split on a column of K states is a chain of K - 1 tests."""
    lines: list[list[int]] = []  # column, state, then, otherwise, leaf
    waiting = [(root, 0, THEN)]  # a leaf, the line that leads to it, and which branch of that it is
    while waiting:
        leaf, above, branch = waiting.pop()
        if lines:
            lines[above][branch] = len(lines)
        split = split_of(leaf)
        if split is None:
            lines.append([-1, 0, 0, 0, leaf])
            continue
        last = schema[split.column].cardinality - 1
        for k in range(last):
            waiting.append((split.first + k, len(lines), THEN))
            lines.append([split.column, k, 0, len(lines) + 1, leaf])
        waiting.append((split.first + last, len(lines) - 1, OTHERWISE))
    column, state, then, otherwise, at = np.array(lines, dtype=np.int64).T.copy()
    log_prob = np.array([leaves[leaf].log_prob for leaf in at.tolist()])
    return TreeFactor(leaves[root].child, column, state, then, otherwise, log_prob)
