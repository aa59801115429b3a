"""Compilation of a network to a circuit by variable elimination on decision diagrams.

The diagrams that contain a column are multiplied with its indicators and the column is summed out; the
resulting sums are the terms of the new diagram. A sum has at most one child for each state of one column and
every term of a diagram covers the same columns, so the circuit is smooth, decomposable and deterministic.
Zeros are never multiplied further, so impossible combinations of states have no cost.
"""

import numpy as np

from tractable.base.arrays import Bytes, Floats, Int32s, Ints
from tractable.base.progress import Watch
from tractable.circuit.assemble import renumbered_blocks, renumbered_features, state_leaves
from tractable.circuit.facts import NETWORK, attach
from tractable.circuit.features import FeatureTable
from tractable.circuit.graph import LEAF, PRODUCT, SUM, Graph
from tractable.circuit.reach import reachable
from tractable.data.schema import Schema
from tractable.networks.compiling.diagram import (
    NO_NODE,
    Diagram,
    Terms,
    combine,
    distinct_numbers,
    from_boxes,
    from_table,
    numbers,
    without_last,
)
from tractable.networks.compiling.kernels import group_lines
from tractable.networks.compiling.order import CompileLimit, Plan, TooLargeError, plan_elimination
from tractable.networks.features import feature_box, tree_boxes
from tractable.networks.network import Factor, FeatureFactor, Network, Source, TableFactor, TreeFactor

# ---- the circuit during elimination: layers of products and sums ----------------------------------------


class CircuitLayers:
    """Nodes with children before parents: indicators of all states, constants, then the added layers."""

    def __init__(self, schema: Schema, log_constants: Floats) -> None:
        self.schema = schema
        self._first = np.concatenate([[0], np.cumsum(schema.cardinalities)])  # each column's first indicator
        self._leaves = state_leaves(schema.cardinalities, log_constants)
        self.constants: Ints = self._first[-1] + np.arange(log_constants.size)
        self.nodes = int(self._first[-1]) + log_constants.size
        self._kind: list[Bytes] = [np.full(self.nodes, LEAF, dtype=np.uint8)]
        self._degree: list[Int32s] = [np.zeros(self.nodes, dtype=np.int32)]
        self._child: list[Int32s] = []
        self._log_weight: list[Floats] = []  # of sums alone: products have none

    def indicators(self, column: int) -> Terms:
        """The indicators of a column's states."""
        node = np.arange(self._first[column], self._first[column + 1], dtype=np.int32)
        return Terms(node, np.zeros(node.size))

    def multiply(self, left: Terms, right: Terms) -> Terms:
        """The elementwise products of pairs of terms, with equal products shared."""
        log_number = left.log_number + right.log_number
        live = log_number > -np.inf
        node = np.where(live, np.maximum(left.node, right.node), NO_NODE)
        both = live & (left.node != NO_NODE) & (right.node != NO_NODE)
        if both.any():
            pairs = np.stack([left.node[both], right.node[both]], axis=1)
            pairs.sort(axis=1)
            first, number = group_lines(pairs)
            products = self._add(PRODUCT, np.full(first.size, 2, dtype=np.int32), pairs[first].ravel(), None)
            node[both] = products[number]
        return Terms(node, log_number)

    def sum_terms(self, lines: Int32s, terms: Terms) -> Terms:
        """The sum of the terms of each row. A sum with a single non-zero term is that term."""
        live = ~terms.is_zero[lines]
        degree = live.sum(axis=1, dtype=np.int32)
        several = degree > 1
        place = live.argmax(axis=1)
        answer = terms.take(lines[np.arange(len(lines)), place])
        chosen = lines[several][live[several]]
        answer.node[several] = self._add(SUM, degree[several], terms.node[chosen], terms.log_number[chosen])
        answer.log_number[several] = 0.0
        return answer

    def graph(self, term: Terms, features: FeatureTable | None) -> Graph:
        """The circuit of a single term.

        Raises:
            ValueError: if it is zero.
        """
        if term.is_zero[0]:
            raise ValueError("every combination of states has probability zero")
        root = int(term.node[0])
        if term.log_number[0] != 0:
            root = int(self._add(SUM, np.ones(1, dtype=np.int32), term.node[:1], term.log_number[:1])[0])
        return self._assemble(root, features)

    def _assemble(self, root: int, features: FeatureTable | None) -> Graph:
        """The subgraph at and below a node, in compact arrays."""
        kind, degree = np.concatenate(self._kind), np.concatenate(self._degree)
        child = np.concatenate([np.zeros(0, dtype=np.int64), *self._child])
        self._child.clear()
        keep = reachable(np.concatenate([[0], np.cumsum(degree)]), child, root)
        number = np.full(kind.size, -1, dtype=np.int64)
        number[keep] = np.arange(keep.size)
        kept = np.repeat(number >= 0, degree)
        child = number[child[kept]]
        log_weight = np.zeros(kept.size)
        log_weight[np.repeat(kind == SUM, degree)] = np.concatenate([np.zeros(0), *self._log_weight])
        return Graph(
            self.schema,
            kind[keep],
            np.concatenate([[0], np.cumsum(degree[keep])]),
            child,
            log_weight[kept],
            renumbered_blocks(self._leaves, number),
            None if features is None else renumbered_features(features, number),
        )

    def _add(self, kind: int, degree: Int32s, child: Int32s, log_weight: Floats | None) -> Int32s:
        """The numbers of new nodes of one type."""
        self._kind.append(np.full(degree.size, kind, dtype=np.uint8))
        self._degree.append(degree)
        self._child.append(child)
        if log_weight is not None:
            self._log_weight.append(log_weight)
        self.nodes += degree.size
        return np.arange(self.nodes - degree.size, self.nodes, dtype=np.int32)


DEFAULT_LIMIT = 50_000_000  # entries; a minute of work and four gigabytes, if nothing can be shared


def compile_network(network: Network, limit: int = DEFAULT_LIMIT, watch: Watch | None = None) -> Graph:
    """A circuit of the distribution of a network; a network of features keeps its feature table.

    The network is stored with the circuit, for queries that need only a small part of it.

    A Bayesian network's circuit is normalised; a Markov network's has the value Z where nothing is known.

    Raises:
        TooLargeError: if compilation needs more than `limit` entries, or more time than `watch` allows.
        ValueError: if the network is zero everywhere.
    """
    watch = watch or Watch()
    scopes = [f.scope for f in network.factors]
    plan = plan_elimination(network.schema.cardinalities.tolist(), scopes, limit, watch)
    # Trees, features and zeros make diagrams far smaller than tables: there the real work is counted instead.
    is_dense = all(isinstance(f, TableFactor) and np.isfinite(f.log_values).all() for f in network.factors)
    if is_dense and plan.total > limit:
        raise TooLargeError(
            f"compiling the network takes an estimated {plan.total:.3g} table entries,"
            f" above the limit of {limit:,}"
        )
    graph = _Elimination(network, plan, CompileLimit(None if is_dense else limit, watch)).graph()
    attach(graph, NETWORK, Source(network, np.array(plan.order, dtype=np.int64)))
    return graph


class _Elimination:
    """A run of variable elimination."""

    def __init__(self, network: Network, plan: Plan, limit: CompileLimit) -> None:
        self.network = network
        self.schema = network.schema
        self.plan = plan
        self.limit = limit
        self.position = {column: i for i, column in enumerate(plan.order)}
        self.log_states: list[float] = np.log(self.schema.cardinalities).tolist()
        self.features = [f for f in network.factors if isinstance(f, FeatureFactor)]
        self.layers = CircuitLayers(self.schema, np.array([f.log_weight for f in self.features]))
        self.buckets: dict[int, list[Diagram]] = {column: [] for column in (-1, *plan.order)}

    def graph(self) -> Graph:
        """The resulting circuit."""
        # A feature's weight stays a leaf of the circuit, so that it can be learned further.
        carriers = iter(self.layers.constants.tolist())
        for factor in self.network.factors:
            carrier = next(carriers) if isinstance(factor, FeatureFactor) else -1
            self._place(self._diagram(factor, carrier))
        for column in self.plan.order:
            self._eliminate(column)
        one = from_table((), np.zeros((), dtype=np.int32), numbers(np.zeros(1)))
        rest = self._multiply([one, *self.buckets.pop(-1)])
        return self.layers.graph(rest.terms, self._feature_table())

    def _eliminate(self, column: int) -> None:
        """Sum a column out of the product of all diagrams that contain it."""
        whole = self._multiply([self._indicators(column), *self.buckets.pop(column)])
        self._place(without_last(whole, self.layers.sum_terms(whole.children[-1], whole.terms)))
        self.limit.watch.report("columns compiled", self.position[column] + 1, len(self.schema))

    def _place(self, diagram: Diagram) -> None:
        """Store a diagram under its first column in the elimination order, or -1 without columns."""
        self.buckets[diagram.columns[-1] if diagram.columns else -1].append(diagram)

    def _multiply(self, diagrams: list[Diagram]) -> Diagram:
        """The product of all diagrams, in the order in which they add least to the scope."""
        whole, *others = diagrams
        while others:
            columns = set(whole.columns)
            costs = [(sum(self.log_states[c] for c in d.columns if c not in columns), d.size) for d in others]
            nearest = others.pop(costs.index(min(costs)))
            whole = combine(whole, nearest, self.position, self.layers.multiply, self.limit)
        return whole

    def _indicators(self, column: int) -> Diagram:
        terms = self.layers.indicators(column)
        return from_table((column,), np.arange(terms.node.size, dtype=np.int32), terms)

    def _diagram(self, factor: Factor, carrier: int) -> Diagram:
        columns = tuple(sorted(factor.scope, key=self.position.__getitem__, reverse=True))
        if isinstance(factor, TableFactor):
            terms, index = distinct_numbers(factor.log_values)
            return from_table(columns, index.transpose([factor.columns.index(c) for c in columns]), terms)
        if isinstance(factor, TreeFactor):
            return self._tree_diagram(factor, columns)
        zero = factor.log_weight == -np.inf
        value = Terms(
            np.array([NO_NODE if zero else carrier, NO_NODE], dtype=np.int32),
            np.array([-np.inf if zero else 0.0, 0.0]),
        )
        return from_boxes(columns, self.schema, [feature_box(factor, self.schema)], value, self.limit)

    def _tree_diagram(self, tree: TreeFactor, columns: tuple[int, ...]) -> Diagram:
        leaves = tree_boxes(tree, self.schema)
        one_state = np.eye(tree.log_prob.shape[1], dtype=np.bool_)
        boxes = [{**box, tree.child: one} for box, _ in leaves for one in one_state]
        logs = tree.log_prob[[leaf for _, leaf in leaves]]
        value = numbers(np.append(logs.ravel(), 0.0))
        return from_boxes(columns, self.schema, boxes, value, self.limit)

    def _feature_table(self) -> FeatureTable | None:
        features = self.features
        if not features or len(features) < len(self.network.factors):
            return None
        return FeatureTable(
            self.layers.constants,
            np.array([f.log_weight for f in features]),
            np.concatenate([[0], np.cumsum([len(f.columns) for f in features])]).astype(np.int64),
            np.array([c for f in features for c in f.columns], dtype=np.int64),
            np.array([s for f in features for s in f.states], dtype=np.int64),
            np.array([e for f in features for e in f.equals], dtype=np.bool_),
        )
