"""The search for a sum-product network of circuits: extension of leaves, and acceptance of extensions."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import csgraph

from tractable.base.arrays import Floats, Ints
from tractable.base.processes import run_in_processes
from tractable.base.progress import InnerWatch, Key, Stopped, Watch
from tractable.circuit import Graph
from tractable.circuit.states import graph_forms
from tractable.data import Table, collapse
from tractable.engine import log_values
from tractable.learning.joint.chow_liu import ChowLiuLearner
from tractable.learning.joint.idspn.tree import CircuitNode, Node, ProductNode, SumNode
from tractable.learning.joint.independent import IndependentLearner
from tractable.learning.learner import Learner
from tractable.learning.statistics.clustering import Clustering, cluster_rows
from tractable.learning.statistics.dependence import pair_gains
from tractable.learning.statistics.encoding import encode

MIN_COLUMNS, MIN_ROWS = 5, 50  # of a leaf that is extended
CIRCUIT, CLUSTERS = Key(__name__, "circuit", Graph), Key(__name__, "clusters", Ints)


@dataclass(frozen=True, kw_only=True)
class ExtensionSettings:
    """The settings for extending leaves."""

    clustering: Clustering
    dependence: float  # nats of mutual information above which two columns are dependent
    extensions: int  # maximum number of leaves that are tried
    parent_rows: (
        float  # weight, in rows, of the parent's rows in each of its parts: shrinkage towards the parent
    )
    jobs: int | None  # leaves learned in parallel; None leaves it to joblib's configuration


class _Part(Protocol):
    """A block of rows and columns."""

    @property
    def rows(self) -> Ints: ...
    @property
    def valid_rows(self) -> Ints: ...
    @property
    def columns(self) -> Ints: ...
    @property
    def final(self) -> bool: ...


class _Task(NamedTuple):
    """A leaf to be learned: its rows and columns, and whether it may be extended."""

    rows: Ints
    valid_rows: Ints
    columns: Ints
    parent_rows: Ints  # the rows that its own were divided from
    final: bool = False


class _Job(NamedTuple):
    """A learner with its tables, for this or another process."""

    name: str  # for progress reports
    learner: Learner
    part: Table
    valid: Table | None

    @property
    def key(self) -> Key[Graph]:
        """Under which checkpoints keep its circuit."""
        return CIRCUIT.at(self.name)

    def learn(self, watch: Watch, goal: float = -np.inf) -> Graph:
        """The circuit; learning may be abandoned if its score will not reach `goal`.

        When the time is over, a fast learner is used.
        """
        return watch.remember(self.key, partial(self._learn, goal), forms=graph_forms(self.part.schema))

    def _learn(self, goal: float, watch: Watch) -> Graph:
        rng = np.random.default_rng(0)
        if watch.should_stop():
            quick = IndependentLearner() if watch.must_stop() else ChowLiuLearner()
            return quick.learn(self.part, rng)
        race = InnerWatch(watch, label=self.name, goal=goal)
        return self.learner.learn(self.part, rng, valid=self.valid, watch=race)


class ExtensionSearch:
    """A run of the search on a training table and, optionally, a validation table."""

    def __init__(
        self,
        settings: ExtensionSettings,
        leaf_learner: Callable[[float], Learner],
        table: Table,
        valid: Table | None,
    ) -> None:
        self._how = settings
        self._leaf_learner = leaf_learner  # of a leaf with a given share of the table's cells
        self._table = encode(table).table  # its distinct rows
        self._valid = valid
        self._scoring_table = self._table if valid is None else valid

    def run(self, rng: np.random.Generator, watch: Watch) -> Node:
        """The tree after leaves were extended in descending order of rows."""
        watch.report("extensions", 0, self._how.extensions)
        root, tried = self._choose_root(rng, watch), set[CircuitNode]()
        for step in range(1, self._how.extensions):
            watch.report("extensions", step, self._how.extensions, self._score(root))
            leaves = [leaf for leaf in root.circuits() if leaf not in tried and self._may_extend(leaf)]
            if not leaves or watch.should_stop():
                break
            leaf = max(leaves, key=self._weight)
            tried.add(leaf)
            extended = self._extend(leaf, rng, watch.part(f"extension {step}"))
            whole = root if extended is None else root.replace_leaf(leaf, extended)
            root = whole if self._score(whole) > self._score(root) else root
        watch.report("extensions", self._how.extensions, self._how.extensions, self._score(root))
        return root

    def _choose_root(self, rng: np.random.Generator, watch: Watch) -> Node:
        """A single circuit over all rows and columns, or its extension if that scores better.

        The extension is learned first, so that the single circuit, which takes longer, can be abandoned when
        it will not score as well.
        """
        rows = np.arange(len(self._table))
        valid_rows = np.arange(0 if self._valid is None else len(self._valid))
        everything = _Task(rows, valid_rows, np.arange(len(self._table.schema)), rows)
        extended = None
        if self._how.extensions > 0 and self._may_extend(everything):
            extended = self._extend(everything, rng, watch.part("extension 0"))
        if extended is None:
            return self._learn_tasks([everything], watch)[0]
        if watch.should_stop():
            return extended
        score = self._score(extended)
        tells_score = all(
            v.is_categorical for v in self._table.schema.variables
        )  # the scores that a leaf learner takes note of leave out numeric columns
        goal = score if tells_score else -np.inf
        whole = self._learn_tasks([everything._replace(final=True)], watch, goal)[0]
        return whole if self._score(whole) > score else extended

    def _score(self, node: Node) -> float:
        weights = self._scoring_table.row_weights
        return float(weights @ node.log_values) / max(float(weights.sum()), 1e-300)

    def _may_extend(self, leaf: _Part) -> bool:
        many = leaf.columns.size >= MIN_COLUMNS and self._weight(leaf) >= MIN_ROWS
        return many and not leaf.final

    def _weight(self, leaf: _Part) -> float:
        return float(self._table.row_weights[leaf.rows].sum())

    def _extend(self, leaf: _Part, rng: np.random.Generator, watch: Watch) -> Node | None:
        """A product of sums of circuits in place of a leaf, or None if it cannot be divided in time."""
        groups = []
        try:
            for number, (columns, final) in enumerate(self._groups(leaf, watch)):
                whole = _Task(leaf.rows, leaf.valid_rows, columns, leaf.rows, final)
                group = watch.part(f"group {number}")
                groups.append([whole] if final else self._clusters(whole, rng, group))
        except Stopped:
            return None
        if sum(map(len, groups)) == 1:
            return None
        learned = iter(self._learn_tasks([task for group in groups for task in group], watch))
        parts = [self._sum([next(learned) for _ in group]) for group in groups]
        return parts[0] if len(parts) == 1 else ProductNode(parts)

    def _sum(self, parts: list[CircuitNode]) -> Node:
        weights = np.array([self._weight(part) for part in parts])
        return parts[0] if len(parts) == 1 else SumNode(parts, weights / weights.sum())

    def _groups(self, leaf: _Part, watch: Watch) -> list[tuple[Ints, bool]]:
        """Independent groups of columns; all single columns form one final group."""
        encoding = encode(self._table.take(leaf.rows).select(leaf.columns))
        information = pair_gains(encoding, 0.0, watch) / encoding.rows
        linked = np.maximum(information, information.T) > self._how.dependence
        _, label = csgraph.connected_components(linked, directed=False)
        count = np.bincount(label)
        groups = [(leaf.columns[label == one], False) for one in np.flatnonzero(count > 1)]
        single = leaf.columns[count[label] == 1]
        return [*groups, (single, True)] if single.size else groups

    def _clusters(self, whole: _Task, rng: np.random.Generator, watch: Watch) -> list[_Task]:
        """A task for each cluster of rows; a row belongs to the cluster under which it is most likely."""
        part = self._table.take(whole.rows).select(whole.columns)
        encoding = encode(part)  # rows that are equal in these columns are one row of it

        def cluster(part: Watch) -> Ints:
            return cluster_rows(encoding, rng, self._how.clustering, part.break_off)

        label: Ints = watch.remember(CLUSTERS, cluster, rng)
        centres = [
            IndependentLearner(numbers="one-leaf").learn(encoding.table.take(label == one), rng)
            for one in range(label.max() + 1)
        ]
        share = np.log(np.bincount(label, weights=encoding.weights))
        mine = _most_likely_circuit(centres, share, part)
        used = np.unique(mine)
        theirs = np.zeros(0, dtype=np.int64)
        if self._valid is not None:
            rows = self._valid.take(whole.valid_rows).select(whole.columns)
            theirs = used[_most_likely_circuit([centres[one] for one in used], share[used], rows)]
        return [
            _Task(whole.rows[mine == one], whole.valid_rows[theirs == one], whole.columns, whole.rows)
            for one in used
        ]

    def _learn_tasks(self, tasks: list[_Task], watch: Watch, goal: float = -np.inf) -> list[CircuitNode]:
        """The circuits of tasks, which do not depend on whether they are learned in parallel.

        A single task may be abandoned when its score will not reach `goal`.
        """
        jobs = [self._job(task, f"circuit {i} of {len(tasks)}") for i, task in enumerate(tasks, start=1)]
        if len(jobs) == 1 or effective_n_jobs(self._how.jobs) == 1:
            graphs = [job.learn(watch, goal) for job in jobs]
        else:
            graphs = _learn_in_parallel(jobs, self._how.jobs, watch)
        return [
            CircuitNode(graph, task.rows, task.valid_rows, self._scoring_table, final=task.final)
            for graph, task in zip(graphs, tasks, strict=True)
        ]

    def _job(self, task: _Task, name: str) -> _Job:
        """The learner of a task's circuit, with its training and validation rows."""
        weights = self._table.row_weights
        cells = float(weights[task.rows].sum()) * task.columns.size
        cell_share = cells / max(float(weights.sum()) * len(self._table.schema), 1e-300)
        valid = None
        if self._valid is not None:
            part = self._valid.take(task.valid_rows).select(task.columns)
            valid = part if len(part.useful_rows()) else None
        rows, _ = collapse(self._with_parent_rows(task))  # so that the learner need not do it again and again
        return _Job(name, self._leaf_learner(cell_share), rows, valid)

    def _with_parent_rows(self, task: _Task) -> Table:
        """The rows of a task with down-weighted rows of its parent: shrinkage towards the parent.

        The probabilities of rare states are then close to those of the parent rather than to uniform ones.
        """
        if self._how.parent_rows == 0 or task.rows.size == task.parent_rows.size:
            return self._table.take(task.rows).select(task.columns)
        weight = self._table.row_weights
        beside = self._how.parent_rows * weight / max(float(weight[task.parent_rows].sum()), 1e-300)
        beside[task.rows] += weight[task.rows]
        return self._table.take(task.parent_rows).reweight(beside[task.parent_rows]).select(task.columns)


def _learn_in_parallel(jobs: list[_Job], workers: int | None, watch: Watch) -> list[Graph]:
    """The circuits of jobs, learned in parallel as joblib is configured."""
    tasks = list(enumerate(jobs))
    results = run_in_processes(
        _learn_numbered, tasks, watch, workers, most=len(jobs), part=lambda task: task[1].key.path
    )
    graphs = dict(results)  # without those of idle processes, which Ctrl-C ends: these take no time now
    return [graphs[number] if number in graphs else job.learn(watch) for number, job in tasks]


def _learn_numbered(task: tuple[int, _Job], watch: Watch) -> tuple[int, Graph]:
    return task[0], task[1].learn(watch)


def _most_likely_circuit(graphs: list[Graph], log_share: Floats, rows: Table) -> Ints:
    """The circuit under which each row is most likely."""
    logs = np.stack([log_values(graph, rows.values) for graph in graphs])
    return np.asarray((logs + log_share[:, None]).argmax(axis=0), dtype=np.int64)
