"""Circuits over fewer columns, against enumeration."""

import math

import numpy as np
import oracle
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from same_function import families
from strategies import circuits, deterministic_circuits, evidence, rows, wild_graphs

from tractable.circuit import (
    Builder,
    Graph,
    condition,
    is_decomposable,
    is_deterministic,
    is_smooth,
    marginalise,
)
from tractable.data.evidence import Interval, States
from tractable.data.schema import Schema, Variable, discrete_schema

close = pytest.approx


@given(circuits(mixed=True, normalised=False), st.data())
def test_conditioning_puts_the_evidence_into_the_circuit(graph: Graph, data: st.DataObject) -> None:
    row, regions = data.draw(evidence(graph.schema))
    left = condition(graph, row, regions)
    still_open = [i for i in range(len(row)) if math.isnan(row[i]) and i not in regions]
    assert left.schema == graph.schema.select(still_open)
    assert "constant" not in families(left) or left.nodes == 1
    assert is_smooth(left)
    assert is_decomposable(left)
    rest = data.draw(rows(left.schema))
    full = row.copy()
    full[still_open] = rest
    assert oracle.log_value(left, rest) == close(oracle.log_value(graph, full, regions), rel=1e-7, abs=1e-7)


@given(circuits(normalised=False), st.data())
def test_a_normalised_condition_is_the_posterior(graph: Graph, data: st.DataObject) -> None:
    row, regions = data.draw(evidence(graph.schema))
    given_log = oracle.log_total(graph, row, regions)
    assume(given_log > -math.inf)
    left = condition(graph, row, regions, normalised=True)
    still_open = [i for i in range(len(row)) if math.isnan(row[i]) and i not in regions]
    for rest in oracle.all_rows(left.schema):
        full = row.copy()
        full[still_open] = rest
        joint = oracle.log_total(graph, full, regions)
        assert oracle.log_value(left, rest) == close(joint - given_log, rel=1e-9, abs=1e-9)


@given(wild_graphs(), st.data())
def test_seen_values_can_be_put_into_any_graph(graph: Graph, data: st.DataObject) -> None:
    row = data.draw(rows(graph.schema))
    left = condition(graph, row)
    hidden = np.isnan(row)
    for rest in oracle.all_rows(left.schema):
        full = row.copy()
        full[hidden] = rest
        assert oracle.log_value(left, rest) == close(oracle.log_value(graph, full), rel=1e-9, abs=1e-9)


@given(deterministic_circuits(), st.data())
def test_conditioning_keeps_determinism(graph: Graph, data: st.DataObject) -> None:
    assert is_deterministic(condition(graph, data.draw(rows(graph.schema))))


def test_impossible_evidence_leaves_a_circuit_that_is_zero() -> None:
    b = Builder(discrete_schema([2, 2]))
    b.product([b.indicator(0, 1), b.leaf("bernoulli", 1, [0.0])])
    graph = b.freeze()
    row = np.array([0.0, np.nan])
    assert oracle.log_value(condition(graph, row), [1.0]) == -math.inf
    with pytest.raises(ValueError, match="zero everywhere"):
        condition(graph, row, normalised=True)


def test_evidence_that_is_no_row_is_refused() -> None:
    graph = _coin("a")
    with pytest.raises(ValueError, match="column 'a', row 0: 7 is not a valid value"):
        condition(graph, np.array([7.0]))
    with pytest.raises(ValueError, match="column 'a' has both a value and a region"):
        condition(graph, np.array([1.0]), {0: States(np.array([True, False]))})
    with pytest.raises(ValueError, match="column 'a' is categorical: its region must be some of its states"):
        condition(graph, np.array([np.nan]), {0: Interval(0.0, 1.0)})
    with pytest.raises(ValueError, match="column 'a' has 2 states"):
        condition(graph, np.array([np.nan]), {0: States(np.array([True]))})


@given(circuits(mixed=True, normalised=False), st.data())
def test_marginalising_sums_the_other_columns_out(graph: Graph, data: st.DataObject) -> None:
    keep = sorted(data.draw(st.sets(st.integers(0, len(graph.schema) - 1))))
    left = marginalise(graph, keep)
    assert left.schema == graph.schema.select(keep)
    rest = data.draw(rows(left.schema))
    full = np.full(len(graph.schema), np.nan)
    full[keep] = rest
    assert oracle.log_value(left, rest) == close(oracle.log_value(graph, full), rel=1e-9, abs=1e-9)


def test_a_column_that_is_not_smooth_cannot_be_summed_out() -> None:
    b = Builder(discrete_schema([2, 2]))
    b.sum([b.product([b.indicator(0, 0), b.indicator(1, 0)]), b.indicator(0, 1)], [0.0, 0.0])
    graph = b.freeze()
    assert marginalise(graph, [1]).schema.names == ("x1",)
    with pytest.raises(ValueError, match="columns cannot be summed out: sum 4"):
        marginalise(graph, [0])


def test_a_potential_is_a_number_once_it_is_known_and_stays_until_then() -> None:
    graph = _scored_coin()
    seen = condition(graph, np.array([np.nan, 1.5]))
    assert seen.schema.names == ("a",)
    assert oracle.log_value(seen, [1.0]) == close(1.5)
    kept = condition(graph, np.array([1.0, np.nan]))
    assert kept.schema.names == ("score",)
    assert oracle.log_value(kept, [0.25]) == close(0.25)
    assert marginalise(graph, []).schema.names == ("score",)
    with pytest.raises(ValueError, match="column 'score' holds potentials"):
        condition(graph, np.array([np.nan, np.nan]), normalised=True)


def _scored_coin() -> Graph:
    """A coin whose second state is weighted with a factor that comes with each row."""
    b = Builder(Schema((Variable("a", states=("no", "yes")), Variable("score", "real", role="potential"))))
    scored = b.product([b.indicator(0, 1), b.leaf("potential", 1, ())])
    b.sum([b.product([b.indicator(0, 0), b.constant(0.0)]), scored], [0.0, 0.0])
    return b.freeze()


def _coin(name: str, log_odds: float = 0.3) -> Graph:
    b = Builder(Schema((Variable(name, states=("no", "yes")),)))
    b.leaf("bernoulli", 0, [log_odds])
    return b.freeze()
