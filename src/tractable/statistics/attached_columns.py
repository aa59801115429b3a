"""Numeric columns attached to a circuit over categorical columns, each to the column that gains most.

Every leaf of such a parent column becomes a product with the leaves of its numeric columns, so that a circuit
that was smooth, decomposable or deterministic stays so, and its partition function stays the same.
"""

from collections.abc import Callable

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.circuit import LEAF, PRODUCT, SUM, FeatureTable, Graph, LeafBlock
from tractable.circuit.assemble import Edges, assemble, concatenate_edges, edges_of
from tractable.data import Schema, Table
from tractable.leaves import FAMILIES
from tractable.statistics.conditionals import forest_tables
from tractable.statistics.encoding import Encoding, encode
from tractable.statistics.estimates import default_family
from tractable.statistics.forests import Forest
from tractable.statistics.link_gains import link_gains, link_parameters

ROUNDING = 1e-9  # nats a row below which a gain may be rounding error


def learn_over_categories(
    table: Table, valid: Table | None, smoothing: float, learn: Callable[[Table, Table | None], Graph]
) -> Graph:
    """The circuit that `learn` makes of the categorical columns, with the numeric columns attached to it."""
    encoding = encode(table)
    columns = encoding.layout.categorical
    if not columns.size:
        return attach_numeric_columns(None, encoding, smoothing)
    graph = learn(table.select(columns), None if valid is None else valid.select(columns))
    return attach_numeric_columns(graph, encoding, smoothing)


def attach_numeric_columns(
    graph: Graph | None, encoding: Encoding, smoothing: float, link_cost: float = 1.0
) -> Graph:
    """The circuit over all columns of the encoding, from one over its categorical columns, in order.

    Without a circuit all columns are numeric. A numeric column that no parent gains `link_cost` nats for each
    parameter is independent. A feature table is kept.
    """
    layout = encoding.layout
    numbers = np.sort(np.concatenate([layout.real, layout.counted]))
    if graph is not None and not numbers.size:
        return graph
    forest = Forest(best_categorical_parents(encoding, smoothing, link_cost), np.arange(len(encoding.schema)))
    tables = forest_tables(encoding, forest, smoothing)
    growth = _Growth(encoding.schema)
    under: dict[int, list[Ints]] = {}  # for each telling column its numbers' leaves, one a state
    for number in numbers.tolist():
        family = default_family(encoding.schema[number])
        under.setdefault(int(forest.parent[number]), []).append(growth.leaves(family, number, tables[number]))
    alone = [int(leaves[0]) for leaves in under.pop(-1, [])]
    if graph is None:
        return growth.graph(alone, None)
    states = {column: growth.states(column, leaves) for column, leaves in under.items()}
    root, features = growth.splice(graph, layout.categorical, states)
    return growth.graph([root, *alone], features)


def best_categorical_parents(encoding: Encoding, smoothing: float, link_cost: float) -> Ints:
    """For each numeric column the categorical column that gains most as parent; -1 elsewhere. (columns,)."""
    parent = np.full(len(encoding.schema), -1, dtype=np.int64)
    categorical = encoding.layout.categorical
    numbers = np.concatenate([encoding.layout.real, encoding.layout.counted])
    if categorical.size:
        gain = link_gains(encoding, smoothing)
        gain[gain <= ROUNDING * encoding.total] = 0.0
        gain = (gain - link_cost * link_parameters(encoding.schema))[np.ix_(categorical, numbers)]
        parent[numbers] = np.where(gain.max(axis=0) > 0, categorical[gain.argmax(axis=0)], -1)
    return parent


class _Growth:
    """Nodes, children before parents, made many at a time."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.nodes = 0
        self.kinds: list[Ints] = []
        self.edges: list[Edges] = []
        self.blocks: list[LeafBlock] = []

    def leaves(self, family: str, column: int, params: Floats) -> Ints:
        """Leaves over a column, one for each line of parameters."""
        node = self._new(np.full(len(params), LEAF))
        self.blocks.append(LeafBlock(FAMILIES[family], node, np.full(node.size, column), params))
        return node

    def states(self, column: int, numbers: list[Ints]) -> Ints:
        """For each state of a column its indicator times the leaves of its numbers."""
        codes = np.arange(self.schema[column].cardinality, dtype=np.float64)
        return self._products(np.stack([self.leaves("indicator", column, codes[:, None]), *numbers], axis=1))

    def splice(self, graph: Graph, columns: Ints, states: dict[int, Ints]) -> tuple[int, FeatureTable | None]:
        """A circuit whose column j becomes `columns[j]`, with `states` for the leaves of some columns."""
        kind = graph.kind.astype(np.int64)
        own = self._new(kind)
        place = own.copy()  # where each node is found: an indicator elsewhere
        for block in graph.leaves:
            column = np.where(block.column < 0, -1, columns[block.column])
            rest = ~np.isin(column, list(states))
            self.blocks.append(
                LeafBlock(block.family, own[block.node[rest]], column[rest], block.params[rest])
            )
            for telling in np.unique(column[~rest]).tolist():
                here = column == telling
                node, params = block.node[here], block.params[here]
                if block.family.is_indicator:
                    place[node] = states[telling][params[:, 0].astype(np.int64)]
                else:
                    kind[node] = SUM
                    codes = np.arange(states[telling].size, dtype=np.float64)
                    self._sums(own[node], states[telling], block.family.log_prob(params, codes[None, :]))
        self.kinds[-1] = kind
        parent, child, log_weight = edges_of(graph)
        self.edges.append(Edges(own[parent], place[child], log_weight))
        features = graph.features
        if features is not None:
            node = np.where(features.node < 0, -1, own[features.node])
            features = FeatureTable(
                node, features.log_weight, features.start, columns[features.column], features.state,
                features.equals,
            )  # fmt: skip
        return int(place[graph.root]), features

    def graph(self, factors: list[int], features: FeatureTable | None) -> Graph:
        """The circuit of the product of some nodes."""
        root = factors[0] if len(factors) == 1 else int(self._products(np.array([factors]))[0])
        kind = np.concatenate(self.kinds)
        none = np.zeros(0, dtype=np.int64)
        edges = concatenate_edges([Edges(none, none, np.zeros(0)), *self.edges])
        return assemble(self.schema, kind, edges, self.blocks, root, features)

    def _products(self, children: Ints) -> Ints:
        """One product for each line of children."""
        node = self._new(np.full(len(children), PRODUCT))
        parent = np.repeat(node, children.shape[1])
        self.edges.append(Edges(parent, children.ravel(), np.zeros(children.size)))
        return node

    def _sums(self, node: Ints, children: Ints, log_weight: Floats) -> None:
        """Make nodes sums over the same children."""
        parent = np.repeat(node, children.size)
        self.edges.append(Edges(parent, np.tile(children, node.size), log_weight.ravel()))

    def _new(self, kind: Ints) -> Ints:
        """The numbers of new nodes."""
        self.kinds.append(kind)
        self.nodes += kind.size
        return np.arange(self.nodes - kind.size, self.nodes)
