"""The search for splits: it knows objectives only by their interface, stops early, and keeps checkpoints."""

from collections.abc import Callable

import numpy as np
import pytest
from log_linear import all_rows, dependent_table, holds
from scipy.optimize import minimize

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import InnerWatch, Progress, StoredCheckpoints, Watch
from tractable.data import Table, discrete_schema
from tractable.engine import log_values
from tractable.learning.growing import (
    CandidateTable,
    FeatureStructure,
    FitEffort,
    JointLikelihood,
    Objective,
    Priors,
    SplitCosts,
    SplitSearch,
)
from tractable.learning.growing.search import FAIR_CHANCE, Race
from tractable.learning.joint.bayesian.acbn import TreeLikelihood, TreeStructure
from tractable.learning.joint.bayesian.search import TreeSearch

COSTS = SplitCosts(split=1.0, edge=0.01, max_edges=2000)


class ConditionalLikelihood(Objective):
    """The likelihood of some columns given the others, from its definition: a toy for small tables.

    There is a partition function for every row of inputs, so gains do not follow from feature frequencies.
    """

    structure: FeatureStructure

    def __init__(self, structure: FeatureStructure, rows: Ints, targets: list[int]) -> None:
        super().__init__(structure)
        completions = all_rows(structure.states[targets])
        self._worlds = np.repeat(rows[:, None, :], len(completions), axis=1)  # (rows, completions, columns)
        self._worlds[:, :, targets] = completions
        self._truth = (self._worlds == rows[:, None, :]).all(axis=2).argmax(axis=1)
        self._start: dict[tuple[int, int], Floats] = {}
        self._weights = np.zeros(structure.items)

    @property
    def weights(self) -> Floats:
        return self._weights

    @property
    def score(self) -> float:
        return self._log_likelihood(self._weights) / len(self._worlds)

    def gains(self, items: Ints, least: float) -> Floats:
        gain = np.zeros((items.size, self.structure.states.size))
        now = self._log_likelihood(self._weights)
        for line, item in enumerate(items.tolist()):
            conditions = self.structure.conditions[item]
            for column in set(range(self.structure.states.size)) - {c for c, _ in conditions}:
                new = [(*conditions, (column, state)) for state in range(self.structure.states[column])]
                best = self._maximise(np.zeros(len(new)), self._holds(new), self._logs(self._weights))
                self._start[item, column] = best
                logs = self._logs(self._weights) + self._holds(new) @ best
                gain[line, column] = self._conditional(logs) - now
        return gain

    def add_split(self, item: int, column: int) -> None:
        self._weights = np.concatenate([self._weights, self._start[item, column]])
        self._start.clear()

    def fit(self) -> None:
        features = self._holds(self.structure.conditions)
        self._weights = self._maximise(self._weights, features, np.zeros(features.shape[:2]))

    def restore(self, weights: Floats) -> None:
        self._weights = weights

    def _holds(self, features: list[tuple[tuple[int, int], ...]]) -> Floats:
        """Whether each feature holds in each world. Shape (rows, completions, features)."""
        flat = self._worlds.reshape(-1, self._worlds.shape[2])
        return np.stack([holds(flat, f) for f in features], axis=1).reshape(*self._worlds.shape[:2], -1)

    def _logs(self, weights: Floats) -> Floats:
        return self._holds(self.structure.conditions[: weights.size]) @ weights

    def _log_likelihood(self, weights: Floats) -> float:
        return self._conditional(self._logs(weights))

    def _conditional(self, logs: Floats) -> float:
        """The log-likelihood of the true completions, given unnormalised logarithms."""
        truth = np.take_along_axis(logs, self._truth[:, None], axis=1)[:, 0]
        return float((truth - np.logaddexp.reduce(logs, axis=1)).sum())

    def _maximise(self, start: Floats, features: Floats, constant: Floats) -> Floats:
        def loss(weights: Floats) -> tuple[float, Floats]:
            logs = constant + features @ weights
            p = np.exp(logs - np.logaddexp.reduce(logs, axis=1)[:, None])
            truth = features[np.arange(len(features)), self._truth]
            slope = (np.einsum("rc,rcf->rf", p, features) - truth).sum(axis=0)
            return -self._conditional(logs) + 0.1 * float(weights @ weights), slope + 0.2 * weights

        return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B").x)


def conjunction(rows: int) -> Ints:
    """Two inputs, a target that tells whether both are 1, with some noise, and an input that says nothing."""
    rng = np.random.default_rng(0)
    values = rng.integers(2, size=(rows, 4))
    noise = rng.random(rows) < 0.1
    values[:, 2] = (values[:, 0] & values[:, 1]) ^ noise
    values[:, 3] = rng.integers(3, size=rows)
    return values


def test_a_conditional_likelihood_drives_the_same_search() -> None:
    rows = conjunction(60)
    structure = FeatureStructure(np.array([2, 2, 2, 3]))
    objective = ConditionalLikelihood(structure, rows, targets=[2])
    objective.fit()
    share = rows[:, 2].mean()
    assert objective.score == pytest.approx(share * np.log(share) + (1 - share) * np.log(1 - share), abs=0.01)
    before = objective.score
    SplitSearch(objective, SplitCosts(split=1.0, edge=0.1, max_edges=120), Watch()).run(3)
    assert objective.score > before + 0.2
    assert structure.edges <= 120
    assert any({0, 1, 2} <= {c for c, _ in conditions} for conditions in structure.conditions)
    graph = structure.freeze(discrete_schema([2, 2, 2, 3]), objective.weights)
    both = np.repeat(rows[:, None, :], 2, axis=1)
    both[:, :, 2] = [0, 1]
    logs = log_values(graph, both.reshape(-1, 4).astype(float)).reshape(-1, 2)
    conditional = logs[np.arange(len(rows)), rows[:, 2]] - np.logaddexp.reduce(logs, axis=1)
    assert conditional.mean() == pytest.approx(objective.score)


class FixedGains(Objective):
    """Gains that are given once and for all; the score falls after some splits."""

    def __init__(self, structure: FeatureStructure, gain: Floats, best_splits: int) -> None:
        super().__init__(structure)
        self._gain = gain
        self._best_splits = best_splits
        self.asked: list[int] = []

    @property
    def weights(self) -> Floats:
        return np.zeros(self.structure.items)

    @property
    def score(self) -> float:
        return -abs(float(self.structure.splits - self._best_splits))

    def support(self, items: Ints) -> Floats:
        return np.where(items == 1, 0.1, 1.0)

    def gains(self, items: Ints, least: float) -> Floats:
        self.asked.extend(items.tolist())
        padded = np.zeros((self.structure.items, self.structure.states.size))
        padded[: len(self._gain)] = self._gain
        return padded[items]

    def add_split(self, item: int, column: int) -> None:
        pass

    def fit(self) -> None:
        pass

    def restore(self, weights: Floats) -> None:
        assert weights.size == self.structure.items


def fixed_search(best_splits: int) -> tuple[SplitSearch, FixedGains]:
    gain = np.zeros((6, 3))
    gain[0, 1], gain[2, 2], gain[4, 0], gain[1, 2], gain[5, 1] = 50.0, 90.0, 70.0, 99.0, 0.5
    objective = FixedGains(FeatureStructure(np.array([2, 2, 2])), gain, best_splits)
    costs = SplitCosts(split=1.0, edge=0.01, max_edges=1000, least_support=0.5)
    return SplitSearch(objective, costs, Watch()), objective


def test_the_best_split_is_made_first_and_what_has_little_support_never() -> None:
    search, objective = fixed_search(best_splits=9)
    search.run(patience=9)
    assert objective.structure.history.tolist() == [[2, 2], [4, 0], [0, 1]]
    assert 1 not in objective.asked


def test_the_search_stops_early_and_returns_to_the_best_model() -> None:
    search, objective = fixed_search(best_splits=1)
    search.run(patience=2)
    assert objective.structure.history.tolist() == [[2, 2]]
    assert objective.structure.items == 8
    assert len(objective.structure.conditions) == 8  # type: ignore[attr-defined]


class _Memory:
    """A checkpoint in memory; the work is broken off when it was written, while `breaks`."""

    def __init__(self) -> None:
        self.checkpoint: bytes | None = None
        self.breaks = True

    def read(self) -> bytes | None:
        return self.checkpoint

    def write(self, checkpoint: bytes) -> None:
        self.checkpoint = checkpoint
        if self.breaks:
            raise InterruptedError


def joint_search(watch: Watch) -> SplitSearch:
    train, valid = dependent_table(), dependent_table(100, 1)
    structure = FeatureStructure(train.schema.cardinalities)
    objective = JointLikelihood(structure, train, valid, Priors(0.1, 1.0), effort=FitEffort(5, 1e-6))
    objective.fit(FitEffort(50, 1e-9))
    return SplitSearch(objective, COSTS, watch)


def tree_search(watch: Watch) -> SplitSearch:
    trees = TreeSearch(dependent_table(), split_penalty=1.0, held_out=dependent_table(100, 1))
    objective = TreeLikelihood(TreeStructure(trees), is_validated=True)
    return SplitSearch(objective, SplitCosts(split=0.0, edge=0.01, max_edges=2000), watch)


@pytest.mark.parametrize("new_search", [joint_search, tree_search])
def test_a_search_that_was_broken_off_continues_from_its_checkpoint(
    new_search: Callable[[Watch], SplitSearch],
) -> None:
    memory = _Memory()
    told: list[Progress] = []

    def next_run() -> SplitSearch:
        told.clear()
        return new_search(Watch(told.append, checkpoints=StoredCheckpoints(memory, 0.0)))

    whole = new_search(Watch(told.append))
    whole.run(5)
    all_told = list(told)
    for splits in range(1, 5):  # each run gets one split further
        search = next_run()
        with pytest.raises(InterruptedError):
            search.run(5)
        assert search.splits == splits
    memory.breaks = False
    last = next_run()
    last.run(5)
    np.testing.assert_array_equal(last.structure.history, whole.structure.history)
    np.testing.assert_array_equal(last.objective.weights, whole.objective.weights)
    assert last._scores == whole._scores  # also those of the earlier runs, by which it may be given up
    assert 0 < len(told) < len(all_told)
    assert told == all_told[-len(told) :]


@pytest.mark.parametrize("goal", [-9.5, -9.0, -8.5, -np.inf])
def test_a_race_is_lost_when_too_little_is_gained_to_catch_up(goal: float) -> None:
    """Scores rise from -10, slower and slower, to -9 after 400 splits."""
    race, splits = Race(goal), 0
    while splits < 400 and not race.is_lost:
        splits += 1
        race.note_score(-10 + np.sqrt(splits / 400))
    assert splits == 400 if goal <= -9 else FAIR_CHANCE < splits < 400


def test_a_search_ends_when_it_will_not_reach_its_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tractable.learning.growing.search.FAIR_CHANCE", 3)
    outer = Watch()
    lost, whole = joint_search(InnerWatch(outer, goal=1e9).part("search")), joint_search(outer)
    for search in (lost, whole):
        search.run(5)
    assert lost.splits <= 3 < whole.splits
    assert not lost.watch.should_stop()  # the work around it goes on


def test_the_score_of_trees_is_what_the_validation_rows_gain() -> None:
    train, valid = dependent_table(), dependent_table(100, 1)
    search = tree_search(Watch())
    before = mean_log_likelihood(search, valid)
    search.run(2)
    assert search.splits > 0
    gained = mean_log_likelihood(search, valid) - before
    assert search.objective.score == pytest.approx(len(valid) * gained)
    assert train.schema == valid.schema


def mean_log_likelihood(search: SplitSearch, table: Table) -> float:
    graph = search.structure.freeze(table.schema, search.objective.weights)
    return float(log_values(graph, table.values).mean())


def test_what_can_score_above_zero_is_promising_to_the_last_digit() -> None:
    """Gains are in single precision; if costs were rounded alike, the search would never come to an end."""
    split_cost = 100.3
    gain = float(np.float32(split_cost))
    assert gain > split_cost
    table = CandidateTable(1, split_cost, edge_cost=1e-9)
    table.add_items(1)
    table.set_gains(np.array([0]), np.array([[gain]]), 0)
    assert table.best_item() == 0
    assert table.promising_columns(0).all()
