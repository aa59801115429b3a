"""Mixtures of trees against their own claims."""

from itertools import islice

import numpy as np
import pytest
from joblib import parallel_config

from tractable.base.progress import Watch
from tractable.circuit import Builder, Graph
from tractable.data import Table, discrete_schema
from tractable.engine import log_values, samples
from tractable.learning.joint.chow_liu import ChowLiuLearner
from tractable.learning.joint.mixture_of_trees import MixtureOfTreesLearner, TreeEM, iterate_tree_em
from tractable.learning.statistics.encoding import encode
from tractable.learning.statistics.forests import Forest, forest_node

STATES = (2, 3, 2, 2, 3, 2)


def random_tree(builder: Builder, parent: list[int], rng: np.random.Generator) -> int:
    """A tree with strong links, parents before children in order of columns."""
    tables = []
    for column, above in enumerate(parent):
        lines = 1 if above < 0 else STATES[above]
        tables.append(np.log(rng.dirichlet(np.full(STATES[column], 0.2), size=lines).clip(0.02)))
        tables[-1] -= np.logaddexp.reduce(tables[-1], axis=1, keepdims=True)
    return forest_node(builder, Forest(np.array(parent), np.arange(len(parent))), tables)


def known_mixture(seed: int = 0) -> Graph:
    """Two trees of different shape, mixed 3 to 7."""
    rng = np.random.default_rng(seed)
    builder = Builder(discrete_schema(STATES))
    roots = [random_tree(builder, parent, rng) for parent in ([-1, 0, 1, 2, 3, 4], [-1, 0, 0, 0, 0, 0])]
    return builder.freeze(builder.sum(roots, np.log([0.3, 0.7])))


def drawn(graph: Graph, rows: int, seed: int) -> Table:
    return Table(graph.schema, samples(graph, np.full(len(graph.schema), np.nan), rows, seed))


def learned(table: Table, valid: Table | None = None, **settings: object) -> Graph:
    learner = MixtureOfTreesLearner(**settings)  # type: ignore[arg-type]
    return learner.learn(table, np.random.default_rng(0), valid=valid)


@pytest.mark.parametrize("seed", range(3))
def test_a_step_of_em_never_lowers_the_likelihood_without_smoothing(seed: int) -> None:
    encoding = encode(drawn(known_mixture(seed), 400, seed))
    share = np.random.default_rng(seed).dirichlet(np.ones(3), len(encoding.weights))
    climbed = iterate_tree_em(encoding, share, TreeEM(smoothing=0.0, sharing=0.0, link_cost=0.0), Watch())
    scores = [score for _, score in islice(climbed, 25)]
    assert (np.diff(scores) > -1e-6).all()
    assert scores[-1] > scores[0] + 0.01


def test_the_score_is_that_of_the_circuit() -> None:
    table = drawn(known_mixture(), 300, 0)
    encoding = encode(table)
    share = np.random.default_rng(0).dirichlet(np.ones(2), len(encoding.weights))
    how = TreeEM(smoothing=1.0, sharing=5.0, link_cost=0.0)
    mixture, score = next(iterate_tree_em(encoding, share, how, Watch()))
    graph = mixture.circuit(table.schema)
    assert score == pytest.approx(log_values(graph, table.values).mean())
    assert mixture.mean_log_prob(table) == pytest.approx(score)


def test_two_known_trees_are_recovered() -> None:
    truth = known_mixture()
    table, test = drawn(truth, 4000, 1), drawn(truth, 4000, 2)
    graph = learned(table, components=2, sharing=0.0, tolerance=1e-5, restarts=8)
    best = log_values(truth, test.values).mean()
    assert log_values(graph, test.values).mean() > best - 0.02
    assert log_values(learned(table, components=1), test.values).mean() < best - 0.04
    shares = np.sort(np.exp(graph.log_weight[graph.start[-2] :]))
    assert shares == pytest.approx([0.3, 0.7], abs=0.1)


def test_one_component_is_the_chow_liu_tree() -> None:
    table = drawn(known_mixture(), 500, 0)
    graph = learned(table, components=1, smoothing=1.0, link_cost=1.0)
    tree = ChowLiuLearner().learn(table, np.random.default_rng(0))
    np.testing.assert_allclose(log_values(graph, table.values), log_values(tree, table.values))


def test_one_tree_is_enough_for_rows_of_one_tree() -> None:
    builder = Builder(discrete_schema(STATES))
    truth = builder.freeze(random_tree(builder, [-1, 0, 1, 1, 0, 4], np.random.default_rng(3)))
    table = drawn(truth, 2000, 0)
    assert learned(table, components=(1, 2, 4)).nodes == learned(table, components=1).nodes


def test_validation_rows_choose_the_number_of_trees() -> None:
    truth = known_mixture()
    table, valid = drawn(truth, 2000, 0), drawn(truth, 2000, 1)
    graph = learned(table, valid, components=(1, 2, 16), penalty=0.0)
    alone = [learned(table, valid, components=size) for size in (1, 2)]
    score, *others = [log_values(g, valid.values).mean() for g in (graph, *alone)]
    assert score >= max(others) - 0.01


def test_the_number_of_jobs_changes_nothing() -> None:
    table = drawn(known_mixture(), 300, 0)
    alone = learned(table, components=4)
    with parallel_config(n_jobs=2):
        together = learned(table, components=4)
    np.testing.assert_array_equal(alone.child, together.child)
    np.testing.assert_array_equal(alone.log_weight, together.log_weight)


def test_missing_cells_are_learned_around() -> None:
    truth = known_mixture()
    table, test = drawn(truth, 3000, 1), drawn(truth, 2000, 2)
    values = table.values.copy()
    values[np.random.default_rng(0).random(values.shape) < 0.2] = np.nan
    graph = learned(Table(table.schema, values), components=2, restarts=8)
    assert log_values(graph, test.values).mean() > log_values(truth, test.values).mean() - 0.1


@pytest.mark.parametrize("components", [(), (0, 2)])
def test_numbers_of_components_start_at_one(components: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        MixtureOfTreesLearner(components=components)
