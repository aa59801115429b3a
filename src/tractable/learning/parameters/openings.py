"""A circuit in a form in which every parameter can be counted: the engine's counts leave constants out.

A constant becomes a leaf over one more column, which always has its first state: the count of that state is
the flow of the constant. The weight of a sum with one child becomes such a leaf beside the child, and a sum
without any child above zero becomes one that is zero.
"""

from dataclasses import dataclass

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit import LEAF, PRODUCT, SUM, Block, ConstantBlock, Graph, LeafBlock
from tractable.circuit.assemble import in_order
from tractable.circuit.blocks import LeafCounts
from tractable.circuit.leaves import Categorical
from tractable.data import Schema, Variable
from tractable.engine.expectations import Expectations, Expecter

ALWAYS = "always the first state"  # the name of the column that constants stand over


@dataclass(frozen=True, slots=True, eq=False)
class OpenCircuit:
    """The structure of a circuit, opened once, which takes the parameters of any circuit of it."""

    template: Graph
    expecter: Expecter
    edge: Ints  # (edges of the template,) the circuit's edge, -1 where there is none
    single: Ints  # (single edges,) the edges of sums with one child
    place: Ints  # (new leaves,) where the leaf is: of each single edge, each constant, each sum that is zero
    source: tuple[
        int, ...
    ]  # the number of the circuit's block behind each of the template; -1 for new leaves

    def expectations(self, graph: Graph, rows: Floats, weights: Floats) -> Expectations:
        """Expected counts by the edges and leaves of the circuit; constants count in their first state."""
        counts = self.expecter.expectations(self._fill(graph), _with_first_state(rows), weights)
        edge = np.zeros(graph.edges)
        known = self.edge >= 0
        edge[self.edge[known]] = counts.edge[known]
        by_number = dict(zip(self.source, counts.blocks, strict=True))
        counted = by_number[-1].states[self.place, 0] if self.place.size else np.zeros(0)
        edge[self.single] = counted[: self.single.size]
        first = self.single.size
        for number, block in enumerate(graph.blocks):
            if isinstance(block, ConstantBlock):
                last = first + block.node.size
                by_number[number] = LeafCounts(counted[first:last, None], np.zeros((block.node.size, 0)))
                first = last
        return counts._replace(edge=edge, blocks=tuple(by_number[n] for n in range(len(graph.blocks))))

    def log_values(self, graph: Graph, rows: Floats) -> Floats:
        """The logarithm of the circuit's value for each row."""
        return self.expecter.log_values(self._fill(graph), _with_first_state(rows))

    def _fill(self, graph: Graph) -> Graph:
        """The template with the parameters of a circuit."""
        weight = np.where(self.edge >= 0, graph.log_weight[np.maximum(self.edge, 0)], 0.0)
        numbers = [graph.log_weight[self.single], *(b.log_value for b in graph.blocks_of(ConstantBlock))]
        filled = np.concatenate(numbers)
        blocks = []
        for block, number in zip(self.template.blocks, self.source, strict=True):
            params = block.parameters.copy() if number < 0 else graph.blocks[number].parameters
            if number < 0:
                params[self.place[: filled.size], 0] = filled
                params[self.place[filled.size :], 0] = -np.inf  # sums without a child above zero
            blocks.append(block.with_parameters(params))
        return self.template.with_parameters(weight, tuple(blocks))


def open_circuit(graph: Graph) -> OpenCircuit:
    """The circuit with its constants, and the weights of sums with one child, as leaves.

    Raises:
        ValueError: if the circuit does not depend on the row.
    """
    alive = (graph.kind[graph.parent] != SUM) | np.isfinite(graph.log_weight)
    children = np.bincount(graph.parent[alive], minlength=graph.nodes)
    is_single = (graph.kind == SUM) & (children == 1)
    dead = np.flatnonzero((graph.kind == SUM) & (children == 0))
    single = np.flatnonzero(alive & is_single[graph.parent])
    shift = single.size
    kind = np.concatenate([np.full(shift, LEAF), np.where(is_single, PRODUCT, graph.kind)])
    kind[shift + dead] = LEAF
    kept = np.flatnonzero(alive)
    parent = np.concatenate([graph.parent[kept], graph.parent[single]]) + shift
    child = np.concatenate([graph.child[kept] + shift, np.arange(shift)])
    origin = np.concatenate([np.where(is_single[graph.parent[kept]], -1, kept), np.full(shift, -1)])
    order = np.argsort(parent, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(parent, minlength=kind.size))])
    constants = [block.node + shift for block in graph.blocks_of(ConstantBlock)]
    node = np.concatenate([np.arange(shift), *constants, dead + shift]).astype(np.int64)
    new: dict[int, Block] = {-1: _first_state_leaves(np.sort(node), len(graph.schema))} if node.size else {}
    moved = {
        n: b.renumber(b.node + shift) for n, b in enumerate(graph.blocks) if not isinstance(b, ConstantBlock)
    }
    blocks = in_order([*moved.values(), *new.values()])
    numbers = {id(block): number for number, block in (moved | new).items()}
    template = Graph(
        Schema((*graph.schema, Variable(ALWAYS, states=(0, 1)))),
        kind.astype(np.uint8),
        start,
        child[order],
        np.zeros(child.size),
        blocks,
    )
    sources = origin[order]
    filled = np.where(sources >= 0, graph.log_weight[np.maximum(sources, 0)], 0.0)
    expecter = Expecter(template.with_parameters(filled))
    place = np.argsort(np.argsort(node))
    return OpenCircuit(template, expecter, sources, single, place, tuple(numbers[id(b)] for b in blocks))


def _first_state_leaves(node: Ints, column: int) -> LeafBlock:
    """Leaves over the column that always has its first state; what they are there is filled in later."""
    even = np.full((node.size, 2), np.log(0.5))
    return LeafBlock(Categorical(), node, np.full(node.size, column), even)


def _with_first_state(rows: Floats) -> Floats:
    return np.concatenate([rows, np.zeros((len(rows), 1))], axis=1)
