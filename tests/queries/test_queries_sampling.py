"""Draws and imputations, against enumerated conditionals."""

import math

import numpy as np
import oracle
import pytest
import strategies
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from tractable import queries
from tractable.circuit import Builder, Graph
from tractable.data import Evidence, Interval, Region, Schema, States, Variable, discrete_schema

DRAWS = 4000


def small_circuit() -> Graph:
    """Two overlapping trees over three columns; not normalised."""
    builder = Builder(discrete_schema([2, 3, 2]))
    rng = np.random.default_rng(3)
    parts = []
    for _ in range(3):
        leaves = [
            builder.leaf("categorical", c, np.log(rng.dirichlet(np.ones(k)))) for c, k in enumerate([2, 3, 2])
        ]
        parts.append(builder.product([*leaves, builder.constant(rng.normal())]))
    return builder.freeze(builder.sum(parts, [0.3, -0.2, 1.0]))


@pytest.mark.parametrize(
    ("row", "regions"),
    [
        ([np.nan, np.nan, np.nan], {}),
        ([1.0, np.nan, np.nan], {}),
        ([np.nan, np.nan, 0.0], {1: States(np.array([True, False, True]))}),
    ],
)
def test_draws_follow_the_enumerated_conditional(row: list[float], regions: dict[int, Region]) -> None:
    graph = small_circuit()
    given_ = Evidence(np.array(row), regions)
    possible = oracle.completions(graph.schema, row, regions)
    p = np.exp([oracle.log_value(graph, r) - oracle.log_total(graph, row, regions) for r in possible])
    drawn = queries.sample(graph, DRAWS, given_, seed=11)
    counts = np.array([(drawn == np.array(r)).all(axis=1).sum() for r in possible])
    assert counts.sum() == DRAWS
    assert chisquare(counts, DRAWS * p).pvalue > 1e-4


def test_completed_rows_follow_the_enumerated_conditional() -> None:
    graph = small_circuit()
    rows = np.tile([np.nan, 2.0, np.nan], (DRAWS, 1))
    drawn = queries.impute(graph, rows, method="sample", seed=5)
    p = queries.joint_marginal(graph, [0, 2], Evidence(rows[0], {})).ravel()
    counts = np.bincount((drawn[:, 0] * 2 + drawn[:, 2]).astype(int), minlength=4)
    assert chisquare(counts, DRAWS * p).pvalue > 1e-4


def test_drawn_numbers_have_the_moments_of_their_column() -> None:
    builder = Builder(Schema((Variable("h", "real"), Variable("n", "count"))))
    parts = [
        builder.product([builder.leaf("gaussian", 0, [m, 0.1]), builder.leaf("poisson", 1, [r])])
        for m, r in ((-2.0, 0.2), (1.0, 1.4))
    ]
    graph = builder.freeze(builder.sum(parts, np.log([0.4, 0.6])))
    given_ = Evidence(np.full(2, np.nan), {0: Interval(-1.5, 3.0)})
    drawn = queries.sample(graph, 20_000, given_, seed=2)
    assert ((drawn[:, 0] >= -1.5) & (drawn[:, 0] <= 3.0)).all()
    for c in range(2):
        expected = queries.moments(graph, c, given_)
        error = expected.std / math.sqrt(len(drawn))
        assert abs(drawn[:, c].mean() - expected.mean) < 5 * error


@settings(max_examples=30)
@given(strategies.circuits(mixed=True, normalised=False), st.data())
def test_draws_keep_what_is_given_and_are_possible(graph: Graph, data: st.DataObject) -> None:
    row, regions = data.draw(strategies.evidence(graph.schema))
    assume(oracle.log_value(graph, row, regions) > -30)
    drawn = queries.sample(graph, 7, Evidence(row, regions), seed=data.draw(st.integers(0, 2**63)))
    assert drawn.shape == (7, len(row))
    np.testing.assert_array_equal(drawn[:, ~np.isnan(row)], np.tile(row[~np.isnan(row)], (7, 1)))
    assert (queries.log_prob(graph, drawn) > -np.inf).all()
    for c, region in regions.items():
        if isinstance(region, States):
            assert region.allowed[drawn[:, c].astype(int)].all()
        else:
            assert ((drawn[:, c] >= region.low) & (drawn[:, c] <= region.high)).all()


def test_the_same_seed_draws_the_same_rows_on_any_number_of_threads() -> None:
    graph = small_circuit()
    given_ = Evidence(np.full(3, np.nan), {})
    one = queries.sample(graph, 500, given_, seed=4, threads=1)
    np.testing.assert_array_equal(one, queries.sample(graph, 500, given_, seed=4, threads=2))
    assert not np.array_equal(one, queries.sample(graph, 500, given_, seed=5, threads=1))


@pytest.mark.parametrize("method", ["mpe", "mean", "sample"])
@settings(max_examples=25)
@given(graph=strategies.circuits(mixed=True, normalised=False), data=st.data())
def test_imputation_fills_every_hole_and_changes_nothing_else(
    method: str, graph: Graph, data: st.DataObject
) -> None:
    rows = data.draw(strategies.tables(graph.schema))
    assume(all(oracle.log_value(graph, row) > -600 for row in rows))
    filled = queries.impute(graph, rows, method=method, seed=1)  # type: ignore[arg-type]
    assert not np.isnan(filled).any()
    np.testing.assert_array_equal(filled[~np.isnan(rows)], rows[~np.isnan(rows)])


def test_an_imputed_mean_is_an_expectation_or_the_likeliest_state() -> None:
    graph = small_circuit()
    row = np.array([np.nan, np.nan, 1.0])
    posterior = queries.marginals(graph, row[None, :])
    filled = queries.impute(graph, row[None, :], method="mean")[0]
    assert filled.tolist() == [posterior[0][0].argmax(), posterior[1][0].argmax(), 1.0]


def test_a_number_of_rows_that_cannot_be_drawn_is_refused() -> None:
    graph = small_circuit()
    given_ = Evidence(np.full(3, np.nan), {})
    assert queries.sample(graph, 0, given_, 0).shape == (0, 3)
    for count in (-1, 2.5):
        with pytest.raises(ValueError, match="must be at least 0"):
            queries.sample(graph, count, given_, 0)  # type: ignore[arg-type]


def test_a_way_to_impute_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="no method 'median'"):
        queries.impute(small_circuit(), np.full((1, 3), np.nan), method="median")  # type: ignore[arg-type]
