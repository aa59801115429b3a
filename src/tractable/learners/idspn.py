"""Rooshenas and Lowd, «Learning Sum-Product Networks with Direct and Indirect Variable Interactions», 2014."""

import time
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, final

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csgraph

from tractable.arrays import Ints
from tractable.circuit import Graph
from tractable.data import Table
from tractable.engine import log_values
from tractable.learners.clusters import Clustering, cluster_rows
from tractable.learners.dependence import pair_gains
from tractable.learners.eacmn import EACMNLearner
from tractable.learners.encoding import encode
from tractable.learners.independent import IndependentLearner
from tractable.learners.learner import Learner, require_at_least
from tractable.learners.spac import CircuitNode, Node, ProductNode, SumNode
from tractable.parameters import fit
from tractable.parameters.cccp import CCCP
from tractable.progress import Watch

FEWEST_COLUMNS, FEWEST_ROWS = 5, 50  # of a circuit that is extended


@final
@dataclass(frozen=True, kw_only=True)
class IDSPNLearner(Learner):
    """A tree of sums and products grown from the root, with Markov networks and their circuits as leaves.

    A leaf is extended by a product over independent groups of columns, of sums over clusters of rows, of new
    leaves; the extension stays if the whole model is better with it.
    """

    name: ClassVar[str] = "idspn"
    title: ClassVar[str] = "sum-product network of circuits"

    clusters: int = 10  # of a sum, at most
    cluster_cost: float = 0.3  # nats that a cluster must gain on all rows for each of its parameters
    dependence: float = 0.001  # nats of mutual information above which two columns are not independent
    extensions: int = 5  # leaves that are tried to extend, at most
    l1: float = 1.0  # cost of the absolute value of a weight, scaled to the share of rows and columns
    least_l1: float = 0.5
    variance: float = 0.5  # of the Gaussian prior of a weight
    split_cost: float = 4.0  # nats that a split must gain, scaled alike
    least_split_cost: float = 3.0
    max_edges: int = 300_000  # of a circuit on all rows and columns, scaled alike
    least_max_edges: int = 50_000
    smoothing: float = 1.0  # imaginary rows in the distribution of each column alone
    refit: bool = True  # whether all sums are fitted by EM in the end, where there are validation rows
    jobs: int = -1  # circuits learned side by side; -1 for as many as there are cores

    def __post_init__(self) -> None:
        require_at_least(self, clusters=1, cluster_cost=0, dependence=0, extensions=0, l1=0, least_l1=0)
        require_at_least(self, variance=1e-9, split_cost=0, least_split_cost=0, max_edges=0, least_max_edges=0)
        require_at_least(self, smoothing=0)

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Graph:
        growth = _Growth(self, table, valid, rng, watch)
        root = growth.run()
        graph = root.graph()
        graph = graph if graph.schema == table.schema else _in_order(graph, table)
        if not self.refit or valid is None or watch.should_stop():
            return graph
        return fit(graph, table, CCCP(iterations=10, patience=1), rng, valid=valid, watch=watch).graph


class _Task(NamedTuple):
    """A circuit to be learned."""

    rows: Ints
    valid_rows: Ints
    columns: Ints
    final: bool = False


class _Growth:
    """One run: rows, and the tree so far."""

    def __init__(
        self, how: IDSPNLearner, table: Table, valid: Table | None, rng: np.random.Generator, watch: Watch
    ) -> None:
        self.how = how
        self.table = encode(table).table  # equal rows are one
        self.valid = valid
        self.judge = self.table if valid is None else valid
        self.rng = rng
        self.watch = watch

    def run(self) -> Node:
        """The tree, grown leaf by leaf, those with most rows first."""
        everything = _Task(
            np.arange(len(self.table)),
            np.arange(0 if self.valid is None else len(self.valid)),
            np.arange(len(self.table.schema)),
        )
        root: Node = self._learned([everything])[0]
        tried: set[CircuitNode] = set()
        for step in range(self.how.extensions):
            self.watch.report("extensions", step, self.how.extensions, self._score(root))
            open_leaves = [leaf for leaf in root.circuits() if leaf not in tried and self._may_extend(leaf)]
            if not open_leaves or self.watch.should_stop():
                break
            leaf = max(open_leaves, key=lambda one: self.table.row_weights[one.rows].sum())
            tried.add(leaf)
            extended = self._extended(leaf)
            if extended is not None:
                whole = root.replaced(leaf, extended)
                if self._score(whole) > self._score(root):
                    root = whole
        self.watch.report("extensions", self.how.extensions, self.how.extensions, self._score(root))
        return root

    def _score(self, node: Node) -> float:
        return float(np.average(node.log_values, weights=self.judge.row_weights))

    def _may_extend(self, leaf: CircuitNode) -> bool:
        many = leaf.columns.size >= FEWEST_COLUMNS and leaf.rows.size >= FEWEST_ROWS
        return many and not leaf.final

    def _extended(self, leaf: CircuitNode) -> Node | None:
        """A product of sums of circuits in the place of a leaf; None if there is nothing to divide."""
        groups = self._groups(leaf)
        tasks, sizes = [], []
        for columns, final in groups:
            lot = [_Task(leaf.rows, leaf.valid_rows, columns, True)] if final else self._clusters(leaf, columns)
            tasks += lot
            sizes.append(len(lot))
        if len(tasks) == 1:
            return None
        learned = iter(self._learned(tasks))
        parts = [self._sum([next(learned) for _ in range(size)]) for size in sizes]
        return parts[0] if len(parts) == 1 else ProductNode(parts)

    def _sum(self, parts: list[CircuitNode]) -> Node:
        weights = np.array([self.table.row_weights[part.rows].sum() for part in parts])
        return parts[0] if len(parts) == 1 else SumNode(parts, weights / weights.sum())

    def _groups(self, leaf: CircuitNode) -> list[tuple[Ints, bool]]:
        """The columns in groups that tell nothing about each other; single ones are one final group."""
        encoding = encode(self.table.take(leaf.rows).select(leaf.columns))
        information = pair_gains(encoding, 0.0) / encoding.rows
        linked = np.maximum(information, information.T) > self.how.dependence
        _, label = csgraph.connected_components(linked, directed=False)
        count = np.bincount(label)
        groups = [(leaf.columns[label == one], False) for one in np.flatnonzero(count > 1)]
        single = leaf.columns[count[label] == 1]
        return [*groups, (single, True)] if single.size else groups

    def _clusters(self, leaf: CircuitNode, columns: Ints) -> list[_Task]:
        """A task for each cluster of a leaf's rows."""
        part = self.table.take(leaf.rows).select(columns)
        encoding = encode(part)
        label = cluster_rows(
            encoding, self.rng, Clustering(clusters=self.how.clusters, penalty=self.how.cluster_cost)
        )
        # Rows that are equal in these columns are one row of the encoding: ask which one each is.
        names = [
            IndependentLearner(smoothing=self.how.smoothing).learn(encoding.table.take(label == one), self.rng)
            for one in range(label.max() + 1)
        ]
        share = np.log(np.bincount(label, weights=encoding.weights))
        mine = _likeliest(names, share, part)
        valid_rows = leaf.valid_rows
        theirs = np.zeros(valid_rows.size, dtype=np.int64)
        if self.valid is not None and valid_rows.size:
            theirs = _likeliest(names, share, self.valid.take(valid_rows).select(columns))
        used = np.unique(mine)
        return [_Task(leaf.rows[mine == one], valid_rows[theirs == one], columns) for one in used]

    def _learned(self, tasks: list[_Task]) -> list[CircuitNode]:
        seconds = None if self.watch.left is None else max(1.0, self.watch.left)
        jobs = [self._job(task, seconds) for task in tasks]
        graphs = Parallel(n_jobs=min(len(jobs), self.how.jobs) if self.how.jobs > 0 else self.how.jobs)(jobs)
        return [
            CircuitNode(graph, task.rows, task.valid_rows, self.judge, final=task.final)
            for graph, task in zip(graphs, tasks, strict=True)
        ]

    def _job(self, task: _Task, seconds: float | None) -> "tuple[object, ...]":
        part = self.table.take(task.rows).select(task.columns)
        valid = None
        if self.valid is not None and task.valid_rows.size:
            valid = self.valid.take(task.valid_rows).select(task.columns)
        return delayed(_learn_circuit)(self._leaf_learner(part), part, valid, seconds)

    def _leaf_learner(self, part: Table) -> Learner:
        how = self.how
        share = len(part.schema) / len(self.table.schema)
        share *= part.row_weights.sum() / max(self.table.row_weights.sum(), 1e-300)
        return EACMNLearner(
            l1=max(how.least_l1, how.l1 * share),
            variance=how.variance,
            split_cost=max(how.least_split_cost, how.split_cost * share),
            max_edges=int(max(how.least_max_edges, how.max_edges * share)),
            smoothing=how.smoothing,
        )


def _learn_circuit(learner: Learner, part: Table, valid: Table | None, seconds: float | None) -> Graph:
    return learner.learn(part, np.random.default_rng(0), valid=valid, watch=Watch(seconds=seconds))


def _likeliest(graphs: list[Graph], log_share: "np.typing.NDArray[np.float64]", rows: Table) -> Ints:
    """The circuit that each row most likely comes from."""
    logs = np.stack([log_values(graph, rows.values) for graph in graphs])
    return np.asarray((logs + log_share[:, None]).argmax(axis=0), dtype=np.int64)


def _in_order(graph: Graph, table: Table) -> Graph:
    """The same circuit with its columns in the order of a table."""
    place = np.array([*table.schema.columns(graph.schema.names), -1])
    leaves = tuple(replace(block, column=place[block.column]) for block in graph.leaves)
    return replace(graph, schema=table.schema, leaves=leaves)
