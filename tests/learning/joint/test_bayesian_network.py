"""Bayesian networks of decision trees: gains are exact, parents form no circle, too large ones are cut."""

import os
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tractable as tr
from tractable.base.arrays import Floats
from tractable.base.progress import Progress, Watch
from tractable.circuit import is_deterministic
from tractable.data import Schema, Table, Variable, discrete_schema, read
from tractable.engine import log_values
from tractable.learning.joint.bayesian.network import BayesianNetworkLearner
from tractable.learning.joint.bayesian.search import TreeSearch
from tractable.networks import Network, TreeFactor, compile_network, log_prob_of_rows

SHARED = Path(os.environ.get("TRACTABLE_DATA") or Path(__file__).parents[3].parent / "shared" / "data")


def random_table(seed: int = 0, rows: int = 200, missing: float = 0.0) -> Table:
    """Columns of 2, 3, 1, 4 and 2 states, the last two told by the first two."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, [2, 3, 1, 4, 2], (rows, 5)).astype(np.float64)
    values[:, 3] = np.where(rng.random(rows) < 0.6, values[:, 1] + values[:, 0], values[:, 3])
    values[:, 4] = np.where(rng.random(rows) < 0.8, values[:, 0], values[:, 4])
    values[rng.random(values.shape) < missing] = np.nan
    return Table(discrete_schema([2, 3, 1, 4, 2]), values, rng.integers(0, 4, rows).astype(np.float64))


def xor_table(rows: int = 400) -> Table:
    """The third column is whether the first two differ: neither tells anything about it alone."""
    rng = np.random.default_rng(5)
    first, second = rng.integers(0, 2, (2, rows))
    values = np.column_stack([first, second, first ^ second]).astype(np.float64)
    return Table(discrete_schema([2, 2, 2]), values)


def reaching(search: TreeSearch, table: Table, leaf: int) -> np.ndarray:
    """Which rows of a table are known to end in a leaf, by the conditions of its path."""
    here = search.leaf(leaf)
    answer = ~table.missing[:, here.child]
    for column, state in zip(here.columns, here.states, strict=True):
        answer &= table.values[:, column] == state
    return answer


def log_likelihood(table: Table, rows: np.ndarray, child: int, smoothing: float) -> float:
    """Of the child in some rows, under their own smoothed distribution."""
    states = table.schema[child].cardinality
    counts = np.array([table.row_weights[rows & (table.values[:, child] == k)].sum() for k in range(states)])
    smoothed = counts + smoothing / states
    return float(counts @ np.log(smoothed / smoothed.sum()))


def obvious_gain(search: TreeSearch, table: Table, leaf: int, column: int) -> float:
    """The change of the log-likelihood over the rows in which child and column are seen."""
    child = search.leaf(leaf).child
    rows = reaching(search, table, leaf) & ~table.missing[:, column]
    parts = [rows & (table.values[:, column] == k) for k in range(table.schema[column].cardinality)]
    after = sum(log_likelihood(table, part, child, search.smoothing) for part in parts)
    states = table.schema.cardinalities
    cost = search.split_penalty * (states[column] - 1) * (states[child] - 1)
    return float(after - log_likelihood(table, rows, child, search.smoothing) - cost)


def grown(table: Table, splits: int, **settings: float) -> TreeSearch:
    search = TreeSearch(table, **settings)  # type: ignore[arg-type]
    for _ in range(splits):
        best = search.best()
        assert best is not None
        search.split(best[0], best[1])
    return search


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_gains_are_those_of_the_definition_in_every_leaf(missing: float) -> None:
    table = random_table(1, missing=missing)
    search = grown(table, 4, smoothing=1.5, split_penalty=0.2)
    for leaf in search.open_leaves():
        for column in range(5):
            if search.is_valid(leaf, column):
                assert search.gain(leaf, column) == pytest.approx(obvious_gain(search, table, leaf, column))


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_best_split_is_the_best_of_all_valid_ones(missing: float) -> None:
    table = random_table(2, missing=missing)
    search = TreeSearch(table, split_penalty=0.05)
    while (best := search.best()) is not None:
        every = [
            (search.gain(leaf, column), -leaf, -column)
            for leaf in search.open_leaves()
            for column in range(5)
            if search.is_valid(leaf, column)
        ]
        assert best[2] == max(every)[0]
        open_now = search.candidates()
        listed = {(int(a), int(b)): float(g) for a, b, g in zip(*open_now, strict=True)}
        assert listed == {(-a, -b): gain for gain, a, b in every if gain > 1e-6}
        search.split(best[0], best[1])
    assert len(search.splits) > 4


def test_gains_of_splits_add_up_to_the_change_of_the_log_likelihood() -> None:
    table = random_table(3)
    search = grown(table, 5, split_penalty=0.0)
    before, after = (
        float(table.row_weights @ log_prob_of_rows(search.network(n), table.values)) for n in (0, 5)
    )
    assert after - before == pytest.approx(sum(split.gain for split in search.splits))


def test_held_out_gains_are_the_change_on_held_out_rows() -> None:
    table, held_out = random_table(3), random_table(4, rows=60)
    search = TreeSearch(table, split_penalty=0.0, held_out=held_out)
    while (best := search.best()) is not None:
        search.split(best[0], best[1])
    scores = [
        float(held_out.row_weights @ log_prob_of_rows(search.network(n), held_out.values))
        for n in range(len(search.splits) + 1)
    ]
    np.testing.assert_allclose([split.held_out for split in search.splits], np.diff(scores), atol=1e-9)


def test_a_leaf_knows_its_path_its_counts_and_its_probabilities() -> None:
    table = random_table(6, missing=0.2)
    search = grown(table, 4, smoothing=0.5)
    for number in range(len(search)):
        leaf = search.leaf(number)
        rows = reaching(search, table, number)
        states = range(table.schema[leaf.child].cardinality)
        counts = [table.row_weights[rows & (table.values[:, leaf.child] == k)].sum() for k in states]
        np.testing.assert_allclose(leaf.counts, counts)
        smoothed = np.array(counts) + 0.5 / len(counts)
        np.testing.assert_allclose(np.exp(leaf.log_prob), smoothed / smoothed.sum())


def test_a_split_has_a_leaf_for_each_state_and_the_child_follows_them() -> None:
    search = TreeSearch(random_table(1))
    new = search.split(4, 3)
    assert [search.leaf(leaf).states for leaf in new] == [(0,), (1,), (2,), (3,)]
    assert all(search.leaf(leaf).columns == (3,) and search.leaf(leaf).child == 4 for leaf in new)
    tree = search.network().factors[4]
    assert isinstance(tree, TreeFactor)
    assert sorted(zip(tree.column.tolist(), tree.state.tolist(), strict=True))[-3:] == [
        (3, 0),
        (3, 1),
        (3, 2),
    ]
    for state in range(4):
        row = np.array([[0.0, 0.0, 0.0, state, 1.0]])
        others = log_prob_of_rows(search.network(0), row) - search.leaf(4).log_prob[1]
        assert log_prob_of_rows(search.network(), row) - others == pytest.approx(
            search.leaf(new[state]).log_prob[1]
        )


def test_no_split_may_close_a_circle_come_twice_on_a_path_or_ask_about_one_state() -> None:
    search = TreeSearch(random_table(1))
    search.split(1, 0)
    (new, *_) = search.split(4, 1)
    assert not search.is_valid(0, 4)  # 0 leads to 1 and 1 to 4
    assert not search.is_valid(0, 1)
    assert search.is_valid(3, 4)
    assert not search.is_valid(new, 1)
    assert not search.is_valid(new, 4)
    assert not search.is_valid(new, 2)
    assert not search.is_valid(4, 3)  # it was split already
    with pytest.raises(ValueError, match="cannot be split on column 'x4'"):
        search.split(0, 4)
    assert 4 not in search.candidates_of(0)[0]


def test_counting_does_not_depend_on_how_rows_are_repeated() -> None:
    table = random_table(7, missing=0.1)
    times = table.row_weights.astype(np.int64)
    repeated = Table(table.schema, np.repeat(table.values, times, axis=0))
    one, other = grown(table, 4), grown(repeated, 4)
    assert one.splits == other.splits


def test_numbers_cannot_be_split_on() -> None:
    schema = Schema((Variable("a", "categorical", (0, 1)), Variable("height", "real")))
    with pytest.raises(ValueError, match="column 'height' is real"):
        TreeSearch(Table(schema, np.zeros((2, 2))))


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_the_compiled_network_is_the_network(smoothing: float) -> None:
    table = random_table(8)
    learner = BayesianNetworkLearner(smoothing=smoothing, split_penalty=0.1)
    graph, extras = learner.learn_with_extras(table, np.random.default_rng(0))
    network = extras["network"]
    rows = np.array(list(product(*(range(v.cardinality) for v in table.schema))), dtype=np.float64)
    np.testing.assert_allclose(log_values(graph, rows), log_prob_of_rows(network, rows), atol=1e-9)
    assert is_deterministic(graph)


def test_a_parent_that_tells_only_together_with_another_is_found_after_a_first_split() -> None:
    table = xor_table()
    search = TreeSearch(table, split_penalty=1.0)
    left, right = search.split(2, 0)
    for leaf in (left, right):
        columns, gains = search.candidates_of(leaf)
        assert columns.tolist() == [1]
        assert gains[0] > 50


def mean_score(network: Network, table: Table) -> float:
    return float(np.average(log_prob_of_rows(network, table.values), weights=table.row_weights))


def noisy_table(rows: int, seed: int) -> Table:
    """Eight columns, of which the first three hang together and the others are noise."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2, (rows, 8)).astype(np.float64)
    values[:, 2] = np.where(rng.random(rows) < 0.85, np.maximum(values[:, 0], values[:, 1]), values[:, 2])
    return Table(discrete_schema([2] * 8), values)


def learned_network(table: Table, valid: Table | None = None, **settings: Any) -> Network:
    """The network of a table, of which no split is compiled."""
    learner = BayesianNetworkLearner(limit=1, **settings)
    _, extras = learner.learn_with_extras(table, np.random.default_rng(0), valid=valid)
    network: Network = extras["network"]
    return network


def test_validation_rows_stop_the_splits_before_they_learn_noise() -> None:
    train, valid, test = noisy_table(150, 0), noisy_table(300, 1), noisy_table(2000, 2)
    stopped = learned_network(train, valid=valid, split_penalty=0.0, patience=20)
    whole = learned_network(train, split_penalty=0.0)
    assert mean_score(stopped, test) > mean_score(whole, test) + 0.1
    assert mean_score(stopped, test) > mean_score(learned_network(train, split_penalty=1e9), test) + 0.05


def test_a_penalty_keeps_noise_out_without_validation_rows() -> None:
    network = learned_network(noisy_table(500, 0))
    asked = {column: set(factor.scope[1:]) for column, factor in enumerate(network.factors)}
    assert set().union(*asked.values()) <= {0, 1, 2}
    assert sum(len(parents) for parents in asked.values()) >= 2


def test_a_network_too_large_to_compile_is_cut_to_its_first_splits_and_stays_whole_beside() -> None:
    rng = np.random.default_rng(0)
    hidden = rng.random((600, 4)) @ rng.normal(size=(4, 25))
    table = Table(discrete_schema([2] * 25), (hidden + rng.normal(size=(600, 25)) > 0).astype(np.float64))
    told: list[Progress] = []
    learner = BayesianNetworkLearner(split_penalty=1.0, limit=3000)
    graph, extras = learner.learn_with_extras(table, rng, watch=Watch(told.append))
    network = extras["network"]
    with pytest.raises(ValueError, match="more than the limit of 3,000"):
        compile_network(network, 3000)
    cut = [p for p in told if "too large" in p.stage]
    assert cut
    assert cut[-1].total is not None
    assert 0 < cut[-1].done < cut[-1].total
    flat = BayesianNetworkLearner(split_penalty=1e9).learn(table, rng)
    scores = [float(log_values(g, table.values).mean()) for g in (flat, graph)]
    assert scores[0] < scores[1] < float(log_prob_of_rows(network, table.values).mean())


def test_the_estimator_holds_the_network() -> None:
    values = random_table(9).values
    model = tr.BayesianNetwork().fit(Table(discrete_schema([2, 3, 1, 4, 2]), values))
    assert model.network_ is not None
    np.testing.assert_allclose(model.score_samples(values), log_prob_of_rows(model.network_, values))
    numbers = np.random.default_rng(0).normal(size=(20, 2))
    network = tr.BayesianNetwork().fit(numbers).network_
    assert [v.cardinality for v in network.schema] == [3, 3]  # the pieces of the numbers


def split_of(name: str, part: str, schema: Schema | None = None) -> Table:
    path = SHARED / "binary" / f"{name}.{part}.data.gz"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    return read(path, schema=schema)


@pytest.mark.parametrize(("name", "published"), [("nltcs", -6.02), ("dna", -80.65)])
def test_benchmark_scores_are_those_that_were_published(name: str, published: float) -> None:
    train = split_of(name, "train")
    valid, test = (split_of(name, part, train.schema) for part in ("valid", "test"))
    scores: Floats = log_prob_of_rows(learned_network(train, valid=valid), test.values)
    assert scores.mean() > published - 0.01
