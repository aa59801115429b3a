"""Numeric columns seen through pieces: disjoint intervals, each a state of a categorical column.

A learner of deterministic circuits learns over such a table, and `PieceView.learn` puts the densities of
the pieces in the place of their states, so that the circuit is over the numbers themselves.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.threads import default_threads
from tractable.circuit import LEAF, SUM, Block, Graph, LeafBlock
from tractable.circuit.assemble import Edges, assemble, concatenate_edges, edges_of
from tractable.circuit.leaves import Piece, Rounded
from tractable.circuit.leaves.piece import tilted
from tractable.data import Schema, Table, Variable
from tractable.engine.sweep import map_threads
from tractable.learning.statistics.cuts import choose_edges

# ---- circuits over pieces of numbers as circuits over the numbers themselves ----------------------------


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


MANY = 10_000  # rows from which columns are shared among threads
SLOPE_ROWS = 1.0  # pseudo-counts, spread evenly over a piece, of its slope
TAIL_SPREAD = 0.25  # the mean distance of values beyond all rows, as a part of the column's sd ...
LEAST_SPREAD = 1e-2  # ... and at least this part of its range


class Pieces(NamedTuple):
    """The pieces of one numeric column."""

    edges: Floats  # (pieces + 1,)
    params: Floats  # (pieces + 2, 3) of their leaves, and of the tails before and after them
    log_share: Floats  # (pieces + 2,) of each leaf in its piece; tails belong to the pieces beside them
    owner: Ints  # (pieces + 2,) the piece that each leaf belongs to

    @property
    def tail_edges(self) -> int:
        """The edges of sums over a piece and its tails."""
        leaves = np.bincount(self.owner)
        return int(leaves[leaves > 1].sum())

    def code(self, x: Floats) -> Floats:
        """The piece of each value; missing ones stay missing."""
        piece = np.searchsorted(self.edges[1:-1], x, side="right").astype(np.float64)
        piece[np.isnan(x)] = np.nan
        return piece


@dataclass(frozen=True, eq=False)
class PieceView:
    """A table in which each numeric column is categorical, with one state a piece."""

    schema: Schema  # of the numbers
    pieces: dict[int, Pieces]  # by numeric column

    @property
    def coded_schema(self) -> Schema:
        """The columns with pieces as their states."""
        return Schema(
            tuple(
                _piece_variable(v, self.pieces[c]) if c in self.pieces else v
                for c, v in enumerate(self.schema)
            )
        )

    def code(self, table: Table) -> Table:
        """The table with the pieces of its numbers."""
        values = table.values.copy()

        def fill(column: int) -> None:
            values[:, column] = self.pieces[column].code(table.values[:, column])

        map_threads(fill, list(self.pieces), default_threads() if len(table) >= MANY else 1)
        return Table(self.coded_schema, values, table.weights)

    def decode(self, graph: Graph) -> Graph:
        """A circuit over pieces as one over the numbers."""
        return replace_states(graph, self.schema, self.pieces)

    @property
    def added_edges(self) -> int:
        """The edges that `decode` adds to a circuit of indicators.

        They belong to sums over a piece and the tails beside it, each of which a circuit has once.
        """
        return sum(each.tail_edges for each in self.pieces.values())

    @property
    def leaf_edges(self) -> Ints:
        """The edges that `decode` gives a leaf over each column: one for each piece. Shape (columns,)."""
        pieces = [self.pieces[c].edges.size - 1 if c in self.pieces else 0 for c in range(len(self.schema))]
        return np.array(pieces, dtype=np.int64)

    def learn(
        self, table: Table, valid: Table | None, learn: Callable[[Table, Table | None], Graph]
    ) -> Graph:
        """The circuit that `learn` makes of the table with pieces as states, over the numbers themselves.

        A table without numeric columns is learned as it is.
        """
        if not self.pieces:
            return learn(table, valid)
        return self.decode(learn(self.code(table), None if valid is None else self.code(valid)))


def learn_through_pieces(
    table: Table, valid: Table | None, learn: Callable[[Table, Table | None], Graph]
) -> Graph:
    """The circuit that `learn` makes of the table with pieces as states; see `PieceView.learn`."""
    return view_pieces(table).learn(table, valid, learn)


def view_pieces(table: Table) -> PieceView:
    """The pieces of each numeric column of a table."""
    weights = table.row_weights
    numeric = [c for c, v in enumerate(table.schema) if v.is_numeric]

    def find(column: int) -> Pieces:
        return find_pieces(table.values[:, column], weights, table.schema[column])

    pieces = map_threads(find, numeric, default_threads() if len(table) >= MANY else 1)
    return PieceView(table.schema, dict(zip(numeric, pieces, strict=True)))


def find_pieces(x: Floats, weight: Floats, variable: Variable) -> Pieces:
    """The pieces of a numeric column; missing values and rows of weight zero take no part."""
    known = ~np.isnan(x) & (weight > 0)
    if not known.all():
        x, weight = x[known], weight[known]
    edges = choose_edges(x, weight, whole=variable.is_whole)
    x = np.clip(x, edges[0], edges[-1])  # only the hugest numbers are outside
    inner, seen = _inner_params(edges, x, weight, whole=variable.is_whole)
    tails, owner = _tails(edges, x, weight, variable)
    share = 1 / (seen[owner] + 4)  # about as probable as one row among those of the piece beside it
    outside = np.bincount(owner, share, edges.size - 1)
    return Pieces(
        edges,
        np.concatenate([inner, tails]),
        np.log(np.concatenate([1 - outside, share])),
        np.concatenate([np.arange(edges.size - 1), owner]),
    )


def _inner_params(edges: Floats, x: Floats, weight: Floats, *, whole: bool) -> tuple[Floats, Floats]:
    """The leaves between the edges, and the weight of the rows in each."""
    piece = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, edges.size - 2)
    seen: Floats = np.bincount(piece, weight, edges.size - 1).astype(np.float64)
    width = np.diff(edges)
    total = width * np.bincount(piece, weight * ((x - edges[piece]) / width[piece]), edges.size - 1)
    flat = np.column_stack([edges[:-1], edges[1:], np.zeros(edges.size - 1)])
    return tilted(flat, seen, total, SLOPE_ROWS, whole=whole), seen


def _tails(edges: Floats, x: Floats, weight: Floats, variable: Variable) -> tuple[Floats, Ints]:
    """The leaves before the first edge and after the last one, and the pieces that they belong to.

    Counts have nothing below zero.
    """
    away = (x - edges[0]) / (edges[-1] - edges[0])  # from 0 to 1, so that no square overflows
    total = weight.sum() or 1.0
    sd = float(np.sqrt(weight @ (away - weight @ away / total) ** 2 / total))
    slope = 1 / (max(TAIL_SPREAD * sd, LEAST_SPREAD) * (edges[-1] - edges[0]))
    low = -0.5 if variable.kind == "count" else -np.inf
    lines = [[low, edges[0], slope], [edges[-1], np.inf, -slope]]
    if low == edges[0]:
        lines = lines[1:]
    owner = np.array([0, edges.size - 2])[-len(lines) :]
    return np.array(lines), owner


def _piece_variable(variable: Variable, pieces: Pieces) -> Variable:
    """A column whose states are the pieces of another."""
    ends = [f"{edge:.6g}" for edge in pieces.edges[1:-1]]
    labels = tuple(f"{low} to {high}" for low, high in zip(["-inf", *ends], [*ends, "inf"], strict=True))
    states = labels if len(set(labels)) == len(labels) else tuple(range(len(labels)))
    return Variable(variable.name, "ordinal", states, variable.role)
