"""Softened rows: how often cells change, what never does, and what parameter learning makes of them."""

import numpy as np
import oracle
import pytest

from tractable.base.arrays import Floats
from tractable.circuit import Builder, Graph
from tractable.data import Schema, Table, Variable, collapse, discrete_schema
from tractable.learning.parameters import METHODS, fit
from tractable.learning.parameters.cccp import CCCP
from tractable.learning.parameters.method import WeightedRows
from tractable.learning.parameters.online_em import OnlineEM
from tractable.learning.parameters.softening import soften
from tractable.queries import log_prob

MIXED = Schema(
    (
        Variable("one", states=("only",)),
        Variable("two", states=("no", "yes")),
        Variable("four", states=("a", "b", "c", "d")),
        Variable("size", "real"),
        Variable("visits", "count"),
    )
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def rows(*values: list[float], weights: list[float] | None = None) -> WeightedRows:
    return WeightedRows(np.array(values), np.ones(len(values)) if weights is None else np.array(weights))


def expected_shares(schema: Schema, row: list[float], softness: float) -> dict[tuple[float, ...], float]:
    """The probability of every softened form of a row of states, cell by cell."""
    shares = {}
    for other in oracle.all_rows(schema):
        chance = 1.0
        for cell, seen, variable in zip(other, row, schema, strict=True):
            chance *= (1 - softness) * (cell == seen) + softness / variable.cardinality
        shares[tuple(other)] = chance
    return shares


def test_without_softness_rows_are_as_they_were_and_nothing_is_drawn() -> None:
    some, draw = rows([0.0, 1.0, 3.0, 0.5, 2.0]), rng()
    assert soften(some, MIXED, 0.0, draw, 4) is some
    assert draw.random() == rng().random()


def test_each_softened_row_is_as_frequent_as_its_cells_say() -> None:
    schema, row = discrete_schema([2, 4, 1]), [1.0, 3.0, 0.0]
    found = soften(rows(row, weights=[40_000.0]), schema, 0.3, rng(), 5)
    shares = expected_shares(schema, row, 0.3)
    seen = {tuple(r): w / 40_000 for r, w in zip(found.values.tolist(), found.weights, strict=True)}
    assert seen.keys() <= shares.keys()
    for one, share in shares.items():
        assert seen[one] == pytest.approx(share, abs=5 * np.sqrt(share / 200_000))


def test_certain_softness_makes_every_state_equally_likely() -> None:
    found = soften(rows([3.0], weights=[20_000.0]), discrete_schema([5]), 1.0, rng())
    assert np.bincount(found.values[:, 0].astype(int), found.weights) == pytest.approx(4000, rel=0.1)


def test_numbers_and_missing_cells_stay() -> None:
    nan = float("nan")
    some = rows([0.0, nan, 2.0, 0.25, 7.0], [0.0, 1.0, nan, nan, 3.0], weights=[300.0, 200.0])
    found = soften(some, MIXED, 1.0, rng())
    first = found.values[:, 3] == 0.25
    assert np.isnan(found.values[first, 1]).all()
    assert np.isnan(found.values[~first][:, 2:4]).all()
    assert (found.values[first, 4] == 7).all()
    assert found.weights[first].sum() == pytest.approx(300)
    assert set(found.values[first, 2]) == {0.0, 1.0, 2.0, 3.0}
    assert (found.values[:, 0] == 0).all()


@pytest.mark.parametrize("weights", [[0.2, 3.7], [1e9, 1e-9], [1.0, 2.0]])
def test_rows_weigh_as_much_as_before_and_equal_ones_are_one(weights: list[float]) -> None:
    found = soften(rows([0.0, 1.0], [1.0, 0.0], weights=weights), discrete_schema([2, 2]), 0.01, rng(), 3)
    assert found.total == pytest.approx(sum(weights), rel=1e-9)
    assert len(np.unique(found.values, axis=0)) == len(found.values)


def test_the_rows_handed_in_are_not_changed() -> None:
    some = rows([0.0, 1.0], [1.0, 0.0])
    soften(some, discrete_schema([2, 2]), 1.0, rng())
    assert np.array_equal(some.values, [[0.0, 1.0], [1.0, 0.0]])


def coin() -> Graph:
    builder = Builder(discrete_schema([4]))
    builder.leaf("categorical", 0, np.log(np.full(4, 0.25)))
    return builder.freeze()


@pytest.mark.parametrize("name", ["cccp", "online-em"])
def test_a_state_that_never_occurs_is_as_probable_as_the_softness_says(name: str) -> None:
    table = Table(coin().schema, np.zeros((40_000, 1)))
    how = METHODS[name](iterations=20, softness=0.2, smoothing=0.0, leaf_smoothing=0.0)  # type: ignore[call-arg]
    found = fit(coin(), table, how, rng()).graph
    every = np.arange(4.0)[:, None]
    assert np.exp(log_prob(found, every)) == pytest.approx([0.85, 0.05, 0.05, 0.05], abs=0.01)


def mixture_start() -> Graph:
    builder, draw = Builder(discrete_schema([2] * 6)), rng(1)
    parts = [
        builder.product([builder.leaf("bernoulli", c, [draw.normal()]) for c in range(6)]) for _ in range(8)
    ]
    builder.sum(parts, np.log(draw.dirichlet(np.ones(8))))
    return builder.freeze()


def clusters(count: int, seed: int) -> Floats:
    draw = rng(seed)
    cluster = draw.integers(2, size=(count, 1))
    return (draw.random((count, 6)) < np.where(cluster, 0.8, 0.2)).astype(np.float64)


def test_cccp_climbs_on_the_rows_that_it_drew() -> None:
    table = Table(mixture_start().schema, clusters(60, 2))
    how = CCCP(iterations=40, tolerance=0.0, smoothing=0.0, leaf_smoothing=0.0, softness=0.1)
    scores = np.array(fit(mixture_start(), table, how, rng()).train)
    assert (np.diff(scores) >= -1e-9).all()
    assert scores[-1] > scores[0] + 0.05


def test_softness_helps_where_rows_are_few() -> None:
    few, many = Table(mixture_start().schema, clusters(25, 3)), clusters(3000, 4)
    plain, soft = (
        fit(mixture_start(), few, CCCP(iterations=60, tolerance=0.0, smoothing=0.1, softness=s), rng()).graph
        for s in (0.0, 0.15)
    )
    assert log_prob(soft, many).mean() > log_prob(plain, many).mean() + 0.1


@pytest.mark.parametrize("name", ["cccp", "online-em"])
def test_the_same_seed_softens_the_same_way(name: str) -> None:
    table = Table(mixture_start().schema, clusters(50, 5))
    how = METHODS[name](iterations=3, softness=0.1)  # type: ignore[call-arg]
    first, second, other = (fit(mixture_start(), table, how, rng(s)).graph for s in (1, 1, 2))
    assert np.array_equal(first.log_weight, second.log_weight)
    assert not np.array_equal(first.log_weight, other.log_weight)


def test_one_row_can_be_softened_away() -> None:
    table = Table(mixture_start().schema, np.zeros((1, 6)))
    for how in (CCCP(iterations=2, softness=1.0), OnlineEM(iterations=2, softness=1.0)):
        assert np.isfinite(log_prob(fit(mixture_start(), table, how, rng()).graph, table.values)).all()


@pytest.mark.parametrize("softness", [-0.1, 1.1, float("nan")])
@pytest.mark.parametrize("method", [CCCP, OnlineEM])
def test_what_is_no_probability_is_refused(method: type[CCCP | OnlineEM], softness: float) -> None:
    with pytest.raises(ValueError, match=r"setting softness of .* must be at (least 0|most 1)"):
        method(softness=softness)


def test_softened_rows_are_the_distinct_rows_of_their_table() -> None:
    found = soften(rows([0.0, 0.0], weights=[500.0]), discrete_schema([2, 3]), 0.5, rng())
    again, _ = collapse(Table(discrete_schema([2, 3]), found.values, found.weights))
    assert np.array_equal(again.values, found.values)
