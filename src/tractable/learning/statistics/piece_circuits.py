"""Circuits over pieces of numbers as circuits over the numbers themselves."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit import LEAF, SUM, Block, Graph, LeafBlock
from tractable.circuit.assemble import Edges, assemble, concatenate_edges, edges_of
from tractable.circuit.leaves import Piece, Rounded
from tractable.data import Schema


class HasPieces(Protocol):
    """The leaves of the pieces of one column."""

    @property
    def params(self) -> Floats: ...  # noqa: D102 - (leaves, 3)

    @property
    def log_share(self) -> Floats: ...  # noqa: D102 - (leaves,) in their pieces

    @property
    def owner(self) -> Ints: ...  # noqa: D102 - (leaves,) the piece of each


def replace_states(graph: Graph, schema: Schema, pieces: Mapping[int, HasPieces]) -> Graph:
    """The circuit over `schema`, with densities in the place of the states of the columns with pieces.

    An indicator becomes the leaf of its piece; a leaf with a probability for each piece becomes a sum over
    them. Such sums are deterministic, because pieces are disjoint. Features of a Markov network speak of
    states and are left out if any of their columns has pieces.
    """
    growth = _Growth(schema)
    states = {column: growth.piece_nodes(column, each) for column, each in pieces.items()}
    return growth.graph(graph, states)


class _Growth:
    """Nodes, children before parents: those of pieces first, then those of a circuit."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.nodes = 0
        self.kinds: list[Ints] = []
        self.edges: list[Edges] = []
        self.blocks: list[Block] = []

    def piece_nodes(self, column: int, pieces: HasPieces) -> Ints:
        """A node for each piece: its leaf, or a sum over its leaf and tails."""
        family = Rounded(Piece()) if self.schema[column].is_whole else Piece()
        leaf = self._new(np.full(len(pieces.params), LEAF))
        self.blocks.append(LeafBlock(family, leaf, np.full(leaf.size, column), pieces.params))
        count = int(pieces.owner.max()) + 1
        node = leaf[:count].copy()
        for piece in np.unique(pieces.owner[count:]).tolist():
            mine = pieces.owner == piece
            node[piece] = self._new(np.array([SUM]))[0]
            self.edges.append(Edges(np.full(mine.sum(), node[piece]), leaf[mine], pieces.log_share[mine]))
        return node

    def graph(self, graph: Graph, states: Mapping[int, Ints]) -> Graph:
        """A circuit with nodes of pieces in the place of leaves over some columns."""
        kind = graph.kind.astype(np.int64)
        own = self._new(kind)
        place = own.copy()  # where each node is found: that of an indicator is its piece
        for block in graph.blocks:
            if not isinstance(block, LeafBlock):
                self.blocks.append(block.renumber(own[block.node]))
                continue
            rest = block.select(np.flatnonzero(~np.isin(block.column, list(states))))
            self.blocks.append(rest.renumber(own[rest.node]))
            for column in sorted(set(block.column.tolist()) & set(states)):
                here = block.column == column
                node, params, piece = block.node[here], block.params[here], states[column]
                if block.family.is_indicator:
                    place[node] = piece[params[:, 0].astype(np.int64)]
                else:
                    kind[node] = SUM
                    log_weight = block.family.log_prob(params, np.arange(piece.size, dtype=np.float64)[None])
                    parent = np.repeat(own[node], piece.size)
                    self.edges.append(Edges(parent, np.tile(piece, node.size), log_weight.ravel()))
        parent, child, log_weight = edges_of(graph)
        edges = concatenate_edges([Edges(own[parent], place[child], log_weight), *self.edges])
        root = int(place[graph.root])
        return assemble(self.schema, np.concatenate(self.kinds), edges, self.blocks, root)

    def _new(self, kind: Ints) -> Ints:
        """The numbers of new nodes."""
        self.kinds.append(kind)
        self.nodes += kind.size
        return np.arange(self.nodes - kind.size, self.nodes)
