"""Lowd and Domingos, «Learning Arithmetic Circuits», UAI 2008 (LearnAC)."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from tractable.arrays import Floats
from tractable.circuit import Graph
from tractable.data import Table
from tractable.growing import GrowingCircuit, Ledger
from tractable.growing.frozen import frozen_circuit
from tractable.learners.attached_numbers import with_numbers
from tractable.learners.bayes_search import TreeSearch
from tractable.learners.encoding import encode
from tractable.learners.learner import Learner, require_at_least
from tractable.learners.spaces import Between, Space
from tractable.progress import Watch

LEAST_EDGE_COST = 1e-6  # below which edges cost nothing


@final
@dataclass(frozen=True, kw_only=True)
class ACBNLearner(Learner):
    """A Bayesian network of decision trees, split where the likelihood is worth the edges of its circuit.

    Numbers hang on the categorical columns that tell most about them.
    """

    name: ClassVar[str] = "acbn"
    title: ClassVar[str] = "Bayesian network with its circuit"
    space: ClassVar[Space] = {
        "smoothing": Between(0.1, 10, log=True),
        "split_cost": Between(2, 10),
        "edge_cost": Between(0.01, 1, log=True),
    }

    smoothing: float = 2.0  # imaginary rows in each leaf, spread evenly
    split_cost: float = 4.0  # nats that a split must gain for each parameter it adds
    edge_cost: float = 0.1  # nats that each new edge must gain; halved while no split does
    max_edges: int = 1_000_000  # of the circuit
    patience: int = 300  # splits without a better score on the validation rows before stopping

    def __post_init__(self) -> None:
        require_at_least(self, smoothing=0, split_cost=0, edge_cost=1e-9, max_edges=0, patience=1)

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Graph:
        encoding = encode(table)
        columns = encoding.layout.categorical
        if not columns.size:
            return with_numbers(None, encoding, self.smoothing)
        part = table.select(columns)
        held_out = None if valid is None else valid.select(columns)
        trees = TreeSearch(part, smoothing=self.smoothing, split_penalty=self.split_cost, held_out=held_out)
        search = _Search(trees, self.edge_cost, self.max_edges)
        best = search.run(watch, None if valid is None else self.patience)
        circuit = BayesCircuit(trees, best)
        graph = frozen_circuit(circuit.growing, circuit.log_weight, part.schema, 0.0, None)
        return with_numbers(graph, encoding, self.smoothing)


class BayesCircuit:
    """The circuit of the trees as they were after the first so many splits."""

    def __init__(self, trees: TreeSearch, splits: int) -> None:
        self._trees = trees
        states = trees.schema.cardinalities
        self.growing = GrowingCircuit(states)
        first = np.cumsum(states) - states
        self._params = [first[c] + np.arange(states[c]) for c in range(states.size)]  # of each leaf
        self._weights = [trees.leaf(c).log_prob for c in range(states.size)]
        for split in trees.splits[:splits]:
            self.split(split.leaf, split.column)

    @property
    def log_weight(self) -> Floats:
        """The logarithms of all parameters."""
        return np.concatenate(self._weights)

    def edge_cost(self, leaf: int, column: int, limit: int) -> int:
        """How many edges a split of a leaf would add; more than `limit` if it is more."""
        return self.growing.edge_cost(self._params[leaf], column, replace=True, limit=limit)

    def split(self, leaf: int, column: int) -> None:
        """Put new leaves, which the trees have already, in the place of one."""
        fresh = self.growing.split(self._params[leaf], column, replace=True)  # (states, new leaves)
        new = [self._trees.leaf(len(self._params) + state) for state in range(fresh.shape[1])]
        self._params.extend(fresh.T)
        self._weights.append(np.stack([leaf.log_prob for leaf in new], axis=1).ravel())


class _Search:
    """The best split first; gains stay as they are, costs are found anew when a split seems best."""

    def __init__(self, trees: TreeSearch, edge_cost: float, max_edges: int) -> None:
        self._trees = trees
        self._circuit = BayesCircuit(trees, 0)
        self._max_edges = max_edges
        self._ledger = Ledger(len(trees.schema), 0.0, edge_cost)
        self._add(range(len(trees)))

    def run(self, watch: Watch, patience: int | None) -> int:
        """Split until nothing is worth it; the number of splits that did best on the held-out rows."""
        splits = self._trees.splits
        score, best_score, best = 0.0, 0.0, 0
        self._report(watch)
        while not watch.should_stop() and self._advance():
            score += splits[-1].held_out
            if patience is None or score >= best_score:
                best, best_score = len(splits), score
            elif len(splits) - best >= patience:
                break
            self._report(watch)
        return best

    def _report(self, watch: Watch) -> None:
        watch.report(f"{self._circuit.growing.edges:,} edges, splits", len(self._trees.splits))

    def _advance(self) -> bool:
        """Make the best split; false if there is none."""
        ledger, trees = self._ledger, self._trees
        while True:
            leaf = ledger.best_feature()
            if leaf < 0:
                if not self._cheaper_edges():
                    return False
                continue
            column = ledger.best_column(leaf)
            if not trees.is_valid(leaf, column):
                ledger.rule_out(leaf, column)
                continue
            if ledger.priced_at[leaf, column] < len(trees.splits):
                self._price(leaf, column)
                if not ledger.is_best(leaf, column):
                    continue
            new = trees.split(leaf, column)
            self._circuit.split(leaf, column)
            ledger.close(leaf)
            self._add(new)
            return True

    def _add(self, leaves: range) -> None:
        self._ledger.add(len(leaves))
        gain = np.zeros((len(leaves), len(self._trees.schema)))
        for line, leaf in enumerate(leaves):
            columns, gains = self._trees.candidates_of(leaf)
            gain[line, columns] = gains
        self._ledger.set_gains(np.array(leaves), gain, len(self._trees.splits))

    def _price(self, leaf: int, column: int) -> None:
        worth = self._ledger.worth(leaf, column)
        limit = int(min(worth, self._room()))
        edges: float = self._circuit.edge_cost(leaf, column, limit)
        if edges > limit:
            edges = worth + 1 if limit >= int(worth) else np.inf
        self._ledger.set_cost(leaf, column, edges, len(self._trees.splits))

    def _room(self) -> int:
        return self._max_edges - self._circuit.growing.edges

    def _cheaper_edges(self) -> bool:
        """Halve the cost of edges; false if no split can profit from it."""
        ledger = self._ledger
        full = self._room() < 0.01 * self._max_edges
        if full or ledger.edge_cost < LEAST_EDGE_COST or not ledger.any_left():
            return False
        ledger.halve_edge_cost()
        return True
