"""Lowd and Domingos, «Learning Arithmetic Circuits», UAI 2008 (LearnAC)."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import State, Watch
from tractable.base.settings import Between, redeclare, setting
from tractable.circuit import Graph
from tractable.data import Table
from tractable.learning.growing import Objective, Snapshot, SplitCosts, Structure, search_splits
from tractable.learning.growing.structure import FACTOR_EDGES
from tractable.learning.joint.bayesian.network import BayesianNetworkLearner
from tractable.learning.joint.bayesian.search import TreeSearch
from tractable.learning.joint.markov import MarkovLearner
from tractable.learning.learner import Learned, PoolingLearner
from tractable.learning.statistics.pieces import view_pieces


@final
@dataclass(frozen=True, kw_only=True)
class ACBNLearner(PoolingLearner):
    """A Bayesian network of decision trees that grows together with its circuit.

    A split is made if its gain outweighs the edges that it adds. Numeric columns are discretised into
    intervals, with a density on each.
    """

    name: ClassVar[str] = "acbn"
    title: ClassVar[str] = "Bayesian network with its circuit"

    smoothing: float = redeclare(BayesianNetworkLearner, "smoothing", 2.0)
    split_cost: float = setting(
        4.0,
        "Minimum gain in log-likelihood, in nats over all rows, for each parameter that a split adds.",
        at_least=0,
        search=Between(2, 10),
    )
    edge_cost: float = redeclare(MarkovLearner, "edge_cost", 0.1, search=Between(0.01, 1, log=True))
    max_edges: int = setting(
        1_000_000,
        "Maximum number of edges in the circuit. The initial circuit of independent columns may be larger.",
        at_least=0,
    )
    patience: int = redeclare(MarkovLearner, "patience", 300)

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        view = view_pieces(table)
        most_edges = max(self.max_edges - view.added_edges - FACTOR_EDGES, 0)

        def learn(part: Table, held_out: Table | None) -> Graph:
            trees = TreeSearch(
                part, smoothing=self.smoothing, split_penalty=self.split_cost, held_out=held_out
            )
            objective = TreeLikelihood(TreeStructure(trees), is_validated=held_out is not None)
            costs = SplitCosts(split=0.0, edge=self.edge_cost, max_edges=most_edges)
            search_splits(objective, costs, self.patience, watch)
            return objective.structure.freeze(part.schema, objective.weights)

        return Learned(view.learn(table, valid, learn))


@final
class TreeStructure(Structure):
    """The trees of a Bayesian network and their circuit; an item is a leaf of a tree.

    A leaf has one feature for each state of the child of its tree, and a split replaces it by new leaves.
    Undoing splits affects the circuit: the trees keep all leaves and cannot be split afterwards.
    """

    replaces: ClassVar[bool] = True

    def __init__(self, trees: TreeSearch) -> None:
        states = trees.schema.cardinalities
        first = np.cumsum(states) - states
        super().__init__(states, [first[c] + np.arange(states[c]) for c in range(states.size)])
        self.trees = trees

    def is_allowed(self, item: int, column: int) -> bool:
        """Whether the leaf is open and the split would not close a cycle."""
        return self.trees.is_valid(item, column)

    def split(self, item: int, column: int) -> range:
        """Split a leaf of the trees and of the circuit."""
        self.trees.split(item, column)
        return super().split(item, column)

    def repeat(self, item: int, column: int) -> None:
        """Repeat a split of an earlier run."""
        self.trees.repeat_split(item, column)
        super().split(item, column)


@final
class TreeLikelihood(Objective):
    """The likelihood of trees, with weights in closed form and gains that splits do not change.

    The cost of a split is already subtracted from the gains of the trees. The score is the gain of all splits
    on the validation rows.
    """

    structure: TreeStructure
    gains_change: ClassVar[bool] = False

    def __init__(self, structure: TreeStructure, *, is_validated: bool) -> None:
        super().__init__(structure)
        self._trees = structure.trees
        self._is_validated = is_validated  # whether there are validation rows
        self._closed: set[int] = set()  # leaves that were split
        self._score = 0.0
        self._weights = np.concatenate([self._trees.leaf(item).log_prob for item in range(structure.items)])

    @property
    def weights(self) -> Floats:
        """The log-probabilities in all leaves, including those that were split."""
        return self._weights

    @property
    def score(self) -> float:
        """The gain of all splits on the validation rows, in nats."""
        return self._score

    @property
    def reported_score(self) -> None:
        """None, because the score is not a mean log-likelihood."""
        return

    def improves_on(self, best: Snapshot) -> bool:
        """Whether the score is not lower: a split that affects no validation row is kept."""
        return not self._is_validated or self.score >= best.score

    def gains(self, items: Ints, least: float) -> Floats:
        """The gain of splitting each leaf on each column; zero for leaves that were split."""
        gain = np.zeros((items.size, len(self._trees.schema)))
        for line, leaf in enumerate(items.tolist()):
            if leaf not in self._closed:
                columns, gains = self._trees.candidates_of(leaf)
                gain[line, columns] = gains
        return gain

    def add_split(self, item: int, column: int) -> None:
        """Add the probabilities of the new leaves of a split and its gain on the validation rows."""
        split = self._trees.splits[-1]
        states = range(self.structure.states[column])
        new = np.stack([self._trees.leaf(split.first + state).log_prob for state in states], axis=1)
        self._weights = np.concatenate([self._weights, new.ravel()])
        self._closed.add(item)
        self._score += split.held_out

    def fit(self) -> None:
        """Do nothing, because the weights of new leaves are known."""

    def restore(self, weights: Floats) -> None:
        """Restore the weights and the score of the splits in the structure."""
        self._weights, self._score = weights, 0.0
        for split in self._trees.splits[: self.structure.splits]:
            self._score += split.held_out

    def memory(self) -> State:
        """The gains of splits for a checkpoint; empty after splits were undone."""
        return self._trees.memory() if len(self._trees.splits) == self.structure.splits else None

    def recall(self, memory: State) -> None:
        """Restore the gains of splits from a checkpoint."""
        if memory is not None:
            self._trees.recall(memory)
