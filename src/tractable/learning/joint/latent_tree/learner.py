"""Choi, Tan, Anandkumar and Willsky, «Learning Latent Tree Graphical Models», JMLR 2011."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import ClassVar, NamedTuple, final, get_args

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.progress import Key, Watch
from tractable.base.settings import Between, OneOf, setting
from tractable.circuit import Builder, Graph
from tractable.circuit.states import graph_forms
from tractable.data import Table
from tractable.learning.joint.latent_tree.distances import (
    Pairs,
    information_distances,
    pair_counts,
    usual_states,
)
from tractable.learning.joint.latent_tree.start import RootedTree, initial_tables, root_tree
from tractable.learning.joint.latent_tree.structure import Method, StructureSearch, latent_tree
from tractable.learning.joint.latent_tree.tree import Tree
from tractable.learning.learner import Learned, PoolingLearner
from tractable.learning.parameters import fit
from tractable.learning.parameters.cccp import CCCP
from tractable.learning.statistics.encoding import Encoding, encode
from tractable.learning.statistics.forests import leaf_nodes
from tractable.learning.statistics.pieces import learn_through_pieces
from tractable.learning.statistics.stack_weights import bic_penalty, mean_log_prob

# ---- conversion of a latent tree to a circuit -----------------------------------------------------------
#
# A node with children has a product for each of its states (of the children given that state and, if the
# node is a column, the state's indicator) and a sum over these products for each state of its parent. A
# node without children is a column and has a leaf for each state of its parent.


def tree_circuit(tree: RootedTree, tables: list[Floats]) -> Graph:
    """The circuit; `tables` has for each node a row for each state of its parent, or a single one."""
    builder = Builder(tree.schema)
    children = tree.forest.children()
    nodes: list[list[int]] = [
        [] for _ in children
    ]  # for each node of the tree, one for each row of its table
    for node in tree.forest.order[::-1].tolist():
        if not children[node]:
            nodes[node] = leaf_nodes(builder, node, tables[node])
            continue
        below = [nodes[child] for child in children[node]]
        states = [
            builder.product([*_own(builder, tree, node, state), *(lines[state] for lines in below)])
            for state in range(int(tree.states[node]))
        ]
        nodes[node] = [builder.sum(states, line) for line in tables[node]]
    roots = np.flatnonzero(tree.forest.parent < 0).tolist()
    return builder.freeze(builder.product([nodes[root][0] for root in roots]))


def _own(builder: Builder, tree: RootedTree, node: int, state: int) -> list[int]:
    return [] if tree.is_hidden(node) else [builder.indicator(node, state)]


CANDIDATE, TREE = Key(__name__, "candidate", tuple[Graph, float]), Key(__name__, "tree", Tree)

PIECE_STATES = (4, 8)  # of hidden nodes, tried for numeric columns: a binary column near them says too little
TOLERANCE = 1e-4  # EM stops when an iteration gains less than this many nats a row
COARSER = (1.0, 3.0, 10.0, 30.0, 100.0)  # multiples of merge_distance that regularised trees are tried with


class _Problem(NamedTuple):
    """The tables and statistics for structure learning."""

    table: Table
    valid: Table | None
    encoding: Encoding
    pairs: Pairs
    distance: Floats  # (columns, columns)


@final
@dataclass(frozen=True, kw_only=True)
class LatentTreeLearner(PoolingLearner):
    """A tree of columns and hidden variables, reconstructed from pairwise distances and fitted by EM.

    Numeric columns are discretised into intervals, with a density on each.
    """

    name: ClassVar[str] = "latent-tree"
    title: ClassVar[str] = "latent tree"

    method: Method = setting(
        "clnj",
        "Structure learning algorithm: recursive grouping (rg) or neighbour joining (nj) of all columns, or"
        " either of them applied to the neighbourhood of each column in a Chow-Liu tree (clrg, clnj).",
        search=OneOf(*get_args(Method)),
    )
    states: tuple[int, ...] = setting(
        (),
        "Numbers of states of the hidden nodes to try. The best one on the validation rows is selected or,"
        " without them, the best one by BIC. With an empty list a hidden node has as many states as its"
        " nearest column; with numeric columns 4 and 8 are tried as well.",
        at_least=1,
        optional=True,
        search=OneOf((), (2,), (4,), (8,)),
    )
    relaxation: float = setting(
        0.05,
        "Maximum variation of the differences of distances within a family in recursive grouping.",
        at_least=0,
        search=Between(0.01, 0.2, log=True),
    )
    merge_distance: float = setting(
        0.01,
        "Distance below which a hidden node is merged with an adjacent node.",
        at_least=0,
        search=Between(0.001, 0.1, log=True),
    )
    regularised: bool = setting(
        False,
        "Whether to try increasing values of merge_distance as well, which leave fewer hidden nodes.",
        search=OneOf(False, True),
    )
    smoothing: float = setting(
        0.1, "Pseudo-count of each distribution.", at_least=0, search=Between(0.01, 1, log=True)
    )
    steps: int = setting(200, "Maximum number of EM iterations.", at_least=1)

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        def learn(part: Table, held_out: Table | None) -> Graph:
            facts = _prepare(part, held_out, watch)
            through_pieces = part.schema != table.schema
            sizes = self.states or ((None, *PIECE_STATES) if through_pieces else (None,))
            return self._learn_states(facts, sizes, rng, watch)

        return Learned(learn_through_pieces(table, valid, learn))

    def _learn_states(
        self, facts: _Problem, sizes: Sequence[int | None], rng: np.random.Generator, watch: Watch
    ) -> Graph:
        """The tree over a table of categorical columns."""
        best, best_score = None, -np.inf
        forms = graph_forms(facts.encoding.schema)
        for number, (tree, states) in enumerate(self._candidates(facts, sizes, watch)):
            work = partial(self._fit_tree, tree, states, facts, rng)
            graph, train = watch.remember(CANDIDATE.at(number), work, rng, forms)
            score = (
                train - bic_penalty(graph, facts.encoding)
                if facts.valid is None
                else mean_log_prob(graph, facts.valid)
            )
            if best is None or score > best_score:
                best, best_score = graph, score
            if watch.should_stop():
                break
        assert best is not None
        return best

    def _candidates(
        self, facts: _Problem, sizes: Sequence[int | None], watch: Watch
    ) -> Iterator[tuple[Tree, int | None]]:
        """Trees and numbers of hidden states, without repeated numbers of hidden nodes."""
        seen: set[int] = set()
        for factor in COARSER if self.regularised else (1.0,):
            search = StructureSearch(
                method=self.method, relaxation=self.relaxation, merge_distance=factor * self.merge_distance
            )
            work = partial(latent_tree, facts.distance, search)
            tree = watch.remember(TREE.at(factor), work)
            if tree.hidden not in seen:
                seen.add(tree.hidden)
                yield from product([tree], sizes)

    def _fit_tree(
        self, tree: Tree, states: int | None, facts: _Problem, rng: np.random.Generator, watch: Watch
    ) -> tuple[Graph, float]:
        """The circuit after EM and its mean training log-likelihood."""
        down = root_tree(tree, facts.encoding.schema, states)
        graph = tree_circuit(down, initial_tables(down, facts.encoding, facts.pairs, self.smoothing, rng))
        if not facts.encoding.total:
            return graph, 0.0
        method = CCCP(
            iterations=self.steps,
            tolerance=TOLERANCE,
            smoothing=self.smoothing,
            leaf_smoothing=self.smoothing,
        )
        fitted = fit(graph, facts.table, method, rng, valid=facts.valid, watch=watch)
        return fitted.graph, fitted.train[-1] if fitted.train else -np.inf


def _prepare(table: Table, valid: Table | None, watch: Watch) -> _Problem:
    encoding = encode(table)
    pairs = pair_counts(encoding)
    distance = information_distances(pairs, usual_states(pairs), watch)
    return _Problem(table, valid, encoding, pairs, distance)
