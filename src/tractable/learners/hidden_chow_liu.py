"""A Chow-Liu tree whose columns get hidden copies: the copies form the tree, each column hangs on its own.

Dang, Khosravi, Liang, Vergari and Van den Broeck, «Juice», 2021; Liu and Van den Broeck, «Tractable
Regularization of Probabilistic Circuits», NeurIPS 2021.
"""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.circuit import LEAF, PRODUCT, SUM, Graph, LeafBlock, mixture
from tractable.circuit.assemble import Edges, assemble, concatenate_edges
from tractable.data import Table
from tractable.learners.learner import Learner, require_at_least, require_numbers
from tractable.leaves import FAMILIES
from tractable.parameters import fit
from tractable.parameters.cccp import CCCP
from tractable.parameters.online_em import OnlineEM
from tractable.progress import Watch
from tractable.settings.spaces import Between, OneOf, Space
from tractable.statistics.encoding import Encoding, encode
from tractable.statistics.estimates import default_family, estimates, leaf_params
from tractable.statistics.forests import Forest, chow_liu_forest
from tractable.statistics.product_mixtures import first_sums
from tractable.statistics.scores import mean_log_prob


@final
@dataclass(frozen=True, kw_only=True)
class HiddenChowLiuLearner(Learner):
    """Hidden states along a Chow-Liu tree, fitted by EM: first on few rows at a time, then on all."""

    name: ClassVar[str] = "hidden-chow-liu"
    title: ClassVar[str] = "hidden Chow-Liu tree"
    space: ClassVar[Space] = {
        "states": OneOf((16, 32), (8,), (16,), (32,), (64,)),
        "trees": OneOf(1, 2, 4, 8),
        "bagged": OneOf(False, True),
        "smoothing": Between(0.01, 1, log=True),
        "softness": Between(0, 0.05),
        "entropy": Between(0.5, 100, log=True),
    }

    states: tuple[int, ...] = (
        16,
        32,
    )  # of each hidden variable; validation rows choose, else the first is
    trees: int = 4  # that are mixed
    bagged: bool = False  # whether each of several trees is grown on rows drawn with replacement
    keep: float = (
        0.9  # how much of the first weights goes to the state above: hidden copies begin as one mixture
    )
    batch: int = 1024  # rows at a time in the first pass
    epochs: int = 30  # passes over all rows, few at a time
    steps: int = 20  # of EM on all rows afterwards
    smoothing: float = 0.1  # imaginary rows at each sum and each leaf
    softness: float = 0.0  # how often a cell of states counts as a state drawn at random
    entropy: float = 8.0  # rows that the circuit's entropy counts for: few rows are held back more than many
    patience: int = 6  # passes without a better score on the validation rows before stopping

    def __post_init__(self) -> None:
        require_numbers(self, "states")
        require_at_least(self, trees=1, batch=1, epochs=1, steps=0, smoothing=0, patience=1)
        require_at_least(self, softness=0, entropy=0)
        if self.softness > 1:
            raise ValueError(f"setting softness of {self.name} is at most 1, not {self.softness}")

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Graph:
        seeds = rng.integers(2**63, size=self.trees)
        states, first = self._best_states(table, int(seeds[0]), valid, watch)
        others = (
            self._tree(table, states, int(s), valid, watch) for s in seeds[1:] if not watch.should_stop()
        )
        grown = [first, *others]
        return grown[0] if len(grown) == 1 else mixture(grown)

    def _best_states(self, table: Table, seed: int, valid: Table | None, watch: Watch) -> tuple[int, Graph]:
        """The number of states whose tree scores best on the validation rows, and that tree."""
        best: tuple[float, int, Graph] | None = None
        for states in self.states if valid is not None else self.states[:1]:
            graph = self._tree(table, states, seed, valid, watch)
            score = 0.0 if valid is None else mean_log_prob(graph, valid)
            if best is None or score > best[0]:
                best = (score, states, graph)
            if watch.should_stop():
                break
        assert best is not None
        return best[1], best[2]

    def _tree(self, table: Table, states: int, seed: int, valid: Table | None, watch: Watch) -> Graph:
        rng = np.random.default_rng(seed)
        sample = _bagged(table, rng) if self.bagged else table
        encoding = encode(sample)
        states = max(1, min(states, len(encoding.weights)))
        graph = hidden_tree(encoding, chow_liu_forest(encoding, 1.0), states, self.keep, rng)
        if not encoding.total:
            return graph  # there is nothing to learn from
        graph = fit(graph, sample, self._online(encoding.total), rng, valid=valid, watch=watch).graph
        if self.steps == 0 or watch.should_stop():
            return graph
        return fit(graph, sample, self._whole(encoding.total), rng, valid=valid, watch=watch).graph

    def _online(self, rows: float) -> OnlineEM:
        """How the parameters are fitted to few rows at a time."""
        return OnlineEM(
            iterations=self.epochs,
            batch=self.batch,
            smoothing=self.smoothing,
            leaf_smoothing=self.smoothing,
            softness=self.softness,
            entropy=self.entropy / rows,
            patience=self.patience,
        )

    def _whole(self, rows: float) -> CCCP:
        """How they are fitted to all rows afterwards."""
        return CCCP(
            iterations=self.steps,
            smoothing=self.smoothing,
            leaf_smoothing=self.smoothing,
            softness=self.softness,
            entropy=self.entropy / rows,
            patience=2,
        )


def _bagged(table: Table, rng: np.random.Generator) -> Table:
    """As many rows, drawn with replacement."""
    weights = table.row_weights
    count = rng.multinomial(round(weights.sum()), weights / weights.sum())
    return Table(table.schema, table.values[count > 0], count[count > 0].astype(np.float64))


def hidden_tree(
    encoding: Encoding, forest: Forest, states: int, keep: float, rng: np.random.Generator
) -> Graph:
    """The circuit with random parameters.

    A column's hidden copy has, for each of its states, a product of the column's leaf and one sum of each
    child; and, for each state of the copy above, a sum over those products. Nodes of one kind and column
    stand side by side, so that the sums are dense blocks.
    """
    size = forest.parent.size
    params = leaf_params(encoding, estimates(encoding, first_sums(encoding, states, rng)))
    leaf, product, total = (np.zeros((size, states), dtype=np.int64) for _ in range(3))
    lots: list[Edges] = []
    kinds: list[Ints] = []
    children = forest.children()
    for column in forest.order[::-1].tolist():
        first = states * len(kinds)
        leaf[column], product[column], total[column] = (
            first + i * states + np.arange(states) for i in range(3)
        )
        kinds += [np.full(states, kind) for kind in (LEAF, PRODUCT, SUM)]
        below = np.stack([leaf[column], *(total[child] for child in children[column])], axis=1)
        lots.append(_edges(product[column], below, np.zeros(below.shape)))
        lots.append(
            _edges(
                total[column], np.tile(product[column], (states, 1)), _random_log_weights(states, keep, rng)
            )
        )
    root = np.array([states * len(kinds)])
    roots = np.array([total[column, 0] for column in np.flatnonzero(forest.parent < 0)])
    lots.append(_edges(root, roots[None, :], np.zeros((1, roots.size))))
    blocks = [
        LeafBlock(FAMILIES[default_family(v)], leaf[c], np.full(states, c), params[c])
        for c, v in enumerate(encoding.schema)
    ]
    return assemble(encoding.schema, np.concatenate([*kinds, [PRODUCT]]), concatenate_edges(lots), blocks)


def _edges(parent: Ints, child: Ints, log_weight: Floats) -> Edges:
    """All edges from nodes to their children, (nodes, children)."""
    return Edges(np.repeat(parent, child.shape[1]), child.ravel(), log_weight.ravel())


def _random_log_weights(states: int, keep: float, rng: np.random.Generator) -> Floats:
    """Random weights of which a part keeps to the state above. Shape (states above, states)."""
    even = rng.dirichlet(np.ones(states), size=states)
    return np.log(keep * np.eye(states) + (1 - keep) * even + 1e-9)
