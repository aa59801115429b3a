"""Lowd and Domingos, «Learning Arithmetic Circuits», UAI 2008 (LearnAC)."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from tractable.arrays import Bools, Floats
from tractable.circuit import Graph
from tractable.data import Table
from tractable.growing import BestFirst, GrowingCircuit, Ledger
from tractable.growing.frozen import frozen_circuit
from tractable.learners.bayesian.search import TreeSearch
from tractable.learners.learner import Learned, Learner
from tractable.progress import Watch
from tractable.settings import Between, setting
from tractable.statistics.attached_columns import learn_over_categories


@final
@dataclass(frozen=True, kw_only=True)
class ACBNLearner(Learner):
    """A Bayesian network of decision trees, split where the likelihood is worth the edges of its circuit.

    Numbers hang on the categorical columns that tell most about them.
    """

    name: ClassVar[str] = "acbn"
    title: ClassVar[str] = "Bayesian network with its circuit"

    smoothing: float = setting(
        2.0,
        "Pseudo-counts of the distribution in each leaf of a decision tree, spread evenly over the states.",
        at_least=0,
        search=Between(0.1, 10, log=True),
    )
    split_cost: float = setting(
        4.0,
        "Log-likelihood in nats, over all rows, that a split must gain for each parameter it adds.",
        at_least=0,
        search=Between(2, 10),
    )
    edge_cost: float = setting(
        0.1,
        "Log-likelihood in nats that each edge added to the circuit must gain. It is halved whenever no"
        " split is worth its edges.",
        at_least=1e-9,
        search=Between(0.01, 1, log=True),
    )
    max_edges: int = setting(1_000_000, "Maximum number of edges of the circuit.", at_least=0)
    patience: int = setting(
        300,
        "Early stopping: the search ends after this many splits without a better score on the validation"
        " rows.",
        at_least=1,
    )

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        def learn(part: Table, held_out: Table | None) -> Graph:
            trees = TreeSearch(
                part, smoothing=self.smoothing, split_penalty=self.split_cost, held_out=held_out
            )
            search = _Search(trees, self.edge_cost, self.max_edges, watch)
            circuit = BayesCircuit(trees, search.run(None if held_out is None else self.patience))
            return frozen_circuit(circuit.growing, circuit.log_weight, part.schema, 0.0, None)

        return Learned(learn_over_categories(table, valid, self.smoothing, learn))


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

    def edge_guesses(self, leaf: int, columns: Bools) -> Floats:
        """About how many edges a split of a leaf on each of some columns would add."""
        return self.growing.edge_guesses(self._params[leaf], columns, replace=True)

    def split(self, leaf: int, column: int) -> None:
        """Put new leaves, which the trees have already, in the place of one."""
        fresh = self.growing.split(self._params[leaf], column, replace=True)  # (states, new leaves)
        new = [self._trees.leaf(len(self._params) + state) for state in range(fresh.shape[1])]
        self._params.extend(fresh.T)
        self._weights.append(np.stack([leaf.log_prob for leaf in new], axis=1).ravel())


class _Search(BestFirst):
    """Splits leaves of the trees; what a split gains never changes, which ones are valid does."""

    def __init__(self, trees: TreeSearch, edge_cost: float, max_edges: int, watch: Watch) -> None:
        super().__init__(Ledger(len(trees.schema), 0.0, edge_cost), max_edges, watch)
        self._trees = trees
        self._circuit = BayesCircuit(trees, 0)
        self._add(range(len(trees)))

    def run(self, patience: int | None) -> int:
        """Split until nothing is worth it; the number of splits that did best on the held-out rows."""
        score, best_score, best = 0.0, 0.0, 0
        self._report()
        while self.advance():
            score += self._trees.splits[-1].held_out
            if patience is None or score >= best_score:
                best, best_score = self.splits, score
            elif self.splits - best >= patience:
                break
            self._report()
        return best

    def _report(self) -> None:
        self.watch.report(f"{self.edges:,} edges, splits", self.splits)

    @property
    def splits(self) -> int:
        """The number of splits made."""
        return len(self._trees.splits)

    @property
    def edges(self) -> int:
        """The edges of the circuit."""
        return self._circuit.growing.edges

    def edge_cost(self, line: int, column: int, limit: int) -> int:
        """How many edges a split would add; more than `limit` if it is more."""
        return self._circuit.edge_cost(line, column, limit)

    def edge_guesses(self, line: int, columns: Bools) -> Floats:
        """About how many edges splits on each column would add."""
        return self._circuit.edge_guesses(line, columns)

    def ask(self, line: int | None) -> bool:
        """Nothing to find: gains stay as they are."""
        return False

    def is_allowed(self, line: int, column: int) -> bool:
        """Whether parents would form no circle."""
        return self._trees.is_valid(line, column)

    def split(self, line: int, column: int) -> None:
        """Split a leaf of a tree and of the circuit."""
        new = self._trees.split(line, column)
        self._circuit.split(line, column)
        self.ledger.close(line)
        self._add(new)

    def _add(self, leaves: range) -> None:
        self.ledger.add(len(leaves))
        gain = np.zeros((len(leaves), len(self._trees.schema)))
        for line, leaf in enumerate(leaves):
            columns, gains = self._trees.candidates_of(leaf)
            gain[line, columns] = gains
        self.ledger.set_gains(np.array(leaves), gain, self.splits)
