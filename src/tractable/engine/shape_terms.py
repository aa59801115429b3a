"""A mixture of components of one shape, prepared for sweeps that are vectorised over components.

All numbers of the components are lines of one matrix, the *terms*: a line for each edge of a sum (its
log-weight), for each state of a categorical leaf (its log-probability), and one for a missing cell of it. If
every sum of the template has one possible child, a row's log-likelihood in all components is the sum of some
terms. The terms are kept in blocks of components that stay in the cache.
"""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from tractable.base.arrays import Bools, Bytes, Floats, Ints
from tractable.circuit import shapes
from tractable.circuit.blocks import LeafBlock
from tractable.circuit.facts import remembered
from tractable.circuit.graph import LEAF, PRODUCT, SUM, Graph, Shape

LANES = 64  # components of a block
INDICATOR, STATES, NUMBER, CONSTANT = 3, 4, 5, 6  # kinds of template nodes, beside PRODUCT and SUM


class Template(NamedTuple):
    """One component of a mixture, in arrays that compiled functions can use."""

    kind: Bytes  # (nodes,)
    start: Ints  # (nodes + 1,)
    child: Ints  # (edges,)
    term: Ints  # (edges,) the term of a sum's edge; -1 below a product
    column: Ints  # (nodes,) of a leaf; -1 for others
    first: Ints  # (nodes,) the state of an indicator, the first term of a leaf over states, or the line
    states: Ints  # (nodes,) of a leaf over states


Numbers: TypeAlias = tuple[tuple[LeafBlock, Ints], ...]


@dataclass(frozen=True, slots=True, eq=False)
class ShapeProgram:
    """A compiled mixture of components of one shape."""

    graph: Graph
    size: int
    template: Template
    terms: Floats  # (blocks, terms, LANES)
    log_weight: Floats  # (components,) of the mixture
    inner: Ints  # the columns that have indicators: where a cell of one is missing, sums have many children
    numbers: Numbers  # for each line a block of leaves, and the components' leaves
    usual: Ints  # the terms of a usual row; none where a term is infinite
    is_usual: Bools  # (terms,)
    usual_sum: Floats  # (components, padded) the sum of the usual terms


@remembered
def shape_program(graph: Graph) -> ShapeProgram | None:
    """The program of a circuit that is a mixture of components of one shape; None for others."""
    if not isinstance(graph.mixture, Shape) or any(b.reads.size for b in graph.blocks):
        return None
    template, lines, numbers = _lines(graph, shapes.template(graph, graph.mixture))
    terms, log_weight = _in_blocks(lines), shapes.root_weights(graph)
    is_finite = bool(np.isfinite(terms).all())  # differences of infinite numbers are none
    usual = _usual_terms(template, log_weight, lines) if is_finite else np.zeros(0, dtype=np.int64)
    is_usual = np.zeros(terms.shape[1], dtype=np.bool_)
    is_usual[usual] = True
    total = terms[:, usual].sum(axis=1).ravel()
    inner = np.unique(template.column[template.kind == INDICATOR])
    return ShapeProgram(
        graph, log_weight.size, template, terms, log_weight, inner, numbers, usual, is_usual, total
    )


def _lines(graph: Graph, shape: shapes.Template) -> tuple[Template, Floats, Numbers]:
    """The template for compiled functions, its terms (terms, components), and the leaves of numbers."""
    kind, column = shape.kind.copy(), shape.column
    first, states = np.zeros((2, kind.size), dtype=np.int64)
    weighted = kind[shape.parent] == SUM
    terms = [graph.log_weight[shape.edges(graph.start)[weighted]]]
    count = len(terms[0])
    numbers: list[tuple[LeafBlock, Ints]] = []
    for node in np.flatnonzero(kind == LEAF).tolist():
        block = graph.blocks[int(shape.block[node])]
        place = np.searchsorted(block.node, shape.node[node])
        size = int(graph.schema.cardinalities[column[node]])
        none = np.zeros((0, place.size))
        if not isinstance(block, LeafBlock):
            kind[node], first[node], new = CONSTANT, count, block.parameters[place].T
        elif not size:
            kind[node], first[node], new = NUMBER, len(numbers), none
            numbers.append((block, place))
        elif block.family.is_indicator and place[0] == place[-1]:
            state = int(block.params[place[0], 0])
            kind[node], first[node], states[node], new = INDICATOR, state, size, none
        else:
            logs = block.select(place).table(size)
            new = np.concatenate([logs.T, np.logaddexp.reduce(logs, axis=1)[None]])
            kind[node], first[node], states[node] = STATES, count, size
        terms.append(new)
        count += len(new)
    term = np.where(weighted, np.cumsum(weighted) - 1, -1)
    answer = Template(kind, shape.start, shape.child, term, column, first, states)
    return answer, np.concatenate(terms), tuple(numbers)


def _in_blocks(lines: Floats) -> Floats:
    """All terms. Shape (blocks, terms, LANES); components beyond the last are zero."""
    count, size = lines.shape
    blocks = -(-size // LANES)
    padded = np.zeros((max(1, count), blocks * LANES))
    padded[:count, :size] = lines
    return np.ascontiguousarray(padded.reshape(-1, blocks, LANES).transpose(1, 0, 2))


def _usual_terms(template: Template, log_weight: Floats, lines: Floats) -> Ints:
    """The terms of the row that follows the heaviest edges and states from the root down."""
    found: list[int] = []
    weight = np.exp(log_weight - log_weight.max())
    mean = [float(weight @ np.exp(np.maximum(line, -700))) for line in lines]
    stack = [template.kind.size - 1]
    while stack:
        node = stack.pop()
        kind, edges = int(template.kind[node]), range(*template.start[node : node + 2].tolist())
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
