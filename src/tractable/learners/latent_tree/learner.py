"""Choi, Tan, Anandkumar and Willsky, «Learning Latent Tree Graphical Models», JMLR 2011."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import log
from typing import ClassVar, NamedTuple, final, get_args

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.circuit import Graph, parameter_count
from tractable.data import Table
from tractable.learners.latent_tree.circuit import tree_circuit
from tractable.learners.latent_tree.distances import Pairs, information_distances, pair_counts, usual_states
from tractable.learners.latent_tree.start import first_tables, rooted
from tractable.learners.latent_tree.structure import Method, Search, latent_tree
from tractable.learners.latent_tree.tree import Tree
from tractable.learners.learner import Learner, require_at_least, require_numbers
from tractable.parameters import fit
from tractable.parameters.cccp import CCCP
from tractable.progress import Watch
from tractable.settings.spaces import Between, OneOf, Space
from tractable.statistics.encoding import Encoding, encode
from tractable.statistics.link_gains import link_gains, link_parameters
from tractable.statistics.scores import mean_log_prob

TOLERANCE = 1e-4  # EM stops when a step gains less than this many nats a row
COARSER = (1.0, 3.0, 10.0, 30.0, 100.0)  # times the shortest link, that regularised trees are tried with


class _Facts(NamedTuple):
    """What the trees of one table are made from."""

    table: Table
    valid: Table | None
    encoding: Encoding
    pairs: Pairs
    distance: Floats  # (categorical columns, categorical columns)
    teller: Ints  # (columns,) the categorical column that tells most about a number; -1 for none


@final
@dataclass(frozen=True, kw_only=True)
class LatentTreeLearner(Learner):
    """A tree of columns and hidden nodes, found from distances that add up along its paths; fitted by EM.

    A number hangs on the node next to the categorical column that tells most about it.
    """

    name: ClassVar[str] = "latent-tree"
    title: ClassVar[str] = "latent tree"
    space: ClassVar[Space] = {
        "method": OneOf(*get_args(Method)),
        "states": OneOf((), (2,), (4,), (8,)),
        "relaxation": Between(0.01, 0.2, log=True),
        "shortest": Between(0.001, 0.1, log=True),
        "regularised": OneOf(False, True),
        "smoothing": Between(0.01, 1, log=True),
    }

    method: Method = "clnj"  # grouping (rg) or joining (nj); cl: around each column of a Chow-Liu tree
    states: tuple[int, ...] = ()  # of hidden nodes: numbers to try; none: as many as the nearest column
    relaxation: float = 0.05  # grouping: how much differences of distances may spread within a family
    shortest: float = 0.01  # a hidden node nearer than this to another becomes one with it
    regularised: bool = False  # whether to try ever larger values of `shortest`
    smoothing: float = 0.1  # imaginary rows in each distribution
    steps: int = 200  # of EM, at most

    def __post_init__(self) -> None:
        require_numbers(self, "states", some=False)
        if self.method not in get_args(Method):
            known = ", ".join(get_args(Method))
            raise ValueError(f"setting method of {self.name} is one of {known}, not {self.method}")
        require_at_least(self, relaxation=0, shortest=0, smoothing=0, steps=1)

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Graph:
        facts = _facts(table, valid)
        best, best_score = None, -np.inf
        for tree, states in self._candidates(facts, watch):
            graph, train = self._fitted(tree, states, facts, rng, watch)
            score = train - _price(graph, facts) if valid is None else mean_log_prob(graph, valid)
            if best is None or score > best_score:
                best, best_score = graph, score
            if watch.should_stop():
                break
        assert best is not None
        return best

    def _candidates(self, facts: _Facts, watch: Watch) -> Iterator[tuple[Tree, int | None]]:
        """Trees and numbers of hidden states; no tree with the same number of hidden nodes twice."""
        seen: set[int] = set()
        for factor in COARSER if self.regularised else (1.0,):
            how = Search(method=self.method, relaxation=self.relaxation, shortest=factor * self.shortest)
            tree = _with_numbers(latent_tree(facts.distance, how, watch), facts)
            if tree.hidden not in seen:
                seen.add(tree.hidden)
                yield from product([tree], self.states or (None,))

    def _fitted(
        self, tree: Tree, states: int | None, facts: _Facts, rng: np.random.Generator, watch: Watch
    ) -> tuple[Graph, float]:
        """The circuit after EM and its mean training log-likelihood."""
        down = rooted(tree, facts.encoding.schema, states)
        graph = tree_circuit(down, first_tables(down, facts.encoding, facts.pairs, self.smoothing, rng))
        if not facts.encoding.total:
            return graph, 0.0
        how = CCCP(
            iterations=self.steps,
            tolerance=TOLERANCE,
            smoothing=self.smoothing,
            leaf_smoothing=self.smoothing,
        )
        fitted = fit(graph, facts.table, how, rng, valid=facts.valid, watch=watch)
        return fitted.graph, fitted.train[-1]


def _facts(table: Table, valid: Table | None) -> _Facts:
    encoding = encode(table)
    pairs = pair_counts(encoding)
    distance = information_distances(pairs, usual_states(pairs))
    return _Facts(table, valid, encoding, pairs, distance, _tellers(encoding))


def _tellers(encoding: Encoding) -> Ints:
    teller = np.full(len(encoding.schema), -1, dtype=np.int64)
    numbers = np.concatenate([encoding.layout.real, encoding.layout.counted])
    if numbers.size and encoding.layout.categorical.size:
        gain = (link_gains(encoding) - link_parameters(encoding.schema))[:, numbers]
        teller[numbers] = np.where(gain.max(axis=0) > 0, gain.argmax(axis=0), -1)
    return teller


def _with_numbers(tree: Tree, facts: _Facts) -> Tree:
    """The tree over all columns: numbers hang on the hidden node next to their teller, or on the teller."""
    categorical, all_columns = facts.encoding.layout.categorical, len(facts.encoding.schema)
    name = np.concatenate([categorical, np.arange(all_columns, all_columns + tree.hidden)])
    links, length = name[tree.links], tree.lengths
    numbers = np.flatnonzero(facts.teller >= 0)
    holder = np.arange(all_columns)
    for ends in (links, links[:, ::-1]):
        beside = (ends[:, 0] >= all_columns) & (ends[:, 1] < all_columns)
        holder[ends[beside, 1]] = ends[beside, 0]
    hung = np.stack([numbers, holder[facts.teller[numbers]]], axis=1)
    lengths = np.concatenate([length, np.ones(numbers.size)])
    return Tree(all_columns, all_columns + tree.hidden, np.concatenate([links, hung]), lengths)


def _price(graph: Graph, facts: _Facts) -> float:
    """Half the logarithm of the rows for each parameter (BIC), a row's share."""
    return 0.5 * parameter_count(graph) * log(max(facts.encoding.total, 1.0)) / facts.encoding.rows
