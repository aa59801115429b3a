"""The best split of each product of a selective tree."""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.compiled import inner, njit
from tractable.learning.joint.selective.nodes import HALF, SUM_EDGE, Arrays
from tractable.learning.joint.selective.rows import NOTHING, count_conditions, x_log_x
from tractable.learning.joint.selective.tree import SelectiveTree

TIE = 1e-10  # relative difference below which two scores are equal


class Split(NamedTuple):
    """A split: the arguments of `SelectiveTree.split`, what the score would gain, and the edges to add."""

    product: int
    first: int
    second: int
    column: int
    state: int
    score: float
    edges: int


class TieRule(NamedTuple):
    """Which of several splits with the same score is made."""

    preference: Floats  # (conditions,)
    promise: float  # how much the gain of all factors of a product counts beside the preference


class Price(NamedTuple):
    """What size costs."""

    penalty: float  # nats for each unit of inference cost
    least: float  # what a change must gain: less may be rounding error
    edges: float  # that a change may add, at most
    ties: TieRule


class Factors(NamedTuple):
    """The factors of a product that can be split, and the conditions of their columns."""

    factors: Ints  # (factors,) of those over a single state, which are all alike, one at the end
    conditions: Ints  # in the order of the factors
    factor_of: Ints  # (conditions,) the factor that each belongs to
    counts: Floats  # (conditions + 1,) the weight of the rows that meet each condition, and of all rows


def find_factors(tree: SelectiveTree, product: int) -> Factors:
    """What is known of a product until it has other factors."""
    children = np.array(tree.children(product))
    has_line = tree.nodes["line"][children] > 0
    several = children[has_line]
    conditions = [tree.conditions_of(child) for child in several.tolist()]
    for child in several.tolist():
        tree.know_correction(child)
    listed = np.concatenate([NOTHING, *conditions])
    counts, one_edge = (
        np.zeros((tree.conditions.column.size + 2, 1)),
        np.zeros(tree.states[0], dtype=np.int32),
    )
    count_conditions(tree.arrays.cells, tree.rows_of(product), 0, one_edge, counts)
    return Factors(
        np.concatenate([several, children[~has_line][:1]]),
        listed,
        np.repeat(several, [part.size for part in conditions]),
        counts[np.append(listed, counts.shape[0] - 2), 0],
    )


def best_split(
    tree: SelectiveTree, product: int, factors: Factors, price: Price
) -> tuple[Split | None, float]:
    """The split of a product that gains most, if one gains at all, and the fewest edges of a better one."""
    if factors.factors.size < 2:
        return None, np.inf
    answer = np.array([price.least, -1.0, -1.0, 0.0, np.inf])
    _score_splits(tree.arrays, product, factors, price, answer)
    score, place, second, edges, needed = answer.tolist()
    if place < 0:
        return None, needed
    condition = factors.conditions[int(place)]
    column, state = int(tree.conditions.column[condition]), int(tree.conditions.state[condition])
    first = int(factors.factor_of[int(place)])
    return Split(product, first, int(second), column, state, score, int(edges)), needed


@njit(cache=True, nogil=True)
def _score_splits(tree: Arrays, product: int, factors: Factors, price: Price, answer: Floats) -> None:
    """Find the best split of a product.

    `answer` is what the score must gain at least, and becomes what it gains, the place of the condition, the
    other factor, the edges that are added, and the fewest edges of those splits that are as good or better,
    but add too many.
    """
    many, best = factors.conditions.size, -1
    total = factors.counts[many]
    fixed = np.empty(many)  # what the condition's own factor gains
    promise = np.empty(many)  # two columns often gain the same by each other, and then this decides
    cost, edges = np.empty(many), np.empty(many)
    for i in range(many):
        s, x, mine = factors.conditions[i], factors.counts[i], factors.factor_of[i]
        grown = _grown_size(tree, product, mine, s)
        sums = (grown + HALF) >> 32
        edges[i] = grown - (sums << 32) + sums
        cost[i] = edges[i] + sums
        promise[i] = price.ties.preference[s]
        fixed[i] = -np.inf
        if 0.0 < x < total:
            gain = tree.gain[tree.nodes[mine].line, s]
            fixed[i] = x_log_x(x) + x_log_x(total - x) - x_log_x(total) + gain
    for other in factors.factors:
        for i in range(many):
            promise[i] += price.ties.promise * tree.gain[tree.nodes[other].line, factors.conditions[i]]
    for other in factors.factors:
        size, line = tree.nodes[other].size, tree.nodes[other].line
        sums = (size + HALF) >> 32
        more = size - (sums << 32) + sums
        for i in range(many):
            gain = fixed[i] + tree.gain[line, factors.conditions[i]]
            score, close = gain - price.penalty * (cost[i] + more + sums), TIE * abs(answer[0])
            if score < answer[0] - close or factors.factor_of[i] == other:
                continue
            if edges[i] + more > price.edges:
                answer[4] = min(answer[4], edges[i] + more)
            elif score > answer[0] + close or (best >= 0 and promise[i] > promise[best]):
                best = i
                answer[0], answer[1], answer[2], answer[3] = score, i, other, edges[i] + more


@inner
def _grown_size(tree: Arrays, product: int, factor: int, condition: int) -> int:
    """The size that a split adds but for the other factor: copies of the first one, and what is above them.

    That is a decision between two products of two factors. If there are no others, it replaces the product.
    """
    node, conditions, above = tree.nodes[factor], tree.cells.conditions, tree.nodes[product].parent
    column = conditions.column[condition]
    if node.total > 0:
        size = node.size + tree.correction[node.total, condition]
    else:
        size = node.size + tree.own[node.first_state + condition - conditions.first[column]]
    if tree.nodes[product].edges > 2:
        return size + 2 * SUM_EDGE + 3
    is_joined = above >= 0 and tree.nodes[above].column == column  # to the decision above
    return size + (1 if is_joined else 2) * SUM_EDGE + 2
