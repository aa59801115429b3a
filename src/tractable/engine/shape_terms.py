"""A mixture of components of one shape, prepared for sweeps that are vectorised over components.

All numbers of the components are lines of one matrix, the *terms*: a line for each edge of a sum (its
log-weight), for each state of a categorical leaf (its log-probability), and one for a missing cell of it. If
every sum of the template has one possible child, a row's log-likelihood in all components is the sum of some
terms. The terms are kept in blocks of components that stay in the cache.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Bytes, Floats, Ints
from tractable.circuit.facts import remember
from tractable.circuit.graph import PRODUCT, SUM, Graph, LeafBlock
from tractable.circuit.shapes import SharedShape, shared_shape

LANES = 64  # components of a block
INDICATOR, STATES, NUMBER, CONSTANT = 3, 4, 5, 6  # kinds of template nodes, beside PRODUCT and SUM


class Template(NamedTuple):
    """One component, in arrays that compiled functions can use."""

    kind: Bytes  # (nodes,)
    start: Ints  # (nodes + 1,)
    child: Ints  # (edges,)
    term: Ints  # (edges,) the term of a sum's edge; -1 below a product
    column: Ints  # (nodes,) of a leaf; -1 for others
    first: Ints  # (nodes,) the state of an indicator, the first term of a leaf over states, or the line
    states: Ints  # (nodes,) of a leaf over states


@dataclass(frozen=True, slots=True, eq=False)
class ShapeProgram:
    """A compiled mixture of components of one shape."""

    graph: Graph
    size: int
    template: Template
    terms: Floats  # (blocks, terms, LANES)
    log_weight: Floats  # (components,) of the mixture
    inner: Ints  # the columns that have indicators: where a cell of one is missing, sums have many children
    numbers: tuple[tuple[LeafBlock, Ints], ...]  # for each line a block of leaves, and the components' leaves
    usual: Ints  # the terms of a usual row; none where a term is infinite
    is_usual: Bools  # (terms,)
    usual_sum: Floats  # (components, padded) the sum of the usual terms


def shape_program(graph: Graph) -> ShapeProgram | None:
    """The program of a circuit that is a mixture of components of one shape; None for others."""
    return remember(graph, "shape program", _compile)


def _compile(graph: Graph) -> ShapeProgram | None:
    shape = shared_shape(graph)
    if shape is None or any(b.family.arrives_with_row for b in graph.leaves):
        return None
    lines = _Lines(graph, shape)
    template = lines.template()
    terms = lines.blocks()
    top = slice(int(graph.start[graph.root]), int(graph.start[graph.root + 1]))
    log_weight = graph.log_weight[top]
    is_finite = bool(np.isfinite(terms).all())  # differences of infinite numbers are none
    usual = _usual_terms(template, log_weight, lines.terms) if is_finite else np.zeros(0, dtype=np.int64)
    is_usual = np.zeros(terms.shape[1], dtype=np.bool_)
    is_usual[usual] = True
    total = terms[:, usual].sum(axis=1).ravel()
    inner = np.unique(template.column[template.kind == INDICATOR])
    return ShapeProgram(
        graph, shape.size, template, terms, log_weight, inner,
        tuple(lines.numbers), usual, is_usual, total,
    )  # fmt: skip


class _Lines:
    """Terms as they are collected."""

    def __init__(self, graph: Graph, shape: SharedShape) -> None:
        self.graph, self.shape = graph, shape
        self.terms: list[Floats] = []
        self.numbers: list[tuple[LeafBlock, Ints]] = []
        self.place = np.zeros(graph.nodes, dtype=np.int64)
        for block in graph.leaves:
            self.place[block.node] = np.arange(block.node.size)

    def template(self) -> Template:
        """The template, while the terms are collected."""
        shape, nodes = self.shape, self.shape.kind.size
        kind = shape.kind.copy()
        column, first, states = (
            np.full(nodes, -1, np.int64),
            np.zeros(nodes, np.int64),
            np.zeros(nodes, np.int64),
        )
        term = np.full(shape.child.size, -1, dtype=np.int64)
        for node in range(nodes):
            if kind[node] == SUM:
                edges = slice(int(shape.start[node]), int(shape.start[node + 1]))
                term[edges] = self._weights(node, edges)
            elif kind[node] != PRODUCT:
                kind[node], column[node], first[node], states[node] = self._leaf(node)
        return Template(kind, shape.start, shape.child, term, column, first, states)

    def blocks(self) -> Floats:
        """All terms. Shape (blocks, terms, LANES); components beyond the last are zero."""
        size = self.shape.size
        blocks = -(-size // LANES)
        padded = np.zeros((max(1, len(self.terms)), blocks * LANES))
        for line, term in enumerate(self.terms):
            padded[line, :size] = term
        return np.ascontiguousarray(padded.reshape(-1, blocks, LANES).transpose(1, 0, 2))

    def _weights(self, node: int, edges: slice) -> Ints:
        """The terms of the edges of a sum."""
        many = edges.stop - edges.start
        where = self.graph.start[self.shape.nodes_of(node)]
        new = len(self.terms) + np.arange(many)
        self.terms += [self.graph.log_weight[where + j] for j in range(many)]
        return new

    def _leaf(self, node: int) -> tuple[int, int, int, int]:
        """Kind, column, first term and states of a leaf."""
        nodes = self.shape.nodes_of(node)
        block = self.graph.leaves[int(self.shape.block[node])]
        place = self.place[nodes]
        column, params = int(block.column[place[0]]), block.params[place]
        if block.family.is_constant:
            self.terms.append(params[:, 0])
            return CONSTANT, column, len(self.terms) - 1, 0
        states = int(self.graph.schema.cardinalities[column])
        if not states:
            self.numbers.append((block, place))
            return NUMBER, column, len(self.numbers) - 1, 0
        if block.family.is_indicator and self.shape.step[node] == 0:
            return INDICATOR, column, int(params[0, 0]), states
        logs = block.family.log_prob(params, np.arange(states, dtype=np.float64)[None, :])
        self.terms += [*logs.T, np.logaddexp.reduce(logs, axis=1)]
        return STATES, column, len(self.terms) - states - 1, states


def _usual_terms(template: Template, log_weight: Floats, lines: list[Floats]) -> Ints:
    """The terms of the row that follows the heaviest edges and states from the root down."""
    found: list[int] = []
    weight = np.exp(log_weight - log_weight.max())
    mean = [float(weight @ np.exp(np.maximum(line, -700))) for line in lines]
    stack = [template.kind.size - 1]
    while stack:
        node = stack.pop()
        kind, edges = (
            int(template.kind[node]),
            range(int(template.start[node]), int(template.start[node + 1])),
        )
        if kind == SUM:
            best = max(edges, key=lambda e: mean[int(template.term[e])])
            found.append(int(template.term[best]))
            stack.append(int(template.child[best]))
        elif kind == PRODUCT:
            stack += [int(template.child[e]) for e in edges]
        elif kind == STATES:
            first = int(template.first[node])
            found.append(first + int(np.argmax(mean[first : first + int(template.states[node])])))
        elif kind == CONSTANT:
            found.append(int(template.first[node]))
    return np.array(found, dtype=np.int64)
