"""LearnSPN against its own claims."""

import numpy as np
import pytest
from joblib import parallel_config

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Watch
from tractable.circuit import LEAF, PRODUCT, SUM, Graph
from tractable.data import Schema, Table, Variable, discrete_schema
from tractable.engine import log_values
from tractable.learning.joint.learnspn.learner import LearnSPNLearner
from tractable.learning.statistics.clustering import Clustering, cluster_rows
from tractable.learning.statistics.dependence import dependent_groups, pair_gains
from tractable.learning.statistics.encoding import encode
from tractable.learning.statistics.stack_weights import mean_log_prob


def blocks(rows: int = 2000, seed: int = 2) -> Table:
    """Columns 0 and 3 are copies of a coin with errors, so are 1, 2 and 4; column 5 is alone."""
    rng = np.random.default_rng(seed)
    coins = rng.random((rows, 3)) < 0.5
    owner = np.array([0, 1, 1, 0, 1, 2])
    values = coins[:, owner] ^ (rng.random((rows, owner.size)) < 0.1)
    return Table(discrete_schema([2] * owner.size), values.astype(np.float64))


def two_groups(rows: int = 1000, columns: int = 8, seed: int = 0) -> tuple[Table, Ints]:
    """Rows of two well separated groups, columns independent within either; and the group of each row."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, rows)
    high = np.where(np.arange(columns) % 2 == group[:, None], 0.9, 0.1)
    return Table(discrete_schema([2] * columns), (rng.random(high.shape) < high).astype(np.float64)), group


def learned(table: Table, valid: Table | None = None, **settings: object) -> Graph:
    return LearnSPNLearner(**settings).learn(table, np.random.default_rng(0), valid=valid)  # type: ignore[arg-type]


def inner(graph: Graph) -> list[int]:
    """The kinds of the inner nodes."""
    return [int(kind) for kind in graph.kind[graph.kind != LEAF]]


def test_independent_blocks_are_found() -> None:
    encoding = encode(blocks())
    groups = dependent_groups(encoding, pair_gains(encoding, 1.0), 10.83)
    assert [group.tolist() for group in groups] == [[0, 3], [1, 2, 4], [5]]


def test_independent_blocks_become_a_product() -> None:
    graph = learned(blocks())
    assert graph.kind[-1] == PRODUCT
    rows = blocks(20, seed=1).values
    parts = np.zeros(20)
    for columns in ([0, 3], [1, 2, 4], [5]):
        alone = np.full(rows.shape, np.nan)
        alone[:, columns] = rows[:, columns]
        parts += log_values(graph, alone)
    np.testing.assert_allclose(log_values(graph, rows), parts)


@pytest.mark.parametrize("method", ["em", "k-means"])
def test_the_rows_of_a_clear_mixture_are_parted(method: str) -> None:
    table, group = two_groups()
    encoding = encode(Table(table.schema, np.concatenate([table.values, table.values])))
    place = {tuple(row): number for number, row in enumerate(encoding.table.values.tolist())}
    label = cluster_rows(encoding, np.random.default_rng(0), Clustering(method=method))  # type: ignore[arg-type]
    found = label[[place[tuple(row)] for row in table.values.tolist()]]
    assert max((found == group).mean(), (found != group).mean()) > 0.95


@pytest.mark.parametrize("method", ["em", "k-means"])
def test_a_clear_mixture_becomes_a_sum_of_products(method: str) -> None:
    table, _ = two_groups()
    graph = learned(table, clustering=method, leaf="univariate", threshold=30.0)
    assert graph.kind[-1] == SUM
    assert inner(graph) == [PRODUCT, PRODUCT, SUM]
    assert np.exp(graph.log_weight[graph.start[-2] :]) == pytest.approx([0.5, 0.5], abs=0.05)


@pytest.mark.parametrize("clusters", [1, 3, 4])
def test_the_number_of_clusters_is_found(clusters: int) -> None:
    rng = np.random.default_rng(1)
    centre = rng.choice([0.1, 0.9], (clusters, 16))[rng.integers(0, clusters, 1500)]
    table = Table(discrete_schema([2] * 16), (rng.random(centre.shape) < centre).astype(np.float64))
    label = cluster_rows(encode(table), rng, Clustering(clusters=6, restarts=6, penalty=2.0))
    assert len(np.unique(label)) == clusters


def test_an_infinite_threshold_takes_all_columns_to_be_independent() -> None:
    graph = learned(blocks(), threshold=float("inf"))
    assert inner(graph) == [PRODUCT]
    assert graph.nodes == 7


def test_as_many_rows_as_there_are_is_a_single_tree() -> None:
    table = blocks()
    graph = learned(table, min_rows=10**6)
    from tractable.learning.joint.chow_liu import ChowLiuLearner

    tree = ChowLiuLearner(smoothing=0.2, link_cost=0.0).learn(table, np.random.default_rng(0))
    np.testing.assert_allclose(log_values(graph, table.values), log_values(tree, table.values))


def test_univariate_leaves_of_one_block_are_independent() -> None:
    assert inner(learned(blocks(), min_rows=10**6, leaf="univariate")) == [PRODUCT]


def test_numbers_depend_by_correlation() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    names = ("x", "y", "z", "n")
    schema = Schema(tuple(Variable(n, "count" if n == "n" else "real") for n in names))
    values: Floats = np.column_stack(
        [x, -x + rng.normal(size=500), rng.normal(size=500), rng.poisson(np.exp(x))]
    )
    values[rng.random(values.shape) < 0.1] = np.nan
    encoding = encode(Table(schema, values))
    groups = dependent_groups(encoding, pair_gains(encoding, 1.0), 10.83)
    assert [group.tolist() for group in groups] == [[0, 1, 3], [2]]


def test_columns_of_many_states_need_as_much_evidence_as_columns_of_two() -> None:
    rng = np.random.default_rng(0)
    table = Table(discrete_schema([12] * 20), rng.integers(0, 12, (3000, 20)).astype(np.float64))
    encoding = encode(table)
    assert len(dependent_groups(encoding, pair_gains(encoding, 1.0), 20.0)) == 20


def test_a_part_of_an_encoding_is_the_encoding_of_the_part() -> None:
    rng = np.random.default_rng(0)
    kinds = [
        Variable("x", "real"),
        Variable("a", states=(0, 1, 2)),
        Variable("n", "count"),
        Variable("b", states=(0, 1)),
    ]
    values = np.column_stack(
        [rng.normal(size=40), rng.integers(0, 3, 40), rng.poisson(3, 40), rng.integers(0, 2, 40)]
    ).astype(np.float64)
    values[rng.random(values.shape) < 0.2] = np.nan
    whole = encode(Table(Schema(tuple(kinds)), values))
    part = whole.part(np.arange(30), np.array([1, 2, 3]))
    alone = encode(whole.table.take(np.arange(30)).select([1, 2, 3]))
    np.testing.assert_array_equal(part.matrix, alone.matrix)
    np.testing.assert_array_equal(part.weights, alone.weights)
    np.testing.assert_allclose(part.constant, alone.constant)


def test_validation_rows_choose_among_the_settings() -> None:
    table, valid = blocks(400), blocks(1000, seed=1)
    chosen = learned(table, valid, min_rows=(5, 10**6), threshold=(1.0, 1e9))
    single = [
        mean_log_prob(learned(table, valid, min_rows=size, threshold=threshold), valid)
        for size in (5, 10**6)
        for threshold in (1.0, 1e9)
    ]
    assert mean_log_prob(chosen, valid) >= max(single[1:]) - 0.02  # the generators of single runs differ


@pytest.mark.parametrize("jobs", [2, 3])
def test_the_number_of_jobs_changes_nothing(jobs: int) -> None:
    table, valid = two_groups()[0], two_groups(seed=1)[0]
    alone = learned(table, valid)
    with parallel_config(n_jobs=jobs):
        together = learned(table, valid)
    np.testing.assert_array_equal(alone.child, together.child)
    np.testing.assert_array_equal(alone.log_weight, together.log_weight)


def test_deep_cuts_need_no_recursion() -> None:
    values = np.tril(np.ones((1500, 1500)))[:, ::60]
    graph = learned(Table(discrete_schema([2] * 25), values), min_rows=2, threshold=0.0, penalty=0.0)
    assert np.isfinite(log_values(graph, values)).all()


def test_when_time_runs_out_the_rest_are_leaves() -> None:
    graph = LearnSPNLearner().learn(blocks(), np.random.default_rng(0), watch=Watch(seconds=0.0))
    assert inner(graph) == [PRODUCT]


@pytest.mark.parametrize("settings", [{"min_rows": ()}, {"threshold": (-1.0,)}])
def test_lists_of_settings_are_checked(settings: dict[str, tuple[float, ...]]) -> None:
    with pytest.raises(
        ValueError,
        match=f"setting {next(iter(settings))} of learnspn must be a list of numbers of at least 0",
    ):
        LearnSPNLearner(**settings)  # type: ignore[arg-type]
