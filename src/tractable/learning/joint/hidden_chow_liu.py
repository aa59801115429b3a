"""A tree of hidden variables with the structure of a Chow-Liu tree, one for each column.

Dang, Khosravi, Liang, Vergari and Van den Broeck, «Juice», 2021; Liu and Van den Broeck, «Tractable
Regularization of Probabilistic Circuits», NeurIPS 2021.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Key, Watch
from tractable.base.settings import Between, OneOf, setting
from tractable.circuit import LEAF, PRODUCT, SUM, Graph, LeafBlock, mixture
from tractable.circuit.assemble import Edges, assemble, concatenate_edges
from tractable.circuit.states import graph_forms
from tractable.data import Schema, Table
from tractable.learning.learner import Learned, PoolingLearner
from tractable.learning.parameters import Method, fit
from tractable.learning.parameters.cccp import CCCP
from tractable.learning.parameters.online_em import OnlineEM
from tractable.learning.statistics.encoding import Encoding, encode
from tractable.learning.statistics.estimates import estimates, leaf_params
from tractable.learning.statistics.forests import Forest, chow_liu_forest
from tractable.learning.statistics.held_out import draw_rows
from tractable.learning.statistics.leaf_choice import choose_leaves, is_replaced, statistics_family
from tractable.learning.statistics.pieces import view_pieces
from tractable.learning.statistics.product_mixtures import initial_sums
from tractable.learning.statistics.stack_weights import mean_log_prob

TREE = Key(__name__, "tree", Graph)
FIRST_TREE = Key(__name__, "first tree", Graph)  # of a number of states
FITTED = Key(__name__, "fitted", Graph)


@final
@dataclass(frozen=True, kw_only=True)
class HiddenChowLiuLearner(PoolingLearner):
    """A tree of hidden variables with the structure of a Chow-Liu tree, fitted by EM.

    Online EM is followed by EM on all rows. Online EM is followed by EM on all rows. Numeric columns are
    discretised to find the Chow-Liu tree; their leaves are distributions over the numbers themselves.
    """

    name: ClassVar[str] = "hidden-chow-liu"
    title: ClassVar[str] = "hidden Chow-Liu tree"

    states: tuple[int, ...] = setting(
        (16, 4, 32),
        "Numbers of states of each hidden variable to try. With validation rows, all values are tried and"
        " the best is selected; otherwise the first is used. Small numbers are appropriate for tables with"
        " few rows and many columns.",
        at_least=1,
        search=OneOf((16, 4, 32), (4,), (8,), (16,), (32,), (64,)),
    )
    trees: int = setting(
        4,
        "Number of trees in the mixture, fitted from different random initial values. More trees fit better"
        " and take more time.",
        at_least=1,
        search=OneOf(1, 2, 4, 8),
    )
    bagged: bool = setting(
        False,
        "Whether to learn each tree of a mixture on a bootstrap sample of the rows (bagging).",
        search=OneOf(False, True),
    )
    initial_persistence: float = setting(
        0.9,
        "Initial probability that a hidden variable is in the same state as its parent. With large values"
        " EM starts close to a mixture in which all hidden variables agree.",
        at_least=0,
        at_most=1,
    )
    batch: int = setting(1024, "Number of rows in a mini-batch of online EM.", at_least=1)
    epochs: int = setting(30, "Maximum number of passes of online EM over the rows.", at_least=1)
    steps: int = setting(20, "Maximum number of EM iterations on all rows that follow online EM.", at_least=0)
    smoothing: float = setting(
        0.1,
        "Pseudo-count of each sum node and each leaf. One third of it is used in tables with numeric"
        " columns.",
        at_least=0,
        search=Between(0.01, 1, log=True),
    )
    softness: float = setting(
        0.0,
        "Probability with which a categorical cell of a training row is replaced by a random state (data"
        " softening).",
        at_least=0,
        at_most=1,
        search=Between(0, 0.05),
    )
    entropy: float = setting(
        8.0,
        "Weight of the entropy regularisation, in rows: the entropy of the circuit counts as much as the"
        " log-likelihood of this number of rows. One quarter of it is used in tables with numeric columns.",
        at_least=0,
        search=Between(0.5, 100, log=True),
    )
    patience: int = setting(
        6,
        "Early stopping: online EM ends after this many passes without improvement on the validation rows.",
        at_least=1,
    )

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        seeds = rng.integers(2**63, size=self.trees)
        states, first = self._best_states(table, int(seeds[0]), valid, watch)
        grown = [first]
        for number, seed in enumerate(seeds[1:].tolist(), start=2):
            if watch.should_stop():
                break
            work = partial(self._tree, table, states, seed, valid)
            grown.append(watch.remember(TREE.at(number), work, forms=graph_forms(table.schema)))
        return Learned(grown[0] if len(grown) == 1 else mixture(grown))

    def _best_states(self, table: Table, seed: int, valid: Table | None, watch: Watch) -> tuple[int, Graph]:
        """The number of states whose tree has the best score on the validation rows, and that tree."""
        best: tuple[float, int, Graph] | None = None
        for states in self.states if valid is not None else self.states[:1]:
            work = partial(self._tree, table, states, seed, valid)
            graph = watch.remember(FIRST_TREE.at(states), work, forms=graph_forms(table.schema))
            score = 0.0 if valid is None else mean_log_prob(graph, valid)
            if best is None or score > best[0]:
                best = (score, states, graph)
            if watch.should_stop():
                break
        assert best is not None
        return best[1], best[2]

    def _tree(self, table: Table, states: int, seed: int, valid: Table | None, watch: Watch) -> Graph:
        rng = np.random.default_rng(seed)
        sample = draw_rows(table, rng) if self.bagged else table
        encoding = encode(sample)
        states = max(1, min(states, len(encoding.weights)))
        forest = chow_liu_forest(encode(view_pieces(sample).code(sample)), 1.0, watch=watch)
        graph = hidden_tree(encoding, forest, states, self.initial_persistence, rng)
        if not encoding.total:
            return graph  # there are no rows to fit to
        smoothing = self._smoothing(table.schema)
        graph = choose_leaves(graph, encoding.table, smoothing, is_replaced)
        for method in (self._online(encoding.total, table.schema), self._whole(encoding.total, table.schema)):
            if method.name == "cccp" and (not self.steps or watch.should_stop()):
                break
            work = partial(_fit, graph, sample, method, rng, valid)
            graph = watch.remember(FITTED.at(method.name), work, rng, graph_forms(table.schema))
        return choose_leaves(graph, encoding.table, smoothing)

    def _smoothing(self, schema: Schema) -> float:
        """The pseudo-count, which is smaller with numeric columns."""
        return self.smoothing / 3 if has_numbers(schema) else self.smoothing

    def _entropy(self, schema: Schema) -> float:
        """The weight of entropy regularisation, in rows, which is smaller with numeric columns."""
        return self.entropy / 4 if has_numbers(schema) else self.entropy

    def _online(self, rows: float, schema: Schema) -> OnlineEM:
        """The method for fitting parameters to mini-batches."""
        return OnlineEM(
            iterations=self.epochs,
            batch=self.batch,
            smoothing=self._smoothing(schema),
            leaf_smoothing=self._smoothing(schema),
            softness=self.softness,
            entropy=self._entropy(schema) / rows,
            patience=self.patience,
        )

    def _whole(self, rows: float, schema: Schema) -> CCCP:
        """The method for fitting parameters to all rows afterwards."""
        return CCCP(
            iterations=self.steps,
            smoothing=self._smoothing(schema),
            leaf_smoothing=self._smoothing(schema),
            softness=self.softness,
            entropy=self._entropy(schema) / rows,
            patience=2,
        )


def _fit(
    graph: Graph, table: Table, method: Method, rng: np.random.Generator, valid: Table | None, watch: Watch
) -> Graph:
    return fit(graph, table, method, rng, valid=valid, watch=watch).graph


def has_numbers(schema: Schema) -> bool:
    """Whether any column is numeric."""
    return any(not variable.is_categorical for variable in schema)


def hidden_tree(
    encoding: Encoding, forest: Forest, states: int, persistence: float, rng: np.random.Generator
) -> Graph:
    """The circuit with random parameters.

    A hidden variable has for each of its states a product of the column's leaf and a sum for each child, and
    for each state of its parent a sum over these products. Nodes of one kind and column are numbered
    consecutively, so the sums form dense blocks.
    """
    size = forest.parent.size
    params = leaf_params(encoding, estimates(encoding, initial_sums(encoding, states, rng)))
    leaf, product, total = (np.zeros((size, states), dtype=np.int64) for _ in range(3))
    groups: list[Edges] = []
    kinds: list[Ints] = []
    children = forest.children()
    for column in forest.order[::-1].tolist():
        first = states * len(kinds)
        leaf[column], product[column], total[column] = (
            first + i * states + np.arange(states) for i in range(3)
        )
        kinds += [np.full(states, kind) for kind in (LEAF, PRODUCT, SUM)]
        below = np.stack([leaf[column], *(total[child] for child in children[column])], axis=1)
        groups.append(_edges(product[column], below, np.zeros(below.shape)))
        groups.append(
            _edges(
                total[column],
                np.tile(product[column], (states, 1)),
                _random_log_weights(states, persistence, rng),
            )
        )
    root = np.array([states * len(kinds)])
    roots = np.array([total[column, 0] for column in np.flatnonzero(forest.parent < 0)])
    groups.append(_edges(root, roots[None, :], np.zeros((1, roots.size))))
    blocks = [
        LeafBlock(statistics_family(v), leaf[c], np.full(states, c), params[c])
        for c, v in enumerate(encoding.schema)
    ]
    return assemble(encoding.schema, np.concatenate([*kinds, [PRODUCT]]), concatenate_edges(groups), blocks)


def _edges(parent: Ints, child: Ints, log_weight: Floats) -> Edges:
    """All edges from nodes to their children, (nodes, children)."""
    return Edges(np.repeat(parent, child.shape[1]), child.ravel(), log_weight.ravel())


def _random_log_weights(states: int, persistence: float, rng: np.random.Generator) -> Floats:
    """Random log-weights that favour the parent's state. Shape (parent's states, states)."""
    even = rng.dirichlet(np.ones(states), size=states)
    return np.log(persistence * np.eye(states) + (1 - persistence) * even + 1e-9)
