"""What is known of the nodes that a change makes: rows go down, and scores go up.

When the rows of a sum are divided by a condition, both copies together have twice its size and a correction,
which is below zero: a copy is smaller where states that it cannot have are dismissed. Each sum has its own
part, for the conditions of its column, and its corrections are the total of everything below it.
"""

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.compiled import inner, kernel, njit
from tractable.learning.joint.selective.copying import Plan
from tractable.learning.joint.selective.nodes import SUM_EDGE, Arrays, joined_size
from tractable.learning.joint.selective.rows import conditioning_gains, count_conditions, x_log_x
from tractable.learning.joint.selective.smoothing import Smoothing, restrict, smooth, use_weights


@kernel
def pass_rows(tree: Arrays, made: Ints, used: int) -> int:
    """Pass the rows of the first node down; returns the number of entries used, or -1 without room."""
    for i in made[1:]:
        node, above = tree.nodes[i], tree.nodes[tree.nodes[i].parent]
        node.first_row, node.rows, node.all_rows = above.first_row, above.rows, above.all_rows
        if above.column >= 0:
            if used + above.all_rows > tree.row.size:
                return -1
            node.first_row, node.rows = used, 0
            for r in range(above.first_row, above.first_row + above.all_rows):
                row = tree.row[r]
                if tree.branch[above.first_state + tree.cells.codes[above.column, row]] == node.edge:
                    tree.row[used] = row
                    used += 1
                    node.rows += row < tree.cells.training
            node.all_rows = used - node.first_row
    return used


@kernel
def count_edges(tree: Arrays, listed: Ints) -> None:
    """The weight of the rows on each edge of each sum."""
    for i in listed:
        node = tree.nodes[i]
        if node.column < 0 or node.edges == 0:
            continue
        for e in range(node.first_edge, node.first_edge + node.edges):
            tree.counts[e], tree.held[e] = 0.0, 0.0
        for r in range(node.all_rows):
            row = tree.row[node.first_row + r]
            e = tree.branch[node.first_state + tree.cells.codes[node.column, row]]
            if e >= 0 and r < node.rows:
                tree.counts[node.first_edge + e] += tree.cells.weight[row]
            elif e >= 0:
                tree.held[node.first_edge + e] += tree.cells.weight[row]


@njit(cache=True, nogil=True)
def score_copies(tree: Arrays, plan: Plan, inherits: bool, smoothing: Smoothing) -> None:
    """The priors of copied sums, and their own part of both log-likelihoods, which others leave at zero.

    Sums are shrunk towards the smoothed weights of their origins if they inherit those, and otherwise towards
    what these are shrunk to.
    """
    ways, most = smoothing.even.size, tree.cells.most_states
    model, smoothed = np.empty((most, ways)), np.empty((most, ways))
    for i in range(plan.node.size):
        number, origin = plan.node[i], plan.origin[i]
        node = tree.nodes[number]
        node.log_likelihood = 0.0
        for way in range(ways):
            tree.held_out[number, way] = 0.0
        if origin < 0 or node.column < 0:
            continue
        for s in range(node.states):
            for way in range(ways):
                model[s, way] = tree.prior[tree.nodes[origin].first_state + s, way]
        if inherits and tree.nodes[origin].edges > 0:
            smooth(tree, origin, model, smoothing, smoothed)
            use_weights(tree, origin, smoothed, model)
        restrict(tree, number, model)
        node.log_likelihood = _log_likelihood(tree.counts[node.first_edge : node.first_edge + node.edges])
        _score_held_out(tree, number, smoothing, smoothed)


@inner
def _score_held_out(tree: Arrays, number: int, smoothing: Smoothing, weights: Floats) -> None:
    """Score the weights of a sum, for which there is room, on the validation rows."""
    node, any_held = tree.nodes[number], 0.0
    for e in range(node.first_edge, node.first_edge + node.edges):
        any_held += tree.held[e]
    if any_held > 0.0:
        smooth(tree, number, tree.prior[node.first_state :], smoothing, weights)
        for e in range(node.edges):
            held = tree.held[node.first_edge + e]
            for way in range(weights.shape[1] if held > 0.0 else 0):
                tree.held_out[number, way] += held * np.log(weights[e, way])


@inner
def _log_likelihood(counts: Floats) -> float:
    """Of counts under their own relative frequencies."""
    answer, total = 0.0, 0.0
    for x in counts:
        answer += x_log_x(x)
        total += x
    return answer - x_log_x(total)


@kernel
def add_up(tree: Arrays, plan: Plan) -> None:
    """Add what is known of children to what is known of their parents, and find the sizes.

    Numbers are always added in the same order, since the last digit decides between equal gains.
    """
    for i in range(plan.node.size - 1, -1, -1):
        number, is_copy = plan.node[i], plan.origin[i] >= 0
        node = tree.nodes[number]
        node.size = size_alone(tree, number)
        for e in range(node.edges if node.nodes > 1 else 0):
            child = tree.child[node.first_edge + (node.edges - 1 - e if is_copy else e)]
            node.size += tree.nodes[child].size
            node.log_likelihood += tree.nodes[child].log_likelihood
            for way in range(tree.held_out.shape[1]):
                tree.held_out[number, way] += tree.held_out[child, way]


@inner
def size_alone(tree: Arrays, node: int) -> int:
    """The packed size of the edges of a node."""
    return tree.nodes[node].edges * (SUM_EDGE if tree.nodes[node].column >= 0 else 1)


@njit(cache=True, nogil=True)
def fill_lines(tree: Arrays, plan: Plan) -> None:
    """What dividing the rows of each sum, with those below it, by each condition would gain."""
    conditions = tree.gain.shape[1]
    room = np.empty((conditions + 2) * tree.cells.most_states)
    for i in range(plan.node.size - 1, -1, -1):
        node = tree.nodes[plan.node[i]]
        gain = tree.gain[node.line]
        if node.line == 0:
            continue
        for k in range((conditions + 2) * node.edges):
            room[k] = 0.0
        for s in range(conditions):
            gain[s] = 0.0
        if node.rows > 0:
            table = room[: (conditions + 2) * node.edges].reshape(conditions + 2, node.edges)
            branch = tree.branch[node.first_state : node.first_state + node.states]
            rows = tree.row[node.first_row : node.first_row + node.rows]
            count_conditions(tree.cells, rows, node.column, branch, table)
            conditioning_gains(table, gain)
        below = gain if plan.origin[i] >= 0 else room[:conditions]  # as in `add_up`
        for s in range(conditions):
            room[s] = 0.0
        for e in range(node.edges if node.nodes > 1 else 0):
            add_gains(tree, tree.child[node.first_edge + e], below)
        for s in range(conditions):
            gain[s] += room[s]


@kernel
def add_gains(tree: Arrays, number: int, gain: Floats) -> None:
    """Add the gains of a sum, or of all factors of a product."""
    node = tree.nodes[number]
    for e in range(1 if node.column >= 0 else node.edges):
        line = node.line if node.column >= 0 else tree.nodes[tree.child[node.first_edge + e]].line
        for s in range(gain.size if line > 0 else 0):
            gain[s] += tree.gain[line, s]


@kernel
def correct_sums(tree: Arrays, made: Ints) -> None:
    """The own part of the corrections of new sums."""
    for i in made:
        node = tree.nodes[i]
        if node.column >= 0:
            first, last = _conditions_of(tree, node.column)
            for s in range(first, last):
                tree.own[node.first_state + s - first] = _own_correction(tree, i, s)


@inner
def _conditions_of(tree: Arrays, column: int) -> tuple[int, int]:
    return tree.cells.conditions.first[column], tree.cells.conditions.first[column + 1]


@inner
def _own_correction(tree: Arrays, number: int, condition: int) -> int:
    """What a sum itself adds to its corrections.

    The copy of a decision that keeps the state has a single child left and is replaced by it. The other copy
    loses that child if it has no other state.
    """
    node, size = tree.nodes[number], tree.nodes[number].size
    e = tree.branch[node.first_state + tree.cells.conditions.state[condition]]
    if e < 0 or node.edges == 0:
        return 0
    if node.nodes == 1:
        return ((node.edges - 1 if node.edges > 2 else 0) - 2 * node.edges) * SUM_EDGE
    states = 0
    for s in range(node.first_state, node.first_state + node.states):
        states += tree.branch[s] == e
    child = tree.child[node.first_edge + e]
    kept = tree.nodes[child].size
    both = kept - joined_size(tree, node.parent, child) + size
    if states == 1:
        both -= kept + SUM_EDGE
        if node.edges == 2:
            both -= SUM_EDGE + joined_size(tree, node.parent, tree.child[node.first_edge + 1 - e])
    return both - 2 * size


@kernel
def add_corrections(tree: Arrays, listed: Ints, sign: int, answer: Ints) -> None:
    """Add the own corrections of some nodes, or subtract them."""
    for i in listed:
        node = tree.nodes[i]
        if node.column >= 0:
            first, last = _conditions_of(tree, node.column)
            for s in range(first, last):
                answer[s] += sign * tree.own[node.first_state + s - first]


@kernel
def update_above(
    tree: Arrays, number: int, log_likelihood: float, held_out: Floats, gain: Floats, correction: Ints
) -> None:
    """Add what a change gains to what is known of the nodes above it; corrections change on the way up."""
    while number >= 0:
        node = tree.nodes[number]
        node.log_likelihood += log_likelihood
        for way in range(held_out.size):
            tree.held_out[number, way] += held_out[way]
        node.size, node.nodes = size_alone(tree, number), 1
        for e in range(node.first_edge, node.first_edge + node.edges):
            node.size += tree.nodes[tree.child[e]].size
            node.nodes += tree.nodes[tree.child[e]].nodes
        if node.column >= 0:
            for s in range(gain.size):
                tree.gain[node.line, s] += gain[s]
            first, last = _conditions_of(tree, node.column)
            for s in range(first, last):
                own = _own_correction(tree, number, s)
                correction[s] += own - tree.own[node.first_state + s - first]
                tree.own[node.first_state + s - first] = own
            for s in range(correction.size if node.total > 0 else 0):
                tree.correction[node.total, s] += correction[s]
        number = node.parent
