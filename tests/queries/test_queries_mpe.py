"""Most probable completions, against enumeration."""

import math
from typing import get_args

import numpy as np
import oracle
import pytest
import strategies
from hypothesis import assume, given
from hypothesis import strategies as st

from tractable import queries
from tractable.base.arrays import Floats
from tractable.circuit import Builder, Graph
from tractable.data import Evidence, Interval, Region, Schema, States, Variable, discrete_schema
from tractable.queries.mpe import MPEMethod

METHODS = get_args(MPEMethod)


def best_of_all(graph: Graph, row: Floats, regions: dict[int, Region], columns: set[int]) -> float:
    """The largest log-value over the completions of some columns, the others being summed out."""
    groups: dict[tuple[float, ...], list[float]] = {}
    for full in oracle.completions(graph.schema, row, regions):
        key = tuple(x for c, x in enumerate(full) if c in columns or not math.isnan(row[c]))
        groups.setdefault(key, []).append(oracle.log_value(graph, full))
    return max(oracle.log_sum(group) for group in groups.values())


def check_completion(graph: Graph, evidence: Evidence, found: queries.Completion) -> None:
    """A completion keeps what is known, stays in its regions and has the value that it claims."""
    full = found.rows[0]
    known = ~np.isnan(evidence.row)
    np.testing.assert_array_equal(full[known], evidence.row[known])
    for c, region in evidence.regions.items():
        if isinstance(region, States) and not np.isnan(full[c]):
            assert region.allowed[int(full[c])]
        if isinstance(region, Interval) and not np.isnan(full[c]):
            assert region.low <= full[c] <= region.high


@pytest.mark.parametrize("method", METHODS)
@given(graph=strategies.arithmetic_circuits(), data=st.data())
def test_what_is_called_exact_is_the_best_of_all(
    method: MPEMethod, graph: Graph, data: st.DataObject
) -> None:
    row, regions = data.draw(strategies.evidence(graph.schema))
    assume(oracle.log_total(graph, row, regions) > -math.inf)
    found = queries.most_probable(graph, row[None, :], regions, method=method)
    check_completion(graph, Evidence(row, regions), found)
    best = best_of_all(graph, row, regions, set(range(len(graph.schema))))
    value = oracle.log_value(graph, found.rows[0])
    assert found.log_value[0] == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert value <= best + 1e-9
    if found.exact[0]:
        assert value == pytest.approx(best, rel=1e-9, abs=1e-9)
    assert found.exact[0] or method in ("max-product", "search")


@pytest.mark.parametrize("method", METHODS)
@given(graph=strategies.arithmetic_circuits(), data=st.data())
def test_some_columns_are_completed_and_the_others_summed_out(
    method: MPEMethod, graph: Graph, data: st.DataObject
) -> None:
    row, regions = data.draw(strategies.evidence(graph.schema))
    assume(oracle.log_total(graph, row, regions) > -math.inf)
    columns = data.draw(st.sets(st.integers(0, len(graph.schema) - 1)))
    found = queries.most_probable(graph, row[None, :], regions, columns=sorted(columns), method=method)
    check_completion(graph, Evidence(row, regions), found)
    still_open = np.isnan(row) & ~np.isin(np.arange(len(row)), list(columns))
    np.testing.assert_array_equal(np.isnan(found.rows[0]), still_open)
    best = best_of_all(graph, row, regions, columns)
    assert found.log_value[0] <= best + 1e-9
    if found.exact[0]:
        assert found.log_value[0] == pytest.approx(best, rel=1e-9, abs=1e-9)


@given(strategies.deterministic_circuits(normalised=False), st.data())
def test_max_product_is_exact_on_a_deterministic_circuit(graph: Graph, data: st.DataObject) -> None:
    row = data.draw(strategies.rows(graph.schema))
    assume(oracle.log_total(graph, row) > -math.inf)
    found = queries.most_probable(graph, row[None, :], method="max-product")
    assert found.exact[0]
    assert found.log_value[0] == pytest.approx(oracle.mpe(graph, row)[0], rel=1e-9, abs=1e-9)


@given(strategies.circuits(mixed=True, normalised=False), st.data())
def test_a_search_is_never_worse_than_max_product(graph: Graph, data: st.DataObject) -> None:
    row, regions = data.draw(strategies.evidence(graph.schema))
    assume(oracle.log_value(graph, row, regions) > -600)
    plain = queries.most_probable(graph, row[None, :], regions, method="max-product")
    for method in ("search", "auto"):
        found = queries.most_probable(graph, row[None, :], regions, method=method)
        check_completion(graph, Evidence(row, regions), found)
        assert not np.isnan(found.rows).any()
        assert found.log_value[0] >= plain.log_value[0] - 1e-9


def blurred_mixture(components: int, columns: int, seed: int = 0) -> Graph:
    """A mixture whose components overlap, so that the largest term is not the largest sum."""
    rng = np.random.default_rng(seed)
    builder = Builder(discrete_schema([2] * columns))
    parts = [
        builder.product([builder.leaf("bernoulli", c, [rng.normal(0, 0.8)]) for c in range(columns)])
        for _ in range(components)
    ]
    return builder.freeze(builder.sum(parts, np.log(rng.dirichlet(np.ones(components)))))


def test_branch_and_bound_beats_no_listing_of_all_completions() -> None:
    graph = blurred_mixture(12, 10)
    rows = np.full((6, 10), np.nan)
    rows[np.arange(6), np.arange(6)] = np.arange(6) % 2
    listed = queries.most_probable(graph, rows, method="auto")
    proved = queries.most_probable(graph, rows, method="exact")
    assert listed.exact.all()
    assert proved.exact.all()
    np.testing.assert_allclose(proved.log_value, listed.log_value, rtol=1e-12)


def test_listing_in_small_pieces_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = blurred_mixture(5, 8)
    rng = np.random.default_rng(1)
    rows = np.where(rng.random((20, 8)) < 0.6, np.nan, rng.integers(0, 2, (20, 8)))
    whole = queries.most_probable(graph, rows)
    searched = queries.most_probable(graph, rows, method="search")
    monkeypatch.setattr("tractable.queries.search.CHUNK", 100)
    np.testing.assert_array_equal(queries.most_probable(graph, rows).rows, whole.rows)
    again = queries.most_probable(graph, rows, method="search")
    np.testing.assert_allclose(again.log_value, searched.log_value)


def test_a_search_without_time_to_prove_says_that_it_is_not_exact() -> None:
    graph = blurred_mixture(6, 40)
    found = queries.most_probable(graph, np.full((3, 40), np.nan))
    assert not found.exact.any()
    assert not np.isnan(found.rows).any()


def test_a_complete_row_is_its_own_completion() -> None:
    graph = blurred_mixture(3, 4)
    rows = np.array([[0.0, 1.0, 1.0, 0.0]])
    for method in METHODS:
        found = queries.most_probable(graph, rows, method=method)
        np.testing.assert_array_equal(found.rows, rows)


def test_no_rows_have_no_completions() -> None:
    graph = blurred_mixture(3, 4)
    for method in METHODS:
        found = queries.most_probable(graph, np.empty((0, 4)), method=method)
        assert found.rows.shape == (0, 4)
        assert found.log_value.shape == found.exact.shape == (0,)


def test_branch_and_bound_gives_up_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tractable.queries.search.MOST_NODES", 3)
    with pytest.raises(ValueError, match="gave up after 3 steps"):
        queries.most_probable(blurred_mixture(20, 20), np.full((1, 20), np.nan), method="exact")


def test_branch_and_bound_refuses_numbers_by_name() -> None:
    builder = Builder(Schema((Variable("h", "real"),)))
    leaves = [builder.leaf("gaussian", 0, [m, 0.0]) for m in (0.0, 1.0)]
    graph = builder.freeze(builder.sum(leaves, np.log([0.5, 0.5])))
    with pytest.raises(ValueError, match="column 'h' is real"):
        queries.most_probable(graph, np.array([[np.nan]]), method="exact")


def test_a_method_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="no method 'guess'"):
        queries.most_probable(blurred_mixture(2, 2), np.full((1, 2), np.nan), method="guess")  # type: ignore[arg-type]
