"""Chow-Liu trees against their own claims."""

import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csgraph

from tractable.circuit import Graph, depth, is_deterministic
from tractable.data import Schema, Table, Variable, discrete_schema, read
from tractable.engine import log_values
from tractable.learning.joint.chow_liu import ChowLiuLearner
from tractable.learning.statistics.encoding import encode
from tractable.learning.statistics.forests import Forest, best_forest, chow_liu_forest, maximum_spanning_links
from tractable.learning.statistics.link_gains import link_gains

SHARED = Path(os.environ.get("TRACTABLE_DATA") or Path(__file__).parents[3].parent / "shared" / "data")


def learned(table: Table, smoothing: float = 1.0, link_cost: float = 1.0) -> Graph:
    learner = ChowLiuLearner(smoothing=smoothing, link_cost=link_cost)
    return learner.learn(table, np.random.default_rng(0))


def links(forest: Forest) -> set[frozenset[int]]:
    return {frozenset((c, int(p))) for c, p in enumerate(forest.parent.tolist()) if p >= 0}


def chain_table(columns: int, rows: int, flip: float = 0.15, seed: int = 0) -> Table:
    """Each column is the one before it, flipped now and then."""
    rng = np.random.default_rng(seed)
    flips = rng.random((rows, columns)) < np.where(np.arange(columns) == 0, 0.5, flip)
    return Table(discrete_schema([2] * columns), (flips.cumsum(axis=1) % 2).astype(np.float64))


def random_table(seed: int, missing: float = 0.0) -> Table:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, [2, 3, 2, 4], (60, 4)).astype(np.float64)
    values[:, 3] = np.where(rng.random(60) < 0.5, values[:, 1], values[:, 3])
    values[rng.random(values.shape) < missing] = np.nan
    return Table(discrete_schema([2, 3, 2, 4]), values, rng.integers(1, 4, 60).astype(np.float64))


def pair_information(table: Table, one: int, other: int) -> float:
    """Mutual information times the weight of the rows in which both are seen, by its definition."""
    both = ~table.missing[:, [one, other]].any(axis=1)
    joint = np.zeros((table.schema[one].cardinality, table.schema[other].cardinality))
    at = table.values[both][:, [one, other]].astype(np.int64)
    np.add.at(joint, (at[:, 0], at[:, 1]), table.row_weights[both])
    total = joint.sum()
    p, flat = joint / total, np.outer(joint.sum(axis=1), joint.sum(axis=0)) / total**2
    return float(total * np.sum(p[p > 0] * np.log(p[p > 0] / flat[p > 0])))


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_gains_between_categorical_columns_are_mutual_informations(missing: float) -> None:
    table = random_table(1, missing)
    gain = link_gains(encode(table))
    for one, other in combinations(range(4), 2):
        assert gain[one, other] == pytest.approx(pair_information(table, one, other), abs=1e-9)
        assert gain[other, one] == pytest.approx(gain[one, other], abs=1e-9)


def test_gains_are_the_same_for_sparse_and_dense_columns() -> None:
    rng = np.random.default_rng(3)
    few = (rng.random((200, 60)) < 0.02).astype(np.float64)
    many = rng.integers(0, 30, (200, 1)).astype(np.float64)
    table = Table(discrete_schema([2] * 60 + [30]), np.concatenate([few, many], axis=1))
    encoding = encode(table)
    gain = link_gains(encoding)
    assert not isinstance(encoding.matrix, np.ndarray)
    for one, other in [(0, 1), (5, 60), (60, 7)]:
        assert gain[one, other] == pytest.approx(pair_information(table, one, other), abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_no_tree_has_a_greater_likelihood(seed: int) -> None:
    table = random_table(seed)
    ours = table.row_weights @ log_values(learned(table, 0.0, 0.0), table.values)
    best = max(tree_log_likelihood(table, tree) for tree in combinations(list(combinations(range(4), 2)), 3))
    assert ours == pytest.approx(best, abs=1e-4)


def tree_log_likelihood(table: Table, tree: tuple[tuple[int, int], ...]) -> float:
    """By the mutual informations of the links; -inf where the links are no tree."""
    adjacent = np.zeros((4, 4))
    for one, other in tree:
        adjacent[one, other] = 1
    if csgraph.connected_components(adjacent, directed=False)[0] > 1:
        return -np.inf
    share = table.row_weights / table.total_weight
    alone = 0.0
    for column in table.values.T.astype(np.int64):
        p = np.bincount(column, share)
        alone += float(table.row_weights @ np.log(p[column]))
    return alone + sum(pair_information(table, one, other) for one, other in tree)


def test_a_known_tree_is_recovered() -> None:
    rng = np.random.default_rng(5)
    parent = [-1, 0, 0, 1, 1, 2, 5, 5]
    values = np.zeros((3000, 8))
    for column, above in enumerate(parent):
        drawn = rng.integers(0, 3, 3000)
        values[:, column] = np.where(rng.random(3000) < 0.7, values[:, above], drawn) if column else drawn
    forest = chow_liu_forest(encode(Table(discrete_schema([3] * 8), values)), 1.0, 1.0)
    assert links(forest) == {frozenset((c, p)) for c, p in enumerate(parent) if p >= 0}


def test_columns_that_tell_nothing_are_left_alone() -> None:
    rng = np.random.default_rng(6)
    values = np.column_stack([rng.integers(0, 2, (500, 3)), np.zeros((500, 5))]).astype(np.float64)
    forest = chow_liu_forest(encode(Table(discrete_schema([2] * 8), values)), 1.0, 0.0)
    assert all(forest.parent[3:] == -1)
    assert links(chow_liu_forest(encode(Table(discrete_schema([2] * 8), values)), 1.0, 10.0)) == set()


def test_links_of_equal_gain_are_all_found() -> None:
    assert len(maximum_spanning_links(np.ones((6, 6)))) == 5


def test_the_circuit_is_deterministic_and_small() -> None:
    table = random_table(0)
    graph = learned(table, link_cost=0.0)
    assert is_deterministic(graph)
    assert graph.nodes < 60


def test_a_chain_of_two_thousand_columns_is_half_as_deep() -> None:
    table = chain_table(2000, 200, flip=0.02)
    parent = np.arange(2000) - 1
    gain = np.zeros((2000, 2000))
    gain[parent[1:], np.arange(1, 2000)] = gain[np.arange(1, 2000), parent[1:]] = 1.0
    forest = best_forest(gain, np.ones(2000, dtype=np.bool_))
    assert abs(int(np.flatnonzero(forest.parent < 0)[0]) - 1000) <= 1
    graph = learned(table)
    assert depth(graph) < 4000
    assert np.isfinite(log_values(graph, table.values)).all()


def told_table(told: bool, rows: int = 400) -> Table:
    """A real and a count column that depend on the second of two categorical ones, or on nothing."""
    rng = np.random.default_rng(8)
    states = rng.integers(0, 3, (rows, 2)).astype(np.float64)
    effect = states[:, 1] if told else np.zeros(rows)
    schema = Schema(
        (
            Variable("a", "categorical", (0, 1, 2)),
            Variable("b", "categorical", (0, 1, 2)),
            Variable("x", "real"),
            Variable("n", "count"),
        )
    )
    return Table(schema, np.column_stack([states, rng.normal(effect, 0.5), rng.poisson(2 + 3 * effect)]))


def test_a_number_hangs_below_the_column_that_tells_most_about_it() -> None:
    assert chow_liu_forest(encode(told_table(told=True)), 1.0, 3.0).parent[2:].tolist() == [1, 1]
    assert chow_liu_forest(encode(told_table(told=False)), 1.0, 3.0).parent[2:].tolist() == [-1, -1]


def test_the_gain_of_a_number_is_the_log_likelihood_it_gains() -> None:
    table = told_table(told=True)
    encoding = encode(table)
    gain = link_gains(encoding, 1e-9)
    x, state = table.values[:, 2], table.values[:, 1]
    apart = sum(-0.5 * (state == k).sum() * np.log(x[state == k].var()) for k in range(3))
    assert gain[1, 2] == pytest.approx(apart + 0.5 * x.size * np.log(x.var()), rel=1e-6)
    n = table.values[:, 3]
    rates = [n[state == k].mean() for k in range(3)]
    apart = sum(n[state == k].sum() * np.log(rate) for k, rate in enumerate(rates))
    assert gain[1, 3] == pytest.approx(apart - n.sum() * np.log(n.mean()), rel=1e-6)


def test_missing_cells_do_not_hide_a_chain() -> None:
    table = chain_table(6, 3000)
    values = table.values.copy()
    values[np.random.default_rng(0).random(values.shape) < 0.4] = np.nan
    forest = chow_liu_forest(encode(Table(table.schema, values)), 1.0, 1.0)
    assert links(forest) == {frozenset((i, i + 1)) for i in range(5)}


def test_the_tree_of_nltcs_scores_as_published() -> None:
    if not (SHARED / "binary").exists():
        pytest.skip("the benchmark data are not here: set TRACTABLE_DATA to their folder")
    train, test = (read(SHARED / f"binary/nltcs.{part}.data.gz") for part in ("train", "test"))
    assert log_values(learned(train), test.values).mean() == pytest.approx(-6.759, abs=0.001)
