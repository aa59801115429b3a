"""From a network to a circuit: variable elimination on decision diagrams.

Columns go in min-fill order. The diagrams that mention a column are multiplied, the column is summed out
under its indicators, and the sums that this makes are the terminals of the diagram that remains. A sum has
one child for each state of one column and every terminal of a diagram covers the same columns, so the circuit
is smooth, decomposable and deterministic.
"""

from math import prod

import numpy as np

from tractable.arrays import Ints
from tractable.circuit.builder import Builder
from tractable.circuit.features import FeatureTable
from tractable.circuit.graph import Graph
from tractable.networks.budget import Budget
from tractable.networks.diagram import Diagram, combine, from_table, without_last
from tractable.networks.network import Factor, FeatureFactor, Network, TableFactor, TreeFactor
from tractable.networks.order import min_fill_order
from tractable.networks.rules import feature_box, from_boxes, tree_boxes
from tractable.networks.terms import ONE, ZERO, Terms

DEFAULT_LIMIT = 20_000_000  # entries; some seconds of work and a circuit of at most some hundred megabytes


def compile_network(network: Network, limit: int = DEFAULT_LIMIT) -> Graph:
    """A circuit of the same distribution; one of features only keeps its feature table.

    A Bayesian network's circuit is normalised; a Markov network's has the value Z where nothing is known.

    Raises:
        ValueError: if it would take more than `limit` entries, or if nothing has a probability above zero.
    """
    order = _planned_order(network, limit)
    return _Elimination(network, order, Budget(limit)).graph()


def _planned_order(network: Network, limit: int) -> list[int]:
    """The order of elimination; refuses tables that multiply to more than `limit` entries.

    Trees and features may be far smaller than their tables, so for those the real work is counted instead.
    """
    dense = all(isinstance(f, TableFactor) for f in network.factors)
    states = [v.cardinality for v in network.schema]
    order, entries = [], 0
    for column, around in min_fill_order(len(states), (f.scope for f in network.factors)):
        order.append(column)
        entries += states[column] * prod(states[c] for c in around)
        if dense and entries > limit:
            raise ValueError(
                f"compiling the network takes an estimated {entries:.3g} table entries or more,"
                f" above the limit of {limit:,}"
            )
    return order


class _Elimination:
    """One run of variable elimination."""

    def __init__(self, network: Network, order: list[int], budget: Budget) -> None:
        self.network = network
        self.order = order
        self.budget = budget
        self.position = {column: i for i, column in enumerate(order)}
        self.builder = Builder(network.schema)
        self.terms = Terms(self.builder)
        self.buckets: dict[int, list[Diagram]] = {column: [] for column in (-1, *order)}
        self.feature_nodes: list[int] = []

    def graph(self) -> Graph:
        """The circuit."""
        for factor in self.network.factors:
            self._place(self._diagram(factor))
        for column in self.order:
            whole = self._product(self.buckets.pop(column), column)
            below = whole.terminal[whole.children[-1]]
            self._place(without_last(whole, self.terms.summed_out(column, below)))
        rest = self._product(self.buckets.pop(-1), None)
        root = self.terms.circuit(int(rest.terminal[0]))
        return self.builder.freeze(root, self._feature_table())

    def _place(self, diagram: Diagram) -> None:
        """Put a diagram where the first of its columns to go will find it; -1 is for one without columns."""
        self.buckets[diagram.columns[-1] if diagram.columns else -1].append(diagram)

    def _product(self, diagrams: list[Diagram], column: int | None) -> Diagram:
        """All of the diagrams multiplied, small ones first; it mentions `column` even if none of them do."""
        if column is None:
            whole = from_table((), np.array(ONE))
        else:
            whole = from_table((column,), np.full(self.network.schema[column].cardinality, ONE))
        for diagram in sorted(diagrams, key=lambda d: d.size):
            whole = combine(whole, diagram, self.position, self.terms.times, self.budget)
        return whole

    def _diagram(self, factor: Factor) -> Diagram:
        columns = tuple(sorted(factor.scope, key=self.position.__getitem__, reverse=True))
        if isinstance(factor, TableFactor):
            axes = [factor.columns.index(c) for c in columns]
            return from_table(columns, self.terms.numbers(factor.log_values).transpose(axes))
        if isinstance(factor, FeatureFactor):
            boxes = [feature_box(factor, self.network.schema)]
            return from_boxes(columns, self.network.schema, boxes, self._feature_value(factor), self.budget)
        return self._tree_diagram(factor, columns)

    def _feature_value(self, feature: FeatureFactor) -> Ints:
        """A feature's weight stays a leaf of the circuit, so that it can be learned further."""
        node = self.builder.constant(feature.log_weight)
        self.feature_nodes.append(node)
        return np.array([ZERO if feature.log_weight == -np.inf else self.terms.node(node), ONE])

    def _tree_diagram(self, tree: TreeFactor, columns: tuple[int, ...]) -> Diagram:
        leaves = tree_boxes(tree, self.network.schema)
        one_state = np.eye(tree.log_prob.shape[1], dtype=np.bool_)
        boxes = [{**box, tree.child: one} for box, _ in leaves for one in one_state]
        values = self.terms.numbers(tree.log_prob[[leaf for _, leaf in leaves]])
        return from_boxes(columns, self.network.schema, boxes, np.append(values, ONE), self.budget)

    def _feature_table(self) -> FeatureTable | None:
        features = [f for f in self.network.factors if isinstance(f, FeatureFactor)]
        if not features or len(features) < len(self.network.factors):
            return None
        return FeatureTable(
            np.array(self.feature_nodes, dtype=np.int64),
            np.array([f.log_weight for f in features]),
            np.concatenate([[0], np.cumsum([len(f.columns) for f in features])]).astype(np.int64),
            np.array([c for f in features for c in f.columns], dtype=np.int64),
            np.array([s for f in features for s in f.states], dtype=np.int64),
            np.array([e for f in features for e in f.equals], dtype=np.bool_),
        )
