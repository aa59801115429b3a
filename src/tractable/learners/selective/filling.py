"""What is known of the nodes of a copy, counted for all of them at once.

`Forming` makes single nodes and knows the same of them, one after the other.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.learners.selective.filling_kernels import (
    Nodes,
    Old,
    Passed,
    Slotted,
    Smoothed,
    add_up,
    add_up_lines,
    count_edges,
    gain_lines,
    pass_rows,
    score_sums,
)
from tractable.learners.selective.forming import Forming
from tractable.learners.selective.kernels import Codes, Scores
from tractable.learners.selective.nodes import Decision, Marginal, Node, Product, Reach, Sum, walk
from tractable.learners.selective.rows import CodedRows


def fill(
    forming: Forming, top: Node, originals: Mapping[Node, Sum], reach: Reach, *, inherits_counts: bool
) -> None:
    """Count what is known of a node and of all nodes below it, which certain rows reach.

    Each sum is shrunk towards its original: its smoothed weights, or only what these are shrunk to.
    """
    nodes = list(walk([top]))
    arrays = _arrays(nodes, forming)
    old = _old(nodes, originals, forming, inherits_counts=inherits_counts)
    passed = [
        _Passed(arrays, rows, chosen)
        for rows, chosen in zip((forming.rows, forming.valid), reach, strict=True)
    ]
    many, ways = len(nodes), forming.smoothing.ways
    prior = np.zeros(arrays.state_start[-1] * ways)
    scored = Smoothed(prior, np.zeros((many, ways)), np.zeros(many), np.zeros(many, dtype=np.int64))
    even, inherited = forming.smoothing.even, forming.smoothing.inherited
    score_sums(arrays, old, np.stack([even, inherited]), passed[0].counts, passed[1].counts, scored)
    add_up(arrays, scored)
    line, own = _lines(forming, arrays, passed[0], scored)
    _hand_out(nodes, arrays, passed, scored, line)
    _hand_out_corrections(nodes, arrays, forming, own)


class _Passed:
    """Rows on their way down."""

    def __init__(self, arrays: Nodes, rows: CodedRows, chosen: Codes) -> None:
        self.pool, self.bounds = pass_rows(arrays, rows.codes, chosen)
        self.counts: Floats = np.zeros(arrays.edge_start[-1])
        count_edges(arrays, rows.codes, rows.weights, self.pool, self.bounds, self.counts)


def _arrays(nodes: Sequence[Node], forming: Forming) -> Nodes:
    """The structure of nodes, parents first."""
    place = {node: i for i, node in enumerate(nodes)}
    cardinality = forming.states.tolist()
    column, parent, child, branch = [], [-1] * len(nodes), [], []
    edges, states, children = [0], [0], [0]
    for i, node in enumerate(nodes):
        if not isinstance(node, Marginal):
            below = [place[each] for each in node.children]
            for each in below:
                parent[each] = i
            child.extend(below)
        children.append(len(child))
        if isinstance(node, Product):
            column.append(-1)
        else:
            column.append(node.column)
            branch.extend(_branches(node, cardinality[node.column]))
        edges.append(0 if isinstance(node, Product) else _edge_count(node))
        states.append(len(branch))
    return Nodes(
        _codes(column),
        _codes(parent),
        _codes(children),
        _codes(child),
        np.array(list(accumulate(edges)), dtype=np.int64),
        np.array(states, dtype=np.int64),
        _codes(branch),
    )


def _codes(numbers: Sequence[int]) -> Codes:
    return np.array(numbers, dtype=np.int32)


def _edge_count(node: Sum) -> int:
    """The number of edges with weights; a marginal over a single state has none."""
    if isinstance(node, Decision):
        return len(node.children)
    return len(node.states) if len(node.states) > 1 else 0


def _branches(node: Sum, states: int) -> list[int]:
    """The edge that each state of the column belongs to; -1 if none."""
    answer = [-1] * states
    if isinstance(node, Marginal):
        for edge, state in enumerate(node.states):
            answer[state] = edge
        return answer
    for edge, part in enumerate(node.parts):
        for state in part:
            answer[state] = edge
    return answer


def _old(
    nodes: Sequence[Node], originals: Mapping[Node, Sum], forming: Forming, *, inherits_counts: bool
) -> Old:
    """What the sums are shrunk towards."""
    cardinality = forming.states.tolist()
    found = [originals[node] for node in nodes if not isinstance(node, Product)]
    edges = [0 if isinstance(n, Product) or not inherits_counts else originals[n].counts.size for n in nodes]
    return Old(
        np.concatenate([node.prior.ravel() for node in found]),
        np.concatenate([np.zeros(0), *(node.counts for node in found if inherits_counts)]),
        np.array([0, *accumulate(edges)], dtype=np.int64),
        np.array([x for n in found for x in _branches(n, cardinality[n.column])], dtype=np.int32),
    )


def _lines(forming: Forming, arrays: Nodes, passed: _Passed, scored: Smoothed) -> tuple[Ints, Ints]:
    """Take lines for the sums and fill them; each sum's line, and its own part of the corrections."""
    lines, slots = forming.lines, forming.slots
    line: Ints = np.zeros(arrays.column.size, dtype=np.int64)
    has_line = np.diff(arrays.edge_start) > 0
    line[has_line] = lines.take_many(int(has_line.sum()))
    own: Ints = np.zeros(arrays.branch.size, dtype=np.int64)
    scores = Scores(lines.gain, lines.correction, lines.size, np.zeros(0))
    rows = Passed(passed.pool, passed.bounds, forming.rows.codes)
    slotted = Slotted(slots.state, slots.first)
    gain_lines(arrays, lines.gain, line, rows, forming.entries)
    add_up_lines(arrays, scores, line, slotted, scored.size, own)
    return line, own


def _hand_out(
    nodes: Sequence[Node],
    arrays: Nodes,
    passed: Sequence[_Passed],
    scored: Smoothed,
    line: Ints,
) -> None:
    """Tell each node what is known of it, and who its parent is."""
    ways = scored.held_out.shape[1]
    (rows, valid), counts = (p.pool for p in passed), passed[0].counts
    places = zip(passed[0].bounds.tolist(), passed[1].bounds.tolist(), strict=True)
    edge, state = arrays.edge_start.tolist(), arrays.state_start.tolist()
    known = zip(scored.log_likelihood.tolist(), scored.size.tolist(), line.tolist(), strict=True)
    for i, (node, at, (log_likelihood, size, its_line)) in enumerate(zip(nodes, places, known, strict=True)):
        (low, high), (first, last) = at
        node.rows, node.valid = rows[low:high], valid[first:last]
        node.held_out, node.log_likelihood, node.size = scored.held_out[i], log_likelihood, size
        if not isinstance(node, Marginal):
            for child in node.children:
                child.parent = node
        if isinstance(node, Product):
            continue
        node.prior = scored.prior[ways * state[i] : ways * state[i + 1]].reshape(ways, -1)
        node.counts, node.line = counts[edge[i] : edge[i + 1]], its_line


def _hand_out_corrections(nodes: Sequence[Node], arrays: Nodes, forming: Forming, own: Ints) -> None:
    """Tell each decision its own part of its corrections."""
    slots, state = np.diff(forming.slots.first).tolist(), arrays.state_start.tolist()
    for i, node in enumerate(nodes):
        if isinstance(node, Decision):
            node.own = own[state[i] : state[i] + slots[node.column]]
