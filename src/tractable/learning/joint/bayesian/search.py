"""Greedy search for a Bayesian network with decision trees as conditional distributions.

Chickering, Heckerman and Meek, «A Bayesian Approach to Learning Bayesian Networks with Local Structure»,
1997.
"""

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.base.progress import State
from tractable.data import Schema, Table
from tractable.learning.joint.bayesian.rows import Codes, coded_rows
from tractable.learning.statistics.conditionals import pseudo_counts
from tractable.learning.statistics.estimates import LEAST_SMOOTHING
from tractable.networks import Network, TreeFactor

# ---- the trees of a Bayesian network, whose leaves are split into one leaf for each state of a column ----


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


ROUNDING = 1e-9  # nats a row below which a gain may be rounding error


class Candidates(NamedTuple):
    """Possible next splits; the arrays have one entry for each."""

    leaf: Ints
    column: Ints
    gain: Floats


class TreeSearch:
    """A decision tree for each column, grown by one split at a time from a single leaf.

    A split replaces a leaf by one leaf for each state of a column. Its gain is the exact change of the
    training log-likelihood under smoothed probabilities, over the rows in which the child and the column are
    both observed, minus the penalty. The gain is constant, because other splits do not affect the leaf, but
    the split may become invalid, because parents must not form a cycle. Rows in which the column is missing
    are in none of the new leaves.

    Leaves are numbered in order of creation: leaf c is initially the whole tree of column c.

        search = TreeSearch(table, smoothing=1.0, split_penalty=0.1)
        while (best := search.best()) is not None:
            leaf, column, gain = best
            for new in search.split(leaf, column):
                ... search.leaf(new).log_prob, search.candidates_of(new) ...
        network = search.network()

    A search with additional costs starts with `candidates()`, adds `candidates_of(leaf)` for each new leaf,
    checks `is_valid` before it uses one (an invalid split never becomes valid again), and calls `split`.
    """

    def __init__(
        self,
        table: Table,
        *,
        smoothing: float = 1.0,
        split_penalty: float = 0.1,
        held_out: Table | None = None,
    ) -> None:
        for variable in table.schema:
            if not variable.is_categorical:
                raise ValueError(
                    f"column '{variable.name}' is {variable.kind}: decision trees support only categorical"
                    " columns"
                )
        self.schema = table.schema
        self.smoothing = max(smoothing, LEAST_SMOOTHING)  # pseudo-counts of each leaf
        self.split_penalty = split_penalty  # nats for each parameter that a split adds; one, if all is binary
        self.splits: list[Split] = []  # in the order in which they were made
        self._leaves: list[Leaf] = []
        self._rows = coded_rows(table)
        self._held_out = coded_rows(held_out if held_out is not None else table.take(slice(0)))
        self._members: dict[int, tuple[Codes, Codes]] = {}  # the rows and held-out rows of each open leaf
        self._candidates: dict[int, tuple[Ints, Floats]] = {}  # the columns and gains of each, best first
        self._queue: list[tuple[float, int, int]] = []  # best first: -gain, open leaf, which candidate it is
        self._leads_to: Bools = np.eye(len(table.schema), dtype=np.bool_)  # ancestor, descendant
        for column in range(len(table.schema)):
            members = (self._rows.seen(column), self._held_out.seen(column))
            self._add_leaf(column, (), (), members, self._worthwhile)

    def __len__(self) -> int:
        """The number of leaves, including those that were split."""
        return len(self._leaves)

    def leaf(self, number: int) -> Leaf:
        """A leaf, possibly one that was split."""
        return self._leaves[number]

    def open_leaves(self) -> list[int]:
        """The leaves that have not been split."""
        return list(self._members)

    def candidates(self) -> Candidates:
        """All valid splits with a positive gain."""
        candidates = [self.candidates_of(leaf) for leaf in self._members]
        leaf = np.repeat(list(self._members), [columns.size for columns, _ in candidates])
        return Candidates(
            leaf, np.concatenate([c for c, _ in candidates]), np.concatenate([g for _, g in candidates])
        )

    def candidates_of(self, leaf: int) -> tuple[Ints, Floats]:
        """The columns with a positive gain for an open leaf, best first, and the gains."""
        columns, gains = self._candidates[leaf]
        valid = ~self._leads_to[self._leaves[leaf].child, columns]
        return columns[valid], gains[valid]

    def gain(self, leaf: int, column: int) -> float:
        """The gain of splitting an open leaf on a column, which may be negative."""
        columns, gains = self._candidates[leaf]
        at = np.flatnonzero(columns == column)
        return float(gains[at[0]] if at.size else self._gains(leaf)[column])

    def is_valid(self, leaf: int, column: int) -> bool:
        """Whether a leaf may be split on a column.

        It must be open, the column not on its path, its child no ancestor of the column, and there must be
        at least two states.
        """
        here = self._leaves[leaf]
        free = leaf in self._members and column not in here.columns
        return free and not self._leads_to[here.child, column] and self.schema[column].cardinality > 1

    def best(self) -> tuple[int, int, float] | None:
        """The leaf, column and gain of the best valid split, or None if no split has a positive gain."""
        while self._queue:
            _, leaf, number = self._queue[0]
            if leaf in self._members:
                columns, gains = self._candidates[leaf]
                if self.is_valid(leaf, int(columns[number])):
                    return leaf, int(columns[number]), float(gains[number])
            heappop(self._queue)
            self._enqueue(leaf, number + 1)
        return None

    def split(self, leaf: int, column: int) -> range:
        """Split a leaf; returns the new leaves, one for each state of the column.

        Raises:
            ValueError: if the split is not valid.
        """
        if not self.is_valid(leaf, column):
            raise ValueError(f"leaf {leaf} cannot be split on column '{self.schema[column].name}'")
        return self._divide(leaf, column, self.gain(leaf, column), self._worthwhile)

    def repeat_split(self, leaf: int, column: int) -> None:
        """Repeat a split of an earlier run without its gains, which `recall` restores."""
        self._divide(leaf, column, 0.0, _no_candidates)

    def memory(self) -> State:
        """The gains of all splits, and the candidates of open leaves."""
        candidates = [self._candidates[leaf] for leaf in self._members]
        columns = np.concatenate([np.zeros(0, dtype=np.int64), *(c for c, _ in candidates)])
        gains = np.concatenate([np.zeros(0), *(g for _, g in candidates)])
        return [[split.gain for split in self.splits], [c.size for c, _ in candidates], columns, gains]

    def recall(self, memory: State) -> None:
        """Restore the gains of repeated splits and the candidates of open leaves."""
        made, sizes, columns, gains = memory
        self.splits = [split._replace(gain=gain) for split, gain in zip(self.splits, made, strict=True)]
        ends = np.cumsum(sizes)[:-1]
        candidates = zip(np.split(columns, ends), np.split(gains, ends), strict=True)
        self._candidates = dict(zip(self._members, candidates, strict=True))
        self._queue = []
        for leaf in self._members:
            self._enqueue(leaf, 0)

    def _divide(
        self, leaf: int, column: int, gain: float, candidates: Callable[[int], tuple[Ints, Floats]]
    ) -> range:
        """Split a leaf; `candidates` computes those of the new leaves."""
        here = self._leaves[leaf]
        if not self._leads_to[column, here.child]:
            self._leads_to |= np.outer(self._leads_to[:, column], self._leads_to[here.child])
        rows, held_out = self._members.pop(leaf)
        del self._candidates[leaf]
        first = len(self._leaves)
        parts = zip(self._rows.parts(rows, column), self._held_out.parts(held_out, column), strict=True)
        for state, members in enumerate(parts):
            self._add_leaf(here.child, (*here.columns, column), (*here.states, state), members, candidates)
        new = range(first, len(self._leaves))
        self.splits.append(Split(leaf, column, gain, self._held_out_gain(leaf, new), first))
        return new

    def network(self, splits: int | None = None) -> Network:
        """The network after a number of splits, or after all of them."""
        made = {split.leaf: split for split in self.splits[:splits]}
        columns = range(len(self.schema))
        trees = [tree_factor(self.schema, column, self._leaves, made.get) for column in columns]
        return Network(self.schema, tuple(trees), "bayes")

    def _add_leaf(
        self,
        child: int,
        columns: tuple[int, ...],
        states: tuple[int, ...],
        members: tuple[Codes, Codes],
        candidates: Callable[[int], tuple[Ints, Floats]],
    ) -> None:
        counts = self._rows.counts(members[0], child)
        smoothed = counts + self._leaf_pseudo_counts(child, counts)
        leaf = len(self._leaves)
        self._leaves.append(Leaf(child, columns, states, counts, np.log(smoothed / smoothed.sum())))
        self._members[leaf] = members
        self._candidates[leaf] = candidates(leaf)
        self._enqueue(leaf, 0)

    def _enqueue(self, leaf: int, number: int) -> None:
        """Put an open leaf into the queue with its next candidate, if there is one."""
        if leaf in self._members and number < self._candidates[leaf][1].size:
            heappush(self._queue, (-float(self._candidates[leaf][1][number]), leaf, number))

    def _worthwhile(self, leaf: int) -> tuple[Ints, Floats]:
        """The columns and gains of the valid splits of a leaf with positive gains, best first."""
        here = self._leaves[leaf]
        least = ROUNDING * here.counts.sum()
        # No split can make more of the rows than certain: small and clear leaves need no counting.
        if -(here.counts @ here.log_prob) - self.split_penalty <= least:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        gains = self._gains(leaf)
        gains[self._leads_to[here.child] | (self.schema.cardinalities < 2)] = 0.0
        gains[list(here.columns)] = 0.0
        columns = np.flatnonzero(gains > least)
        columns = columns[np.argsort(-gains[columns], kind="stable")]
        return columns, gains[columns]

    def _gains(self, leaf: int) -> Floats:
        """The gain of splitting an open leaf on each column. Shape (columns,)."""
        child = self._leaves[leaf].child
        rows, (members, _) = self._rows, self._members[leaf]
        pseudo = self._pseudo_counts(child)
        gains = rows.split_gains(members, child, pseudo, pseudo)
        states = self.schema.cardinalities
        return gains - self.split_penalty * (states - 1) * (states[child] - 1)

    def _pseudo_counts(self, child: int) -> Floats:
        """The pseudo-counts of a column's states in a leaf."""
        states = self.schema[child].cardinality
        return np.full(states, self.smoothing / states)

    def _leaf_pseudo_counts(self, child: int, counts: Floats) -> Floats:
        """The pseudo-counts of a leaf with these counts: of ordered states they lie near the rows."""
        even = self._pseudo_counts(child)
        if self.schema[child].kind != "ordinal":
            return even
        # Half of what an even distribution would have, for a number may depend on another through a third.
        far = even / (2 * self.smoothing)
        return self.smoothing * pseudo_counts(counts[None, :], far, ordered=True, ordered_parent=False)[0]

    def _held_out_gain(self, leaf: int, new: range) -> float:
        """The gain of a split on the held-out rows."""
        here = self._leaves[leaf]
        return sum(
            float(
                self._held_out.counts(self._members[part][1], here.child)
                @ (self._leaves[part].log_prob - here.log_prob)
            )
            for part in new
        )


def _no_candidates(leaf: int) -> tuple[Ints, Floats]:
    return np.zeros(0, dtype=np.int64), np.zeros(0)
