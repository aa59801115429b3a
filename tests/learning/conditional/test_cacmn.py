"""CACMN: a Markov network's weights fitted to targets given inputs, on a circuit over the targets alone."""

from dataclasses import replace

import numpy as np
import pytest

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.circuit import Graph
from tractable.data import Table, discrete_schema
from tractable.learning.conditional.cacmn import CACMNLearner, NetworkLikelihood, fit_network
from tractable.learning.conditional.field.rows import conditional_network
from tractable.learning.conditional.learner import as_joint_table, with_roles
from tractable.learning.growing import FitEffort, Priors
from tractable.learning.joint.markov import EACMNLearner
from tractable.queries import log_prob

STATES = (2, 3, 2, 2, 3, 2, 2)
TARGETS = (0, 1, 4, 5)


def table(rows: int = 400, seed: int = 0) -> Table:
    """Targets of two or three states that depend on inputs and on each other."""
    draw = np.random.default_rng(seed)
    x = np.stack([draw.integers(k, size=rows) for k in STATES], axis=1)
    noisy = draw.random((rows, 4)) < 0.2
    x[:, 0] = np.where(noisy[:, 0], x[:, 0], x[:, 2] ^ x[:, 3])
    x[:, 1] = np.where(noisy[:, 1], x[:, 1], x[:, 0] + x[:, 6])
    x[:, 4] = np.where(noisy[:, 2], x[:, 4], (x[:, 1] + x[:, 3]) % 3)
    x[:, 5] = np.where(noisy[:, 3], x[:, 5], (x[:, 4] > 0) ^ x[:, 2])
    return Table(discrete_schema(STATES).with_targets(TARGETS), x.astype(np.float64))


def network(rows: Table | None = None) -> Graph:
    """The joint network over all columns, with the roles of the table."""
    rows = table() if rows is None else rows
    how = EACMNLearner(split_cost=0.5, edge_cost=0.001)
    return with_roles(how.learn(as_joint_table(rows), np.random.default_rng(0)), rows.schema)


def likelihood(graph: Graph, rows: Table, valid: Table | None = None) -> NetworkLikelihood:
    schema, features = graph.schema, graph.features
    assert features is not None
    found = conditional_network(features, (schema.targets, schema.inputs), schema.cardinalities, 10_000)
    assert found is not None
    return NetworkLikelihood(found, features.log_weight[found.feature], (rows, valid), Priors(0.5, 1.0))


def weighted_mean(rows: Table, logs: Floats) -> float:
    return float(np.average(logs, weights=rows.row_weights))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_circuit_over_targets_scores_as_the_joint_one(weighted: bool) -> None:
    rows, graph = table(), network()
    assert graph.features is not None
    assert max(np.diff(graph.features.start)) > 2  # conjunctions of several columns are among the features
    if weighted:
        rows = replace(rows, weights=np.random.default_rng(1).integers(0, 3, len(rows)).astype(float))
    expected = weighted_mean(rows, log_prob(graph, rows.values))
    assert likelihood(graph, rows).score == pytest.approx(expected, abs=1e-12)
    assert likelihood(graph, table(50, 1), rows).score == pytest.approx(expected, abs=1e-12)


def test_the_gradient_is_that_of_differences() -> None:
    objective = likelihood(network(), table(60))
    start = objective.weights
    gradient = objective._target.frequency - objective._expectations(start).expected

    def score(weights: Floats) -> float:
        objective.change_priors(objective.priors, weights)
        return objective.score

    for direction in [np.random.default_rng(2).normal(size=start.size), *np.eye(start.size)[-6:]]:
        slope = (score(start + 1e-5 * direction) - score(start - 1e-5 * direction)) / 2e-5
        assert gradient @ direction == pytest.approx(slope, abs=1e-7)


def test_the_fitted_circuit_is_the_network_that_was_fitted() -> None:
    rows, valid, graph = table(), table(seed=1), network()
    fitted = fit_network(graph, (rows, valid), Priors(1.0, 1.0), Watch())
    assert fitted is not None
    assert fitted.features is not None
    before, after = (weighted_mean(valid, log_prob(g, valid.values)) for g in (graph, fitted))
    assert after > before
    objective = likelihood(fitted, rows, valid)
    assert objective.score == pytest.approx(after, abs=1e-12)


def test_weights_of_features_over_inputs_alone_stay() -> None:
    rows, graph = table(), network()
    fitted = fit_network(graph, (rows, None), Priors(0.0, 10.0), Watch())
    assert graph.features is not None
    assert fitted is not None
    assert fitted.features is not None
    schema, features = graph.schema, graph.features
    found = conditional_network(features, (schema.targets, schema.inputs), schema.cardinalities, 10_000)
    assert found is not None
    others = np.setdiff1d(np.arange(len(features)), found.feature)
    assert others.size
    np.testing.assert_array_equal(features.log_weight[others], fitted.features.log_weight[others])
    assert not np.allclose(features.log_weight, fitted.features.log_weight)


def test_strong_priors_keep_the_joint_network() -> None:
    graph = network()
    objective = likelihood(graph, table())
    start = objective.weights
    objective.change_priors(Priors(1e6, 1.0), start)
    objective.fit(FitEffort(20, 0.0), Watch())
    np.testing.assert_array_equal(objective.weights, start)


def test_what_is_no_network_is_fitted_another_way() -> None:
    rows, graph = table(), network()
    gaps = rows.values.copy()
    gaps[0, 0] = np.nan
    priors = Priors(1.0, 1.0)
    assert fit_network(graph, (replace(rows, values=gaps), None), priors, Watch()) is None
    assert fit_network(replace(graph, features=None), (rows, None), priors, Watch()) is None
    assert graph.features is not None
    schema = graph.schema
    roles = (schema.targets, schema.inputs)
    assert conditional_network(graph.features, roles, schema.cardinalities, 30) is None


def test_both_ways_to_fit_lead_to_the_same_weights() -> None:
    """A missing target in a row of no weight leads to the fit by flows of the joint circuit."""
    rows = table()
    how = CACMNLearner(l1=0.5, deviation=1.0, iterations=30)
    graph, draw = network(), np.random.default_rng(0)
    quick = how.fit_weights(graph, rows, draw, None, Watch())
    slow = how.fit_weights(replace(graph, features=None), rows, draw, None, Watch())
    quick_logs, slow_logs = (log_prob(g, rows.values).mean() for g in (quick, slow))
    assert quick_logs == pytest.approx(slow_logs, abs=2e-3)
    assert quick_logs > log_prob(graph, rows.values).mean() + 0.01
