"""Making the nodes of a selective tree, with everything that is known of them."""

from collections.abc import Iterable, Sequence

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.learning.joint.selective.corrections import decision_correction, marginal_correction
from tractable.learning.joint.selective.kernels import SUM_EDGE, Codes, conditioning_gains, count_slots
from tractable.learning.joint.selective.likelihood import Cells
from tractable.learning.joint.selective.lines import Lines
from tractable.learning.joint.selective.nodes import (
    PRODUCT_EDGE,
    Decision,
    Inner,
    Marginal,
    Node,
    Product,
    Reach,
    States,
    Sum,
    lines_of,
    marginal_size,
)
from tractable.learning.joint.selective.rows import CodedRows, make_slots
from tractable.learning.joint.selective.smoothing import (
    Smoothing,
    branches,
    edge_means,
    log_likelihood,
)


class Forming:
    """Makes nodes over the columns of complete rows."""

    def __init__(self, rows: CodedRows, valid: CodedRows, smoothing: Smoothing) -> None:
        self.rows, self.valid, self.smoothing = rows, valid, smoothing
        self.slots, self.entries = make_slots(rows)
        self.lines = Lines(self.slots.column.size)
        self.states = rows.schema.cardinalities
        self.cells = Cells(rows.codes, self.entries, self.slots, int(self.states.max()))

    def marginal(self, column: int, states: States, reach: Reach) -> Marginal:
        """A marginal, whose weights are shrunk to even ones."""
        slots = self.slots.of(column)
        node = Marginal(
            *reach,
            slots=slots,
            held_out=np.zeros(self.smoothing.ways),
            column=column,
            states=states,
            prior=self.smoothing.prior_mean(states, self.states[column], None),
            own=marginal_correction(states, self.slots.state[slots]),
        )
        if len(states) > 1:
            node.line = self.lines.take()
            node.size = marginal_size(len(states))
            self._score_weights(node)
            self._fill_line(node)
        return node

    def product(self, children: Iterable[Node]) -> Product:
        """A product of sums; products among the children are joined to it."""
        factors: list[Sum] = []
        for child in children:
            factors += child.children if isinstance(child, Product) else [child]
        node = Product(
            factors[0].rows,
            factors[0].valid,
            slots=np.concatenate([child.slots for child in factors]),
            held_out=np.zeros(self.smoothing.ways),
            below=factors,
        )
        self._add_up(node)
        return node

    def decision(
        self, column: int, children: Sequence[Inner], parts: Sequence[States], model: Floats | None
    ) -> Decision:
        """A sum that decides a column; decisions of the same column among the children are joined to it."""
        below, states = self._join_decisions(column, children, parts)
        node = Decision(
            *(np.concatenate([getattr(child, kind) for child in below]) for kind in ("rows", "valid")),
            slots=below[0].slots,
            held_out=np.zeros(self.smoothing.ways),
            column=column,
            below=below,
            parts=states,
            line=self.lines.take(),
            own=np.zeros(self.slots.of(column).size, dtype=np.int64),
            correction=np.zeros(self.slots.column.size, dtype=np.int64),
            prior=self.smoothing.prior_mean([k for p in states for k in p], self.states[column], model),
        )
        self._score_weights(node)
        self._add_up(node)  # which settles the corrections of children
        node.correction = self.total_correction(below)
        self._fill_line(node)
        self.lines.gain[node.line] += self.total_gain(below)
        return node

    def reach_with(self, reach: Reach, column: int, states: States) -> Reach:
        """The training and validation rows that have one of some states."""
        wanted = self.marked(column, states)
        rows, valid = reach
        return Reach(
            rows[wanted[self.rows.codes[column][rows]]], valid[wanted[self.valid.codes[column][valid]]]
        )

    def marked(self, column: int, states: States) -> Bools:
        """Which of all states of a column are among some. Shape (states of the column,)."""
        answer = np.zeros(self.states[column], dtype=np.bool_)
        answer[list(states)] = True
        return answer

    def settle(self, node: Decision) -> Ints:
        """Bring a decision's own part of its corrections up to date; by how much it has changed."""
        slots = self.slots.of(node.column)
        own = decision_correction(node, self.slots.state[slots])
        change: Ints = own - node.own
        node.own = own
        node.correction[slots] += change
        return change

    def total_gain(self, nodes: Sequence[Node]) -> Floats:
        """The gains of several nodes together. Shape (slots,)."""
        gain: Floats = self.lines.gain[[line for node in nodes for line in lines_of(node)]].sum(axis=0)
        return gain

    def total_correction(self, nodes: Sequence[Node]) -> Ints:
        """The corrections of several nodes together. Shape (slots,)."""
        answer: Ints = np.zeros(self.slots.column.size, dtype=np.int64)
        for node in nodes:
            for factor in node.children if isinstance(node, Product) else (node,):
                if isinstance(factor, Marginal):
                    answer[factor.slots] += factor.own
                else:
                    answer += factor.correction
        return answer

    def _join_decisions(
        self, column: int, children: Sequence[Inner], parts: Sequence[States]
    ) -> tuple[list[Inner], list[States]]:
        below: list[Inner] = []
        states: list[States] = []
        for child, part in zip(children, parts, strict=True):
            if isinstance(child, Decision) and child.column == column:
                below += child.children
                states += child.parts
                self.lines.give_back(np.array([child.line]))  # it was made for this decision only
            else:
                below.append(child)
                states.append(part)
        return below, states

    def _add_up(self, node: Inner) -> None:
        """Become the parent of the children, and add what is known of them to what is known of the node."""
        node.size = total_size(node)
        for child in node.children:
            node.log_likelihood += child.log_likelihood
            node.held_out = node.held_out + child.held_out
            child.parent = node
            if isinstance(child, Decision):
                self.settle(child)

    def _edge_counts(self, node: Sum) -> tuple[Floats, Floats]:
        """The weight of the training and of the validation rows on each edge."""
        if isinstance(node, Marginal):
            kept = list(node.states)
            counts, held = (
                self.rows.counts(node.rows, node.column),
                self.valid.counts(node.valid, node.column),
            )
            return counts[kept], held[kept]
        weights = [self.rows.weights[child.rows].sum() for child in node.children]
        held_out = [self.valid.weights[child.valid].sum() for child in node.children]
        return np.array(weights), np.array(held_out)

    def _score_weights(self, node: Sum) -> None:
        """Score a sum's weights: on training rows, and with smoothing on validation rows."""
        node.counts, held = self._edge_counts(node)
        node.log_likelihood = log_likelihood(node.counts)
        if held.any():
            weights = self.smoothing.weights(node.counts, edge_means(node.prior, node.parts))
            node.held_out = np.log(weights) @ held

    def _fill_line(self, node: Sum) -> None:
        """Count what dividing the rows of one sum by each slot would gain."""
        self.lines.size[node.line] = node.size
        if node.rows.size:
            table = np.zeros((self.slots.column.size + 2, len(node.parts)))
            branch = branches(node.parts, self.states[node.column])
            count_slots(node.rows, self.rows.codes[node.column], branch, self.entries, table)
            conditioning_gains(table, self.lines.gain[node.line])

    def slot_counts(self, rows: Codes) -> Floats:
        """The weight of the rows with each slot, and of all rows at the end. Shape (slots + 1,)."""
        table = np.zeros((self.slots.column.size + 2, 1))
        branch = np.zeros(self.states[0], dtype=np.int32)
        count_slots(rows, self.rows.codes[0], branch, self.entries, table)
        counts: Floats = table[:-1, 0]
        return counts


def total_size(node: Inner) -> int:
    """The packed size of a node from those of its children."""
    edge = PRODUCT_EDGE if isinstance(node, Product) else SUM_EDGE
    return sum(child.size for child in node.children) + edge * len(node.children)
