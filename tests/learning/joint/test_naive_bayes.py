"""Mixtures by EM against their own claims."""

from itertools import islice

import numpy as np
import pytest

from tractable.base.progress import Progress, Watch
from tractable.circuit import Builder, Graph
from tractable.data import Schema, Table, Variable, discrete_schema
from tractable.engine import log_values
from tractable.learning.joint.naive_bayes import NaiveBayesLearner
from tractable.learning.statistics.encoding import encode
from tractable.learning.statistics.product_mixtures import (
    ProductEM,
    fit_mixture,
    initial_sums,
    iterate_em,
    memberships,
    mixture_node,
)

SCHEMA = Schema(
    (
        Variable("x", "real"),
        Variable("n", "count"),
        Variable("a", "categorical", (0, 1)),
        Variable("b", "categorical", (0, 1, 2)),
        Variable("c", "categorical", ("only",)),
    )
)


def table_of(seed: int = 0, rows: int = 300, missing: float = 0.1) -> Table:
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, rows)
    cells = [
        rng.normal(100 + group, 0.2),
        rng.poisson(3 * group),
        rng.random(rows) < 0.1 + 0.3 * group,
        group,
    ]
    values = np.column_stack([*cells, np.zeros(rows)]).astype(np.float64)
    values[rng.random(values.shape) < missing] = np.nan
    return Table(SCHEMA, values, rng.random(rows))


def clusters(components: int, rows: int, seed: int = 0, columns: int = 12) -> Table:
    """Rows of well separated groups of binary columns."""
    rng = np.random.default_rng(seed)
    centre = rng.choice([0.1, 0.9], (components, columns))
    p = centre[rng.integers(0, components, rows)]
    return Table(discrete_schema([2] * columns), (rng.random(p.shape) < p).astype(np.float64))


def climbed(table: Table, smoothing: float, seed: int) -> list[float]:
    encoding = encode(table)
    start = initial_sums(encoding, 5, np.random.default_rng(seed))
    return [m.objective for m in islice(iterate_em(encoding, start, ProductEM(smoothing=smoothing)), 40)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 5.0])
def test_a_step_of_em_never_lowers_the_objective(smoothing: float, seed: int) -> None:
    table = table_of(seed)
    states = [c for c, v in enumerate(table.schema) if v.is_categorical]
    steps = climbed(table if smoothing == 0 else table.select(states), smoothing, seed)
    assert (np.diff(steps) > -1e-6).all()
    assert steps[-1] > steps[0]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("smoothing", [0.1, 5.0])
def test_pseudo_counts_of_numbers_follow_the_rows_and_pull_little(smoothing: float, seed: int) -> None:
    steps = climbed(table_of(seed), smoothing, seed)
    assert (np.diff(steps) > -0.1 * smoothing).all()
    assert steps[-1] > steps[0]


def test_without_smoothing_the_objective_is_the_log_likelihood() -> None:
    encoding = encode(table_of())
    mixture = fit_mixture(encoding, 3, np.random.default_rng(0), ProductEM(smoothing=0.0))
    assert mixture.objective == pytest.approx(mixture.log_likelihood, abs=1e-5)


def test_the_log_likelihood_is_that_of_the_circuit() -> None:
    table = table_of()
    encoding = encode(table)
    mixture = fit_mixture(encoding, 3, np.random.default_rng(0), ProductEM())
    builder = Builder(SCHEMA)
    graph = builder.freeze(mixture_node(builder, encoding, mixture, 0.1))
    assert mixture.log_likelihood == pytest.approx(
        table.row_weights @ log_values(graph, table.values), rel=1e-9
    )


def test_sparse_and_dense_rows_give_the_same_mixture() -> None:
    rng = np.random.default_rng(1)
    values = (rng.random((200, 80)) < np.where(rng.random((200, 1)) < 0.5, 0.01, 0.04)).astype(np.float64)
    sparse = encode(Table(discrete_schema([2] * 80), values))
    dense = encode(Table(discrete_schema([2] * 80), 1 - values))
    assert not isinstance(sparse.matrix, np.ndarray)
    assert isinstance(dense.matrix, np.ndarray)
    found = [fit_mixture(e, 4, np.random.default_rng(0), ProductEM()).log_likelihood for e in (sparse, dense)]
    assert found[0] == pytest.approx(found[1], rel=1e-6)


def size_of(graph: Graph) -> int:
    """The number of components of a mixture."""
    return int(graph.start[-1] - graph.start[-2]) if graph.kind[-1] == 2 else 1


@pytest.mark.parametrize("components", [1, 2, 4])
def test_the_number_of_components_is_recovered(components: int) -> None:
    learner = NaiveBayesLearner(components=(1, 2, 3, 4, 5, 6))
    assert size_of(learner.learn(clusters(components, 1500), np.random.default_rng(0))) == components


def test_validation_rows_choose_the_number_of_components() -> None:
    train, valid = clusters(4, 1500), clusters(4, 3000)
    graph = NaiveBayesLearner(penalty=0.0).learn(train, np.random.default_rng(0), valid=valid)
    assert 4 <= size_of(graph) <= 8


def test_rows_of_one_group_share_a_component() -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 400)
    p = np.where(group[:, None] == 1, 0.95, 0.05)
    values = (rng.random((400, 10)) < p).astype(np.float64)
    encoding = encode(Table(discrete_schema([2] * 10), values))
    share = memberships(encoding, fit_mixture(encoding, 2, rng, ProductEM()))
    high = encoding.table.values.mean(axis=1) > 0.5
    found = share.argmax(axis=1) == share[high].sum(axis=0).argmax()
    assert (found == high).mean() > 0.99


def test_more_components_than_rows_are_not_made() -> None:
    table = clusters(2, 3)
    graph = NaiveBayesLearner(components=(64,)).learn(table, np.random.default_rng(0))
    assert size_of(graph) <= 3


def test_a_component_that_loses_all_its_rows_does_no_harm() -> None:
    values = np.repeat([[0.0, 0.0], [1.0, 1.0]], 20, axis=0)
    encoding = encode(Table(discrete_schema([2, 2]), values))
    sums = np.array([[1.0, 1.0, 1e-9], [1e-9, 1.0, 1e-9], [1e-9, 1.0, 1e-9]])
    *_, last = islice(iterate_em(encoding, sums, ProductEM(smoothing=0.0)), 30)
    assert last.log_likelihood == pytest.approx(40 * np.log(0.5), abs=1e-3)
    assert np.isfinite(last.objective)


def test_an_interrupt_ends_em_early() -> None:
    told: list[Progress] = []

    def tell(progress: Progress) -> None:
        told.append(progress)
        if len(told) == 3:
            raise KeyboardInterrupt

    NaiveBayesLearner(components=(8, 16), tolerance=0.0).learn(
        clusters(8, 500), np.random.default_rng(0), watch=Watch(tell)
    )
    assert len(told) == 4  # three steps, and the size that was reached


@pytest.mark.parametrize("components", [(), (0, 2)])
def test_numbers_of_components_start_at_one(components: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        NaiveBayesLearner(components=components)
