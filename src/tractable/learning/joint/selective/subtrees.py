"""Parts of a selective tree as arrays, of which single nodes are made only when they are looked at."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.learning.joint.selective.corrections import add_up_corrections
from tractable.learning.joint.selective.kernels import Codes, Slots
from tractable.learning.joint.selective.nodes import Decision, Inner, Marginal, Node, Product, States
from tractable.learning.joint.selective.shapes import Shape, mark_columns
from tractable.learning.joint.selective.smoothing import branches


class Weights(NamedTuple):
    """What the weights of the sums of a subtree are made of."""

    edge_start: Ints  # (nodes + 1,) products have no edges here, and nor have marginals over a single state
    counts: Floats  # (edges,) of the training rows
    prior: Floats  # (ways of each state of each sum,) a block (ways, states) for each


class Known(NamedTuple):
    """What is known of the nodes of a subtree; see `nodes.Reached`."""

    rows: Codes
    valid: Codes
    row_bounds: Ints  # (nodes, 2) node i is reached by rows[row_bounds[i, 0]:row_bounds[i, 1]]
    valid_bounds: Ints  # (nodes, 2)
    held_out: Floats  # (nodes, ways)
    log_likelihood: Floats  # (nodes,)
    size: Ints  # (nodes,)
    line: Ints  # (nodes,)
    own: Ints  # (states,) that of a sum begins at its `state_start`
    slots: Slots


@dataclass(frozen=True, slots=True, eq=False)
class Subtree:
    """Everything from one node down."""

    shape: Shape
    weights: Weights
    known: Known | None = None  # None if all inner nodes are nodes of their own, and know it themselves

    def lines(self, at: int) -> Ints:
        """The lines of all sums from a node down."""
        assert self.known is not None
        lines: Ints = self.known.line[at : at + self.shape.many[at]]
        return lines[lines > 0]

    def children(self, parent: Inner) -> list[Any]:
        """The children of a node as nodes of their own."""
        answer, at = [], parent.at + 1
        while at < parent.at + self.shape.many[parent.at]:
            answer.append(self.node(at, parent))
            at += int(self.shape.many[at])
        return answer

    def node(self, at: int, parent: Inner | None) -> Node:
        """A node of its own."""
        assert self.known is not None
        node = self._structure(at, self.known)
        node.log_likelihood, node.size = float(self.known.log_likelihood[at]), int(self.known.size[at])
        node.parent, node.subtree, node.at = parent, self, at
        return node

    def _structure(self, at: int, known: Known) -> Node:
        column, held_out = int(self.shape.column[at]), known.held_out[at]
        (low, high), (first, last) = known.row_bounds[at].tolist(), known.valid_bounds[at].tolist()
        reach = known.rows[low:high], known.valid[first:last]
        if column < 0:
            return Product(*reach, slots=self._slots(at, known.slots), held_out=held_out, below=None)
        low, high = self.shape.state_start[at : at + 2].tolist()
        first, last = self.weights.edge_start[at : at + 2].tolist()
        counts, line, ways = self.weights.counts[first:last], int(known.line[at]), held_out.size
        prior = self.weights.prior[ways * low : ways * high].reshape(ways, -1)
        edges = self.shape.branch[low:high].tolist()
        own = known.own[low : low + int(known.slots.first[column + 1] - known.slots.first[column])]
        if self.shape.many[at] == 1:
            slots, states = known.slots.of(column), tuple(s for s, edge in enumerate(edges) if edge >= 0)
            return Marginal(
                *reach, slots=slots, held_out=held_out,
                column=column, states=states, prior=prior, line=line, own=own, counts=counts,
            )  # fmt: skip
        correction: Ints = np.zeros(known.slots.column.size, dtype=np.int64)
        add_up_corrections(self.shape, known.own, known.slots.first, at, correction)
        return Decision(
            *reach, slots=self._slots(at, known.slots), held_out=held_out,
            column=column, below=None, parts=_parts(edges, last - first), prior=prior, line=line,
            own=own, correction=correction, counts=counts,
        )  # fmt: skip

    def _slots(self, at: int, slots: Slots) -> Ints:
        """The slots of the columns that an inner node is about."""
        columns = np.zeros(slots.first.size - 1, dtype=np.bool_)
        mark_columns(self.shape, at, columns)
        return np.flatnonzero(columns[slots.column])


def _parts(edges: list[int], many: int) -> list[States]:
    """The states of each edge of a decision, from the edge of each state."""
    answer: list[list[int]] = [[] for _ in range(many)]
    for state, edge in enumerate(edges):
        if edge >= 0:
            answer[edge].append(state)
    return [tuple(part) for part in answer]


def subtree_of(node: Node) -> tuple[Subtree, int]:
    """Everything from a node down as arrays, and where the node is in them."""
    if node.subtree is None:
        _join(node)
        assert node.subtree is not None
    return node.subtree, node.at


class _Piece(NamedTuple):
    """Some nodes that follow one another; those of a shape, but for how much each takes."""

    column: Codes
    many: Codes
    states: Ints
    branch: Codes
    edges: Ints
    counts: Floats
    prior: Floats


def _join(top: Node) -> None:
    """Put everything from a changed node down into arrays, which the changed nodes below it share."""
    pieces: list[_Piece] = []
    changed: list[tuple[Node, int]] = []
    waiting, used = [top], 0
    while waiting:
        node = waiting.pop()
        if node.subtree is None:
            changed.append((node, used))
            pieces.append(_alone(node))
            waiting.extend(() if isinstance(node, Marginal) else reversed(node.children))
        else:
            pieces.append(_slice(node.subtree, node.at))
        used += pieces[-1].column.size
    joint = _Piece(*(np.concatenate(arrays) for arrays in zip(*pieces, strict=True)))
    shape = Shape(joint.column, joint.many, _starts(joint.states), joint.branch)
    whole = Subtree(shape, Weights(_starts(joint.edges), joint.counts, joint.prior))
    for node, at in reversed(changed):
        end = at + 1
        for _ in () if isinstance(node, Marginal) else node.children:
            end += int(joint.many[end])
        joint.many[at] = end - at
        node.subtree, node.at = whole, at


def _starts(sizes: Ints) -> Ints:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])


def _slice(whole: Subtree, at: int) -> _Piece:
    """Everything from a node down."""
    shape, weights = whole.shape, whole.weights
    end = at + int(shape.many[at])
    (low, high), (first, last) = shape.state_start[[at, end]].tolist(), weights.edge_start[[at, end]].tolist()
    ways = weights.prior.size // max(shape.branch.size, 1)
    return _Piece(
        shape.column[at:end],
        shape.many[at:end],
        np.diff(shape.state_start[at : end + 1]),
        shape.branch[low:high],
        np.diff(weights.edge_start[at : end + 1]),
        weights.counts[first:last],
        weights.prior[ways * low : ways * high],
    )


def _alone(node: Node) -> _Piece:
    """A node without what is below it."""
    one = np.ones(1, dtype=np.int32)
    if isinstance(node, Product):
        none, nothing = np.zeros(0, dtype=np.int32), np.zeros(0)
        return _Piece(-one, one, np.zeros(1, np.int64), none, np.zeros(1, np.int64), nothing, nothing)
    states = node.prior.shape[1]
    return _Piece(
        node.column * one,
        one,
        np.array([states], dtype=np.int64),
        branches(node.parts, states),
        np.array([node.counts.size], dtype=np.int64),
        node.counts,
        node.prior.ravel(),
    )
