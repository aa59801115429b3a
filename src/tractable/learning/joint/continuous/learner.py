"""Continuous mixtures of trees.

Correia, Gala, Quaeghebeur, de Campos and Peharz, «Continuous Mixtures of Tractable Probabilistic Models»,
2023.
"""

from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import ClassVar, Literal, final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import InnerWatch, Key, Watch
from tractable.base.settings import Between, OneOf, redeclare, setting
from tractable.circuit import LEAF, PRODUCT, SUM, Graph, LeafBlock
from tractable.circuit.assemble import Edges, assemble, concatenate_edges
from tractable.circuit.leaves import Indicator
from tractable.circuit.shapes import declare_shape
from tractable.data import Table, collapse
from tractable.learning.joint.continuous.course import Schedule
from tractable.learning.joint.continuous.decoder import tree_outputs
from tractable.learning.joint.continuous.joint_training import ComponentTrainer, best_members, mixed_trees
from tractable.learning.joint.continuous.networks import Choice, NetworkTraining, strengths_for
from tractable.learning.joint.continuous.rows import frequent_first, tree_rows
from tractable.learning.joint.continuous.shape import tree_shape
from tractable.learning.joint.continuous.training import (
    STRENGTHS,
    Trainer,
    TrainingData,
    steps_a_score,
)
from tractable.learning.joint.continuous.trees import Trees
from tractable.learning.learner import Learned, PoolingLearner
from tractable.learning.statistics.encoding import Encoding, encode
from tractable.learning.statistics.estimates import gaussian_params, state_params
from tractable.learning.statistics.forests import chow_liu_forest
from tractable.learning.statistics.held_out import random_subset
from tractable.learning.statistics.leaf_choice import (
    choose_leaves,
    columns_that_need_rows,
    is_replaced,
    statistics_family,
)

# ---- conversion of a mixture of trees of one structure to a circuit -------------------------------------
#
# The nodes of all trees that correspond to each other have consecutive numbers. Indicators are shared by
# all trees.


def mixture_circuit(trees: Trees, log_weight: Floats, encoding: Encoding) -> Graph:
    """The circuit of trees with the given log-weights."""
    growth = _Growth(trees, encoding)
    forest = trees.shape.forest
    children = forest.children()
    nodes: list[list[Ints]] = [[] for _ in forest.parent]  # for each column, a group for each parent's state
    for column in forest.order[::-1].tolist():
        below = [nodes[child] for child in children[column]]
        nodes[column] = growth.inner(column, below) if below else growth.leaves(column)
    roots = growth.product([nodes[root][0] for root in np.flatnonzero(forest.parent < 0).tolist()])
    exact = log_weight.astype(np.float64)
    return growth.freeze(roots, exact - np.logaddexp.reduce(exact))


class _Growth:
    """Groups of nodes, one node for each tree."""

    def __init__(self, trees: Trees, encoding: Encoding) -> None:
        self.encoding = encoding
        self.table, self.parent = trees.shape.table, trees.shape.forest.parent
        self.theta, self.log_partition = trees.theta, trees.log_partition
        self.size = int(self.theta.shape[1])
        self.count = 0
        self.kinds: list[Ints] = []
        self.edges: list[Edges] = []
        self.blocks: list[LeafBlock] = []

    def leaves(self, column: int) -> list[Ints]:
        """A group of leaves for each state of the parent."""
        variable = self.encoding.schema[column]
        groups = []
        for cell in self._cells(column):
            params = state_params(self._log_probs(column, cell)) if variable.is_categorical else None
            if params is None:
                params = self._number_params(column, cell)
            groups.append(self._new(LEAF, self.size))
            column_of_each = np.full(self.size, column)
            family = statistics_family(variable)
            self.blocks.append(LeafBlock(family, groups[-1], column_of_each, params))
        return groups

    def inner(self, column: int, below: list[list[Ints]]) -> list[Ints]:
        """Groups of sums for the states of the parent, over groups of products for those of the column."""
        states = self.encoding.schema[column].cardinality
        indicator = self._new(LEAF, states)
        codes = np.arange(states, dtype=np.float64)[:, None]
        self.blocks.append(LeafBlock(Indicator(), indicator, np.full(states, column), codes))
        products = np.stack([
            self.product([np.full(self.size, indicator[s]), *(groups[s] for groups in below)])
            for s in range(states)
        ])  # fmt: skip
        return [self._sum(products, self._log_probs(column, cell)) for cell in self._cells(column)]

    def product(self, children: list[Ints]) -> Ints:
        """The products of groups; a single group is returned unchanged."""
        if len(children) == 1:
            return children[0]
        group = self._new(PRODUCT, self.size)
        self._link(group, np.stack(children, axis=1), np.zeros((self.size, len(children))))
        return group

    def freeze(self, roots: Ints, log_weight: Floats) -> Graph:
        """The circuit: one sum over all trees, or a single tree."""
        top = self._new(SUM, 1)
        self._link(top, roots[None, :], log_weight[None, :])
        kinds, edges = np.concatenate(self.kinds), concatenate_edges(self.edges)
        root = int(roots[0]) if self.size == 1 else int(top[0])
        return declare_shape(assemble(self.encoding.schema, kinds, edges, self.blocks, root))

    def _sum(self, products: Ints, log_weight: Floats) -> Ints:
        group = self._new(SUM, self.size)
        self._link(group, products.T, log_weight)
        return group

    def _link(self, parents: Ints, children: Ints, log_weight: Floats) -> None:
        """Edges from parents to (parents, children)."""
        many = children.shape[1]
        self.edges.append(Edges(np.repeat(parents, many), children.ravel(), log_weight.ravel()))

    def _new(self, kind: int, size: int) -> Ints:
        self.kinds.append(np.full(size, kind))
        self.count += size
        return np.arange(self.count - size, self.count)

    def _cells(self, column: int) -> list[int]:
        """The cells of a column, one for each state of its parent."""
        base, linked = self.table.cell[column].tolist()
        many = 0 if self.parent[column] < 0 else int(self.table.states[self.parent[column]]) - 1
        return [base, *range(linked, linked + many)]

    def _log_probs(self, column: int, cell: int) -> Floats:
        """The log-probabilities of the states of a categorical column. Shape (trees, states)."""
        first, states = int(self.table.row[cell, 0]), int(self.table.states[column])
        odds = self.theta[first : first + states - 1].T.astype(np.float64)
        logs = np.concatenate([np.zeros((self.size, 1)), odds], axis=1)
        return logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)

    def _number_params(self, column: int, cell: int) -> Floats:
        """The parameters of leaves over a numeric column. Shape (trees, width)."""
        first, second = self.table.row[cell].tolist()
        if self.encoding.schema[column].kind == "count":
            return np.asarray(self.theta[first][:, None], dtype=np.float64)
        variance = -0.5 / self.theta[second].astype(np.float64)
        return gaussian_params(self.encoding, column, self.theta[first] * variance, variance)


NETWORKS = Key(__name__, "networks", Choice)

LEAST_POINTS = 8  # of a step ...
ROWS_A_POINT = 4  # ... and one more for so many distinct rows, in small tables
ROWS_A_COMPONENT = 2  # distinct rows for each component, at least
LEAST_SHARE = 128  # components of each network; where there are fewer together, one network has all
MOST_STEPS, LEAST_STEPS = 4000, 200  # of training before the step size falls; in between one for each row
PATIENT_STEPS = 400  # without a better score, at least, before the step size falls ...
STEPS_A_COLUMN = 3  # ... or so many for each column, in narrow tables, whose networks have less to learn
MOST_ROWS, MOST_HELD_OUT = 200_000, 10_000  # distinct rows that are used; of larger tables a random sample
FEW_ROWS = 20  # with fewer distinct rows none is held out
CIRCUIT_SECONDS = 2e-6  # that it takes to make the circuit, for each component and statistic
MOST_FLOWS = 50_000_000  # leaves times rows above which leaves that need not be fitted to rows are not


@final
@dataclass(frozen=True, kw_only=True)
class ContinuousMixtureLearner(PoolingLearner):
    """A mixture of many trees of one structure, whose parameters are a function of a latent variable.

    The latent variable is continuous. All trees have the structure of the Chow-Liu tree. A neural network
    with two hidden layers maps a point of a low-dimensional latent space to the parameters of a tree. It is
    trained by stochastic gradients on points sampled from a normal distribution. Then a fixed number of
    points, their weights and the network are trained together, and each point becomes a component of the
    mixture. Several networks are trained independently and share the components, unless the best one alone
    scores better. Numeric columns have a Gaussian distribution in each tree, and counts a Poisson
    distribution.
    """

    name: ClassVar[str] = "continuous-mixture"
    title: ClassVar[str] = "continuous mixture of trees"

    max_states: int = redeclare(
        PoolingLearner, "max_states", 64
    )  # there are many components, each with all states
    components: int = setting(
        1024,
        "Number of components (trees) of the final mixture, limited to half the number of distinct rows."
        " More components fit better and make the circuit larger.",
        at_least=1,
        search=OneOf(256, 512, 1024),
    )
    strength: Literal["auto", "strong", "medium", "weak"] = setting(
        "auto",
        "Strength of the regularisation of the network. With auto, the strengths that are appropriate for"
        " the number of rows are tried, and the one with the best score on the held-out rows is selected.",
    )
    smoothing: float = setting(
        1.0,
        "Pseudo-count of each distribution of the initial Chow-Liu tree.",
        at_least=0,
        search=Between(0.1, 10, log=True),
    )
    networks: int = setting(
        2,
        "Number of networks, trained from different random initial values. The components are divided among"
        " them, with at least 128 for each. In tables with many rows, the best single network takes all"
        " components if it scores better on the held-out rows.",
        at_least=1,
        search=OneOf(1, 2, 4),
    )
    points: int = setting(512, "Number of latent points sampled in each training step.", at_least=1)
    batch: int = setting(256, "Number of rows in a mini-batch.", at_least=1)
    patience: int = setting(
        5,
        "Number of passes over the rows without improvement on the held-out rows after which the learning"
        " rate is reduced and training ends. In tables with many columns more passes are made, up to some"
        " hundred steps.",
        at_least=1,
    )
    held_out: float = setting(
        0.1,
        "Fraction of the rows that are held out for early stopping and for selecting the strength of the"
        " regularisation if there are no validation rows.",
        at_least=0.01,
        at_most=0.5,
    )

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        with threadpool_limits(1, user_api="blas"):  # so that sums do not depend on the number of threads
            rows = table.useful_rows()
            order = frequent_first(rows)
            held_out = None if valid is None else order.code(valid)
            return Learned(order.decode(self._mixture(order.code(rows), rng, held_out, watch)))

    def _mixture(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Graph:
        encoding = encode(table)
        shape = tree_shape(encoding, chow_liu_forest(encoding, self.smoothing, watch=watch))
        start = tree_outputs(shape, encoding, self.smoothing)
        if not len(table):
            return mixture_circuit(Trees.from_outputs(shape, start[:, None]), np.zeros(1), encoding)
        seeds = rng.integers(2**63, size=3).tolist()
        fitted, held = self._parts(encoding.table, valid, np.random.default_rng(seeds[0]))
        data = TrainingData(
            shape, start, tree_rows(shape, encoding, fitted), tree_rows(shape, encoding, held)
        )
        count = max(1, min(self.components, len(fitted) // ROWS_A_COMPONENT))
        if watch.left is not None:  # making the circuit takes its time, too
            watch = InnerWatch(watch, seconds=watch.left - CIRCUIT_SECONDS * count * shape.statistics)
        choice = watch.remember(NETWORKS, partial(self._networks, data, count, seeds[1]))
        trainer = ComponentTrainer(data, STRENGTHS[choice.strength], self.batch)
        members = best_members(trainer, choice.networks, count, seeds[2], watch)
        graph = mixture_circuit(*mixed_trees(members, trainer), encoding)
        flows = count * len(columns_that_need_rows(encoding.schema)) * len(encoding.table)
        if flows <= MOST_FLOWS:
            return choose_leaves(graph, encoding.table, self.smoothing)
        some = np.arange(0, len(encoding.table), ceil(flows / MOST_FLOWS))
        return choose_leaves(graph, encoding.table.take(some), self.smoothing, is_replaced)

    def _parts(self, table: Table, valid: Table | None, rng: np.random.Generator) -> tuple[Table, Table]:
        """The rows for training, and the held-out rows."""
        held_out = table if len(table) < FEW_ROWS else None
        if valid is not None and len(useful := valid.useful_rows()):
            held_out = collapse(useful)[0]
        if held_out is None:
            held = random_subset(len(table), self.held_out * len(table), rng)
            table, held_out = table.take(np.delete(np.arange(len(table)), held)), table.take(held)
        fitted = table.take(random_subset(len(table), MOST_ROWS, rng))
        return fitted, held_out.take(random_subset(len(held_out), MOST_HELD_OUT, rng))

    def _networks(self, data: TrainingData, count: int, seed: int, watch: Watch) -> Choice:
        """Networks with a number of components in total."""
        names = strengths_for(data) if self.strength == "auto" else [self.strength]
        networks = max(1, min(self.networks, count // LEAST_SHARE))
        seeds = np.random.default_rng(seed).integers(2**63, size=networks).tolist()
        training = NetworkTraining(data, self._trainer(data), watch)
        return training.choose(names, seeds, count // networks)

    def _trainer(self, data: TrainingData) -> Trainer:
        """A trainer of networks without a strength."""
        points = min(self.points, LEAST_POINTS + len(data.rows) // ROWS_A_POINT)
        steps = min(MOST_STEPS, LEAST_STEPS + len(data.rows))
        schedule = Schedule(patience=self._patience(data), steps=steps)
        return Trainer(data, STRENGTHS["medium"], schedule, points, self.batch)

    def _patience(self, data: TrainingData) -> int:
        """The number of passes without improvement before the step size is reduced."""
        steps = min(PATIENT_STEPS, STEPS_A_COLUMN * len(data.shape.schema))
        return max(self.patience, ceil(steps / steps_a_score(data.rows, self.batch)))
