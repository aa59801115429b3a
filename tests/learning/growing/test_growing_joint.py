"""The joint likelihood of a Markov network: its gains, its weights, and the learners that maximise it."""

import numpy as np
import pytest
from log_linear import all_rows, dependent_table, holds, log_linear
from scipy.optimize import minimize

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.circuit import is_decomposable, is_deterministic, is_smooth
from tractable.data import Table
from tractable.engine import log_values
from tractable.learning.growing import (
    FeatureStructure,
    FitEffort,
    JointLikelihood,
    Priors,
    SplitCosts,
    SplitSearch,
)
from tractable.learning.joint import LEARNERS
from tractable.learning.joint.markov import plant_tree
from tractable.learning.statistics.forests import Forest
from tractable.queries import most_probable


def joint_likelihood(train: Table, valid: Table | None, priors: Priors) -> JointLikelihood:
    return JointLikelihood(FeatureStructure(train.schema.cardinalities), train, valid, priors)


def split(objective: JointLikelihood, feature: int, column: int) -> None:
    """Split a feature; the new ones start with weights of zero."""
    objective.structure.split(feature, column)
    objective.add_split(feature, column)


def test_a_gain_is_what_the_best_weights_of_the_new_features_add() -> None:
    priors = Priors(0.7, 0.5)
    objective = joint_likelihood(dependent_table(), None, priors)
    objective.fit(FitEffort(50, 1e-12))
    gain = objective.gains(np.array([0, 3]), 0.0)
    for line, feature in enumerate((0, 3)):
        for column in range(5):
            if column == objective.structure.conditions[feature][0][0]:
                assert gain[line, column] == 0
                continue
            slow = slow_gain(objective, feature, column, priors)
            assert gain[line, column] == pytest.approx(slow, abs=2e-3)


def slow_gain(objective: JointLikelihood, feature: int, column: int, priors: Priors) -> float:
    """The same by enumeration and a general optimiser."""
    structure = objective.structure
    rows = all_rows(structure.states)
    logs = log_linear(rows, structure.conditions, objective.weights)
    p = np.exp(logs - np.logaddexp.reduce(logs))
    new = [(*structure.conditions[feature], (column, state)) for state in range(structure.states[column])]
    hold = np.stack([holds(rows, f) for f in new], axis=1)
    data = dependent_table().values.astype(int)
    q = np.array([holds(data, f).mean() for f in new])
    # the frequency of a single column's feature is smoothed, and what is split keeps its part of it
    q *= objective.frequencies.values[feature] / holds(data, structure.conditions[feature]).mean()

    def loss(d: Floats) -> float:
        return -objective.total * (q @ d - np.log(p @ np.exp(hold @ d))) + priors.cost(d)

    starts = (np.zeros(len(new)), np.full(len(new), 0.1), np.full(len(new), -0.1))
    return -min(float(minimize(loss, d, method="Powell", tol=1e-10).fun) for d in starts)


def test_new_features_start_with_the_weights_that_make_the_gain() -> None:
    objective = joint_likelihood(dependent_table(), None, Priors(0.7, 0.5))
    objective.fit(FitEffort(50, 1e-12))
    before = objective.state.loss
    gain = objective.gains(np.array([0]), 0.0)[0, 4]
    split(objective, 0, 4)
    objective.fit(FitEffort(0, 0.0))  # evaluates the model, and leaves the weights as they are
    assert gain > 1
    assert before - objective.state.loss == pytest.approx(gain, abs=1e-6)


def test_weights_are_at_the_optimum_of_the_penalised_likelihood() -> None:
    priors = Priors(2.0, 0.5)
    objective = joint_likelihood(dependent_table(), None, priors)
    for feature, column in ((0, 1), (2, 4), (12, 3)):
        split(objective, feature, column)
    objective.fit(FitEffort(500, 0.0))
    away = objective.weights - objective.prior_mean
    unexplained = objective.frequencies.values - objective.state.expectations.expected
    slope = objective.total * unexplained - away / priors.variance
    moving = away != 0
    assert moving.any()
    assert not moving.all()
    np.testing.assert_allclose(slope[moving], priors.l1 * np.sign(away[moving]), atol=0.05)
    assert (np.abs(slope[~moving]) <= priors.l1 + 0.05).all()


def test_a_snapshot_is_returned_to_when_splits_are_undone() -> None:
    objective = joint_likelihood(dependent_table(), dependent_table(100, 1), Priors(0.1, 1.0))
    structure = objective.structure
    split(objective, 0, 1)
    objective.fit(FitEffort(20, 1e-9))
    past, edges = objective.snapshot(), structure.edges
    split(objective, 2, 3)
    objective.fit(FitEffort(20, 1e-9))
    objective.frequencies.state_shares(13)
    structure.undo(past.splits)
    objective.restore(past.weights)
    assert (structure.edges, structure.items, structure.splits) == (edges, 13, 1)
    assert objective.score == past.score
    objective.fit(FitEffort(20, 1e-9))
    assert objective.score == pytest.approx(past.score, abs=1e-3)
    split(objective, 4, 3)  # its new features have the numbers that others had
    again = joint_likelihood(dependent_table(), None, Priors(0.1, 1.0))
    split(again, 0, 1)
    split(again, 4, 3)
    np.testing.assert_array_equal(objective.frequencies.state_shares(13), again.frequencies.state_shares(13))


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_frozen_circuit_is_the_model_and_has_every_property(missing: float) -> None:
    data = dependent_table(missing=missing)
    objective = joint_likelihood(data, None, Priors(0.1, 1.0))
    structure = objective.structure
    SplitSearch(objective, SplitCosts(split=1.0, edge=0.01, max_edges=2000), Watch()).run(10)
    objective.fit(FitEffort(50, 1e-9))
    graph = structure.freeze(data.schema, objective.weights, -objective.log_partition)
    rows = all_rows(structure.states)
    logs = log_linear(rows, structure.conditions, objective.weights)
    np.testing.assert_allclose(
        log_values(graph, rows.astype(float)), logs - np.logaddexp.reduce(logs), atol=1e-9
    )
    assert is_smooth(graph)
    assert is_decomposable(graph)
    assert is_deterministic(graph)
    assert graph.features is not None
    assert len(graph.features) == structure.items + 1
    assert structure.splits > 2
    assert structure.edges <= 2000


def test_a_planted_tree_is_as_small_as_a_compiled_one() -> None:
    objective = joint_likelihood(dependent_table(), None, Priors(0.0, 10.0))
    chain = Forest(np.array([-1, 0, 1, 2, 3]), np.arange(5))
    plant_tree(objective, chain, 1e-9, dependent_table().schema)
    # Sums of two edges for each state above; products of an indicator, two weights and what follows.
    assert objective.structure.edges < 110
    objective.fit(FitEffort(200, 1e-12))
    np.testing.assert_allclose(objective.state.expectations.expected, objective.frequencies.values, atol=0.01)


def test_priors_keep_a_planted_tree_as_it_is() -> None:
    """However strong they are: without splits, the model is the tree of smoothed conditionals."""
    data = dependent_table(rows=30)
    chain = Forest(np.array([-1, 0, 1, 2, 3]), np.arange(5))
    objective = joint_likelihood(data, None, Priors(100.0, 0.01))
    plant_tree(objective, chain, 1.0, data.schema)
    objective.fit(FitEffort(100, 1e-9))
    structure = objective.structure
    graph = structure.freeze(data.schema, objective.weights, -objective.log_partition)
    rows = all_rows(structure.states)
    p = [objective.frequencies.values[structure.states_of(column)] for column in range(5)]
    logs = np.log(p[0])[rows[:, 0]]
    for column in range(1, 5):
        own, above = data.values[:, column], data.values[:, column - 1]
        for row in range(len(rows)):
            s, t = rows[row, column], rows[row, column - 1]
            smoothed = len(data) * p[column][s]
            part = (smoothed * (above[own == s] == t).mean() + p[column - 1][t]) / (smoothed + 1)
            logs[row] += np.log(p[column][s] * part / p[column - 1][t])
    logs -= np.logaddexp.reduce(logs)
    np.testing.assert_allclose(log_values(graph, rows.astype(float)), logs, atol=1e-6)


@pytest.mark.parametrize("name", ["acmn", "eacmn", "acbn"])
def test_the_most_probable_completion_is_exact(name: str) -> None:
    data = dependent_table()
    graph = LEARNERS[name]().learn(data, np.random.default_rng(0))
    rows = all_rows(data.schema.cardinalities).astype(float)
    logs = log_values(graph, rows)
    for column, state in ((0, 1), (4, 2)):
        row = np.full(5, np.nan)
        row[column] = state
        best = most_probable(graph, row[None, :])
        assert best.exact.all()
        assert best.log_value[0] == pytest.approx(logs[rows[:, column] == state].max(), abs=1e-9)


@pytest.mark.parametrize("name", ["acmn", "eacmn", "acbn"])
def test_the_number_of_edges_is_kept_to(name: str) -> None:
    graph = LEARNERS[name](max_edges=130, edge_cost=0.001).learn(dependent_table(), np.random.default_rng(0))  # type: ignore[call-arg]
    assert graph.edges <= 132  # with the factor that makes it sum to one
