"""The best merge of each decision of a selective tree."""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.base.compiled import inner, kernel, njit
from tractable.learning.joint.selective.nodes import (
    HALF,
    SUM_EDGE,
    Arrays,
    count_sums,
    joined_size,
    list_nodes,
)
from tractable.learning.joint.selective.rows import Codes, count_conditions, x_log_x
from tractable.learning.joint.selective.smoothing import log_likelihood
from tractable.learning.joint.selective.splits import Price
from tractable.learning.joint.selective.tree import Change, SelectiveTree

NO_PATH: Ints = np.zeros((0, 2), dtype=np.int64)


class Merge(NamedTuple):
    """A merge: the arguments of `SelectiveTree.merge`, what the score would gain, and the edges to add."""

    decision: int
    kept: int
    dropped: int
    score: float
    edges: int  # less than zero, usually


class Merges:
    """The merges of one decision: what the log-likelihood gains when one child takes over another one's rows.

    Above a decision of the same column no merge is allowed, and gains are computed only when that is gone.
    `former` are the merges of a decision that this one has replaced, and that had some of its children.
    """

    def __init__(self, tree: SelectiveTree, decision: int, former: "Merges | None" = None) -> None:
        self._tree, self._decision, self._column = tree, decision, int(tree.nodes["column"][decision])
        children = tree.children(decision)
        self._gain: Floats = np.zeros((len(children), len(children)))  # the child kept, the child dropped
        np.fill_diagonal(self._gain, -np.inf)
        sums: Ints = np.zeros((len(children), 2, tree.states.size), dtype=np.int64)
        for child, found in zip(children, sums, strict=True):
            count_sums(tree.arrays, list_nodes(tree.arrays, child), 1, found)
        self._marginals = sums[:, 0, self._column].copy()  # of the decision's column below each child
        self._rivals = int(sums[:, 1, self._column].sum())  # decisions of the same column below
        if not self._rivals:
            self._fill(former)

    def follow(self, change: "Passed", place: int) -> None:
        """Take note of a change below the child of that number."""
        was_known = not self._rivals
        self._marginals[place] += change.sums[0, self._column]
        self._rivals += int(change.sums[1, self._column])
        if not self._rivals and was_known:
            self._gain[:, place] -= change.gain
            change.add_extra_gains(self._decision, place, self._gain[place])
        elif not self._rivals:
            self._fill()

    def best(self, price: Price) -> tuple[Merge | None, float]:
        """The merge that gains most, if one gains at all, and the fewest edges of a better one.

        A merge may add many edges: the kept child gets the other one's states wherever it has the column.
        """
        if self._rivals:
            return None, np.inf
        answer = np.array([-np.inf, 0.0, 0.0, 0.0, np.inf])
        _score_merges(self._tree.arrays, self._decision, self._gain, self._marginals, price, answer)
        score, kept, dropped, edges, needed = answer.tolist()
        is_better = score > price.least
        return Merge(
            self._decision, int(kept), int(dropped), score, int(edges)
        ) if is_better else None, needed

    def _fill(self, former: "Merges | None" = None) -> None:
        """Compute all gains from counts of rows, but those of children that `former` had already."""
        tree, children = self._tree, self._tree.children(self._decision)
        before = np.full(len(children), -1)
        if former is not None and not former._rivals:
            places = {child: place for place, child in enumerate(tree.children(former._decision))}
            before[:] = [places.get(child, -1) for child in children]
            had = np.flatnonzero(before >= 0)
            self._gain[np.ix_(had, had)] = former._gain[np.ix_(before[had], before[had])]
        is_new = (before[:, None] < 0) | (before < 0)
        np.fill_diagonal(is_new, False)
        first, added = tree.nodes["first_edge"][self._decision], np.zeros(is_new.shape)
        counts = tree.arrays.counts[first : first + before.size]
        _find_added(tree.arrays, self._decision, NO_PATH, np.array(children), counts, is_new, added)
        for kept, dropped in np.argwhere(is_new).tolist():
            lost = log_likelihood(counts[[kept, dropped]])
            below = tree.nodes["log_likelihood"][children[dropped]]
            self._gain[kept, dropped] = added[kept, dropped] - lost - below


class Passed:
    """A change of the tree as the decisions above it see it, which are passed one after another."""

    def __init__(self, tree: SelectiveTree, change: Change) -> None:
        known, new, above = tree.nodes["log_likelihood"], change.new, change.parent
        self._tree, self._new_and_old = tree, np.array([new, *change.old])
        is_factor = above >= 0 and tree.nodes["column"][above] < 0
        rows = tree.rows_of(above if is_factor else new)  # a product may have been joined to its parent
        self._weights = np.full(self._new_and_old.size, tree.arrays.cells.weight[rows].sum())
        self.gain = float(known[new]) - sum(known[change.old].tolist())
        self.sums: Ints = np.zeros((2, tree.states.size), dtype=np.int64)  # more marginals, more decisions
        count_sums(tree.arrays, change.after, 1, self.sums)
        count_sums(tree.arrays, change.before, -1, self.sums)
        self._path: list[tuple[int, int]] = []  # decisions, and which of their edges leads to the change

    def pass_decision(self, decision: int, place: int) -> None:
        """Go up past a decision, whose child of that number the change is below."""
        self._path.append((decision, place))

    def add_extra_gains(self, decision: int, place: int, gain: Floats) -> None:
        """What the change would gain in addition if the rows of other children of a decision reached it."""
        wanted = np.ones((self._new_and_old.size, gain.size), dtype=np.bool_)
        wanted[:, place] = False
        path, added = np.array(self._path, dtype=np.int64).reshape(-1, 2), np.zeros(wanted.shape)
        _find_added(self._tree.arrays, decision, path, self._new_and_old, self._weights, wanted, added)
        gain += added[0] - added[1:].sum(axis=0)


@njit(cache=True, nogil=True)
def _find_added(
    tree: Arrays, decision: int, path: Ints, tops: Ints, weights: Floats, wanted: Bools, added: Floats
) -> None:
    """What the rows of each child of a decision that follow a path add to some nodes, where that is wanted.

    `wanted` and `added` are (nodes, children). Each node is reached by rows of some weight already.
    """
    first = tree.nodes[decision].first_edge
    for j in range(wanted.shape[1]):
        child = tree.nodes[tree.child[first + j]]
        rows, many = np.empty(child.rows, dtype=np.int32), 0
        for r in range(child.first_row, child.first_row + child.rows):
            rows[many] = tree.row[r]
            many += _follows(tree, path, tree.row[r])
        for i in range(wanted.shape[0]):
            if wanted[i, j]:
                added[i, j] = added_likelihood(tree, tops[i], weights[i], rows[:many])


@inner
def _follows(tree: Arrays, path: Ints, row: int) -> bool:
    """Whether a row follows certain edges of decisions."""
    for k in range(path.shape[0]):
        decision = tree.nodes[path[k, 0]]
        if tree.branch[decision.first_state + tree.cells.codes[decision.column, row]] != path[k, 1]:
            return False
    return True


@njit(cache=True, nogil=True)
def added_likelihood(tree: Arrays, top: int, reaching: float, more: Codes) -> float:
    """What more training rows add from one node down, at maximum likelihood before and after.

    Only nodes that these rows reach are looked at. The weight of the rows that reach the top without them is
    `reaching`. Every row has an edge of each sum that it reaches.
    """
    cells, most = tree.cells, tree.nodes[top].nodes + 1
    stack, before = np.empty((most, 3), dtype=np.int64), np.empty(most)  # node, range of rows; their weight
    rows, spare, tally = more.copy(), np.empty_like(more), np.empty(2 * cells.most_states)
    met, together = np.empty((tree.gain.shape[1] + 2, 1)), np.zeros(cells.most_states, dtype=np.int32)
    listed = cells.met.size / max(cells.training, 1)  # conditions that a row meets
    answer, shared, height = 0.0, 0.0, 1
    stack[0, 0], stack[0, 1], stack[0, 2], before[0] = top, 0, rows.size, reaching
    while height > 0:
        height -= 1
        (number, low, high), total = stack[height], before[height]
        node, many = tree.nodes[number], high - low
        if node.column >= 0:
            answer += _divide(tree, number, total, rows, spare, tally, low, high)
        counts_conditions = node.column < 0 and node.nodes * many > 2 * (listed * many + met.size)
        if counts_conditions:
            for s in range(met.size):
                met[s, 0] = 0.0
            count_conditions(cells, rows[low:high], max(node.column, 0), together, met)
            shared = x_log_x(total) - x_log_x(total + met[met.size - 2, 0])
        for edge in range(node.edges if node.nodes > 1 else 0):
            child = tree.child[node.first_edge + edge]
            if counts_conditions and tree.nodes[child].nodes == 1:
                if tree.nodes[child].states > 1:
                    answer += shared + _score_conditions(tree, child, total, met)
                continue
            if node.column >= 0:
                low, high = high if edge else low, int(tally[edge])
                total = tree.counts[node.first_edge + edge]
            if low < high:
                stack[height, 0], stack[height, 1], stack[height, 2], before[height] = child, low, high, total
                height += 1
    return answer


@inner
def _counted(tree: Arrays, marginal: int, state: int, total: float) -> float:
    """The weight of the rows of a marginal, in total so much, that have a state."""
    node = tree.nodes[marginal]
    edge = tree.branch[node.first_state + state]
    if edge < 0:
        return 0.0
    return tree.counts[node.first_edge + edge] if node.edges > 0 else total  # of its only state


@inner
def _score_conditions(tree: Arrays, marginal: int, total: float, met: Floats) -> float:
    """What the states of a marginal add, from counts of conditions and of all rows."""
    conditions, column = tree.cells.conditions, tree.nodes[marginal].column
    low, high = conditions.first[column], conditions.first[column + 1]
    answer, more = 0.0, met[met.size - 2, 0]
    if high - low == 1:  # the other one of two states has no condition
        other = _counted(tree, marginal, 1 - conditions.state[low], total)
        answer = x_log_x(other + more - met[low, 0]) - x_log_x(other)
    for s in range(low, high):
        if met[s, 0] > 0.0:
            was = _counted(tree, marginal, conditions.state[s], total)
            answer += x_log_x(was + met[s, 0]) - x_log_x(was)
    return answer


@inner
def _divide(
    tree: Arrays, number: int, total: float, rows: Codes, spare: Codes, tally: Floats, low: int, high: int
) -> float:
    """Order the rows of a sum by its edges; where those of each edge end goes to `tally`. What they add."""
    node, half, weight, more = tree.nodes[number], tally.size // 2, tree.cells.weight, 0.0
    codes, is_decision = tree.cells.codes[node.column], node.nodes > 1
    for c in range(tally.size):
        tally[c] = 0.0
    for i in range(low, high):
        code = codes[rows[i]]
        c = max(tree.branch[node.first_state + code], 0) if is_decision else code
        tally[c] += 1.0
        tally[half + c] += weight[rows[i]]
        more += weight[rows[i]]
    answer, end = x_log_x(total) - x_log_x(total + more), float(low)
    for c in range(half):
        if tally[half + c] > 0.0:
            was = tree.counts[node.first_edge + c] if is_decision else _counted(tree, number, c, total)
            answer += x_log_x(was + tally[half + c]) - x_log_x(was)
        tally[c], end = end, end + tally[c]  # where the rows of an edge begin
    if is_decision:
        for i in range(low, high):
            spare[i] = rows[i]
        for i in range(low, high):
            c = max(tree.branch[node.first_state + codes[spare[i]]], 0)
            rows[int(tally[c])] = spare[i]
            tally[c] += 1.0
    return answer


@kernel
def _score_merges(
    tree: Arrays, decision: int, gain: Floats, marginals: Ints, price: Price, answer: Floats
) -> None:
    """Find the best merge of a decision.

    `answer` becomes what the score gains, the child that is kept, the one that is dropped, the edges that are
    added, and the fewest edges of those merges that are as good or better, but add too many.
    """
    edges = tree.nodes[decision].edges
    for is_known in (False, True):
        for i in range(edges):
            for j in range(edges):
                more = _size_of_merge(tree, decision, i, j, marginals[i])
                sums = (more + HALF) >> 32
                products = more - (sums << 32)
                score = gain[i, j] - price.penalty * (2 * sums + products)
                fits = sums + products <= price.edges
                if not is_known and fits and score > answer[0]:
                    answer[0], answer[1], answer[2], answer[3] = score, i, j, sums + products
                elif is_known and not fits and score > price.least and score >= answer[0]:
                    answer[4] = min(answer[4], sums + products)


@inner
def _size_of_merge(tree: Arrays, decision: int, kept: int, dropped: int, marginals: int) -> int:
    """By how much a merge changes the packed size, usually less than zero."""
    node, few, more = tree.nodes[decision], 0, 0  # states of the child that is kept, and of the other one
    for s in range(node.first_state, node.first_state + node.states):
        few += tree.branch[s] == kept
        more += tree.branch[s] == dropped
    one, other = tree.child[node.first_edge + kept], tree.child[node.first_edge + dropped]
    answer = marginals * (more + few - (few if few > 1 else 0)) * SUM_EDGE - tree.nodes[other].size - SUM_EDGE
    return answer - (SUM_EDGE + joined_size(tree, node.parent, one) if node.edges == 2 else 0)
