"""Probabilities, conditionals, marginals and moments, against enumeration."""

import math
from typing import Any

import numpy as np
import oracle
import pytest
import strategies
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import quad

from tractable import queries
from tractable.base.arrays import Floats
from tractable.circuit import Builder, Graph
from tractable.data import Evidence, Interval, Region, Schema, States, Variable, discrete_schema
from tractable.data.evidence import join_evidence


def assert_close(found: Floats, expected: Floats | list[float]) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def nothing(schema: Schema) -> Evidence:
    return Evidence(np.full(len(schema), np.nan), {})


def draw_evidence(data: st.DataObject, schema: Schema) -> Evidence:
    row, regions = data.draw(strategies.evidence(schema))
    return Evidence(row, regions)


def log_total(graph: Graph, evidence: Evidence) -> float:
    return oracle.log_total(graph, evidence.row, evidence.regions)


@given(strategies.arithmetic_circuits())
def test_all_complete_rows_together_have_probability_one(graph: Graph) -> None:
    logs = queries.log_prob(graph, np.array(oracle.all_rows(graph.schema)))
    assert np.exp(logs).sum() == pytest.approx(1.0)


@given(strategies.arithmetic_circuits(), st.data())
def test_a_missing_cell_is_summed_out(graph: Graph, data: st.DataObject) -> None:
    rows = data.draw(strategies.tables(graph.schema))
    expected = [oracle.log_marginal(graph, row) for row in rows]
    assert_close(queries.log_prob(graph, rows), expected)


@given(strategies.arithmetic_circuits(), st.data())
def test_a_region_sums_over_its_states(graph: Graph, data: st.DataObject) -> None:
    evidence = draw_evidence(data, graph.schema)
    got = queries.log_prob(graph, evidence.row[None, :], evidence.regions)[0]
    assert got == pytest.approx(log_total(graph, evidence) - oracle.log_total(graph), rel=1e-9, abs=1e-9)


@given(strategies.circuits(mixed=True, normalised=False), st.data())
def test_mixed_columns_agree_with_the_definition(graph: Graph, data: st.DataObject) -> None:
    evidence = draw_evidence(data, graph.schema)
    got = queries.log_prob(graph, evidence.row[None, :], evidence.regions)[0]
    whole = oracle.log_value(graph, [math.nan] * len(graph.schema))
    expected = oracle.log_value(graph, evidence.row, evidence.regions) - whole
    if expected > -600:  # below that the oracle's own differences of tails are rounded away
        assert got == pytest.approx(expected, rel=1e-7, abs=1e-7)


def two_gaussians() -> Graph:
    builder = Builder(Schema((Variable("h", "real"), Variable("n", "count"))))
    parts = []
    for mean, log_rate in ((-1.0, 0.3), (2.0, 1.5)):
        leaf = builder.leaf("gaussian", 0, [mean, math.log(0.7)])
        parts.append(builder.product([leaf, builder.leaf("poisson", 1, [log_rate])]))
    return builder.freeze(builder.sum(parts, [math.log(3.0), math.log(4.0)]))


def density(graph: Graph, x: float, n: float = math.nan) -> float:
    return math.exp(queries.log_prob(graph, np.array([[x, n]]))[0])


def test_an_interval_of_a_real_column_is_the_integral_of_its_density() -> None:
    graph = two_gaussians()
    asked = Evidence(np.full(2, np.nan), {0: Interval(-0.5, 1.5)})
    integral = quad(lambda x: density(graph, x), -0.5, 1.5)[0]
    assert math.exp(queries.evidence_log_prob(graph, asked, nothing(graph.schema))) == pytest.approx(integral)


def test_an_interval_of_a_count_column_is_a_sum() -> None:
    graph = two_gaussians()
    rows = np.array([[np.nan, k] for k in range(2, 6)])
    total = np.exp(queries.log_prob(graph, rows)).sum()
    asked = Evidence(np.full(2, np.nan), {1: Interval(1.5, 5.9)})
    assert math.exp(queries.evidence_log_prob(graph, asked, nothing(graph.schema))) == pytest.approx(total)


def test_moments_inside_an_interval_are_those_of_the_density() -> None:
    graph = two_gaussians()
    given_ = Evidence(np.array([np.nan, 3.0]), {0: Interval(-0.5, 1.5)})
    found = queries.moments(graph, 0, given_)
    mass, first, second = (quad(lambda x, k=k: x**k * density(graph, x, 3.0), -0.5, 1.5)[0] for k in range(3))
    assert found.mean == pytest.approx(first / mass)
    assert found.variance == pytest.approx(second / mass - (first / mass) ** 2)
    assert found.std == pytest.approx(math.sqrt(found.variance))


def test_moments_of_a_count_given_a_number_are_sums() -> None:
    graph = two_gaussians()
    p = np.array([density(graph, 0.4, k) for k in range(60)])
    found = queries.moments(graph, 1, Evidence(np.array([0.4, np.nan]), {}))
    mean = p @ np.arange(60) / p.sum()
    assert found.mean == pytest.approx(mean)
    assert found.variance == pytest.approx(p @ (np.arange(60) - mean) ** 2 / p.sum())


def told_by_a_state(*bells: tuple[float, float]) -> Graph:
    """A number whose mean and sd depend on which of several equally probable states there is."""
    builder = Builder(Schema((Variable("x", "real"), discrete_schema([len(bells)])[0])))
    parts = [
        builder.product([builder.leaf("gaussian", 0, [mean, math.log(sd)]), builder.indicator(1, k)])
        for k, (mean, sd) in enumerate(bells)
    ]
    return builder.freeze(builder.sum(parts, [-math.log(len(bells))] * len(bells)))


def test_moments_keep_their_digits_far_from_zero() -> None:
    near, far = (told_by_a_state((at - 1.0, 2.7), (at + 3.0, 0.5)) for at in (0.0, 1.7e9))
    rows = np.array([[np.nan, np.nan], [np.nan, 0.0], [np.nan, 1.0], [1.7e9, 1.0]])
    found = queries.marginals(far, rows)[0]
    assert_close(found[:3, 0] - 1.7e9, queries.marginals(near, rows[:3])[0][:, 0])
    assert_close(found[:, 1], [math.sqrt(7.54 / 2 + 4.0), 2.7, 0.5, 0.0])
    assert queries.moments(far, 0, nothing(far.schema)).variance == pytest.approx(7.77)


def test_a_leaf_far_from_all_others_keeps_its_deviation() -> None:
    graph = told_by_a_state((-1e12, 1.0), (0.0, 1e-3), (1e12, 30.0), (1e200, 2.0))
    rows = np.array([[np.nan, state] for state in range(4)])
    mean, sd = queries.marginals(graph, rows)[0].T
    assert_close(mean, [-1e12, 0.0, 1e12, 1e200])
    assert_close(sd, [1.0, 1e-3, 30.0, 2.0])


def test_moments_of_numeric_states_keep_their_digits_far_from_zero() -> None:
    builder = Builder(Schema((Variable("year", states=(10**9, 10**9 + 1)),)))
    builder.leaf("categorical", 0, np.log([0.25, 0.75]))
    found = queries.moments(builder.freeze(), 0, Evidence(np.array([np.nan]), {}))
    assert (found.mean, found.variance) == pytest.approx((1e9 + 0.75, 0.1875))


@given(strategies.arithmetic_circuits(), st.data())
def test_a_conditional_is_a_ratio(graph: Graph, data: st.DataObject) -> None:
    query, given_ = draw_evidence(data, graph.schema), draw_evidence(data, graph.schema)
    below = log_total(graph, given_)
    assume(below > -math.inf)
    both = join_evidence(query, given_, graph.schema)
    expected = -math.inf if both is None else log_total(graph, both) - below
    assert queries.evidence_log_prob(graph, query, given_) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(strategies.arithmetic_circuits(), st.data())
def test_a_row_given_a_part_of_itself_is_a_ratio(graph: Graph, data: st.DataObject) -> None:
    rows = data.draw(strategies.tables(graph.schema))
    chosen = data.draw(st.sets(st.integers(0, len(graph.schema) - 1)))
    part = np.where(np.isin(np.arange(len(graph.schema)), list(chosen)), rows, np.nan)
    assume(all(oracle.log_total(graph, row) > -math.inf for row in part))
    expected = [oracle.log_conditional(graph, row, chosen) for row in rows]
    assert_close(queries.log_conditional(graph, rows, sorted(chosen)), expected)


@given(strategies.arithmetic_circuits(), st.data())
def test_marginals_are_enumerated_posteriors(graph: Graph, data: st.DataObject) -> None:
    evidence = draw_evidence(data, graph.schema)
    assume(log_total(graph, evidence) > -math.inf)
    found = queries.marginals(graph, evidence.row[None, :], evidence.regions)
    for c, posterior in enumerate(found):
        assert_close(posterior[0], enumerated(graph, [c], evidence))


def enumerated(graph: Graph, columns: list[int], evidence: Evidence) -> Floats:
    """P(columns | evidence) as a table, by listing all rows."""
    table = np.zeros([graph.schema[c].cardinality for c in columns])
    below = log_total(graph, evidence)
    for row in oracle.completions(graph.schema, evidence.row, evidence.regions):
        table[tuple(int(row[c]) for c in columns)] += math.exp(oracle.log_value(graph, row) - below)
    return table


@given(strategies.arithmetic_circuits(), st.data())
def test_a_joint_marginal_is_the_enumerated_table(graph: Graph, data: st.DataObject) -> None:
    evidence = draw_evidence(data, graph.schema)
    assume(log_total(graph, evidence) > -math.inf)
    columns = data.draw(st.lists(st.integers(0, len(graph.schema) - 1), unique=True, max_size=3))
    found = queries.joint_marginal(graph, columns, evidence)
    assert_close(found, enumerated(graph, columns, evidence))


@given(strategies.circuits(mixed=True, normalised=False), st.data())
def test_a_joint_marginal_of_mixed_circuits_is_a_ratio(graph: Graph, data: st.DataObject) -> None:
    evidence = draw_evidence(data, graph.schema)
    below = oracle.log_value(graph, evidence.row, evidence.regions)
    assume(below > -600)
    columns = [c for c, v in enumerate(graph.schema) if v.is_categorical][:2]
    found = queries.joint_marginal(graph, columns, evidence)
    assert found.sum() == pytest.approx(1.0)
    for states in np.ndindex(found.shape):
        row, regions = evidence.row.copy(), dict(evidence.regions)
        possible = True
        for c, s in zip(columns, states, strict=True):
            region: Region | None = regions.pop(c, None)
            possible &= not (isinstance(region, States) and not region.allowed[s])
            possible &= bool(np.isnan(row[c]) or row[c] == s)
            row[c] = s
        expected = math.exp(oracle.log_value(graph, row, regions) - below) if possible else 0.0
        assert found[states] == pytest.approx(expected, rel=1e-7, abs=1e-9)


@given(strategies.circuits(mixed=True, normalised=False))
def test_expected_cells_lie_where_they_may(graph: Graph) -> None:
    cells = queries.expected_cells(graph, np.full((1, len(graph.schema)), np.nan))[0]
    for variable, x in zip(graph.schema, cells, strict=True):
        variable.label(x)
        assert variable.kind == "real" or x == int(x) >= 0


def test_an_expected_count_stays_in_its_interval() -> None:
    cells = queries.expected_cells(two_gaussians(), np.full((1, 2), np.nan), {1: Interval(0.0, 1.0)})
    assert cells[0, 1] in (0.0, 1.0)


def test_a_column_of_numeric_states_has_moments_and_one_of_text_has_none() -> None:
    schema = Schema((Variable("n", "categorical", (2, 5)), Variable("t", "categorical", ("a", "b"))))
    builder = Builder(schema)
    leaves = [builder.leaf("categorical", c, np.log([0.25, 0.75])) for c in range(2)]
    graph = builder.freeze(builder.product(leaves))
    found = queries.moments(graph, 0, nothing(schema))
    assert found.mean == pytest.approx(4.25)
    assert found.variance == pytest.approx(9 * 0.25 * 0.75)
    with pytest.raises(ValueError, match="column 't' has text states"):
        queries.moments(graph, 1, nothing(schema))


@given(strategies.wild_graphs(), st.data())
def test_a_circuit_that_cannot_be_summed_is_refused_in_one_line(graph: Graph, data: st.DataObject) -> None:
    rows = data.draw(strategies.tables(graph.schema, missing=False))
    smooth, decomposable = oracle.is_smooth(graph), oracle.is_decomposable(graph)
    here = oracle.scopes(graph)[-1]
    absent = [v for c, v in enumerate(graph.schema) if c not in here and v.cardinality > 1]
    if smooth and decomposable and not absent:
        return
    with pytest.raises(ValueError, match=r"^(the circuit is not|column '.*' stands nowhere)[^\n]*$"):
        queries.log_prob(graph, rows)


def test_impossible_evidence_is_refused_and_the_row_named() -> None:
    builder = Builder(discrete_schema([2, 2]))
    graph = builder.freeze(builder.product([builder.indicator(0, 1), builder.leaf("bernoulli", 1, [0.3])]))
    rows = np.array([[1.0, np.nan], [0.0, np.nan]])
    asks: list[Any] = [
        lambda: queries.marginals(graph, rows),
        lambda: queries.log_conditional(graph, rows, [0]),
        lambda: queries.most_probable(graph, rows),
        lambda: queries.impute(graph, rows, method="mean"),
        lambda: queries.impute(graph, rows, method="sample"),
    ]
    for ask in asks:
        with pytest.raises(ValueError, match=r"probability zero \(row 1\)"):
            ask()
    impossible = Evidence(rows[1], {})
    for ask in (
        lambda: queries.sample(graph, 3, impossible, 0),
        lambda: queries.joint_marginal(graph, [1], impossible),
        lambda: queries.moments(graph, 1, impossible),
        lambda: queries.entropy(graph, impossible, [1]),
        lambda: queries.entropy(graph, impossible, [1], "sample"),
        lambda: queries.mutual_information(graph, [0], [1], impossible, "sample"),
        lambda: queries.evidence_log_prob(graph, nothing(graph.schema), impossible),
    ):
        with pytest.raises(ValueError, match="probability zero"):
            ask()


def test_a_circuit_that_is_zero_everywhere_is_refused() -> None:
    builder = Builder(discrete_schema([2]))
    graph = builder.freeze(builder.product([builder.indicator(0, 1), builder.constant(-math.inf)]))
    with pytest.raises(ValueError, match="zero for every row"):
        queries.log_prob(graph, np.array([[1.0]]))


def test_a_joint_table_names_what_does_not_fit() -> None:
    graph = two_gaussians()
    with pytest.raises(ValueError, match="column 'h' is real"):
        queries.joint_marginal(graph, [0], nothing(graph.schema))
    builder = Builder(discrete_schema([10] * 8))
    big = builder.freeze(
        builder.product([builder.leaf("categorical", c, np.log(np.full(10, 0.1))) for c in range(8)])
    )
    with pytest.raises(ValueError, match="100,000,000 combinations"):
        queries.joint_marginal(big, range(8), nothing(big.schema))
    with pytest.raises(ValueError, match="'x1' is named twice"):
        queries.joint_marginal(big, [1, 1], nothing(big.schema))


def test_a_joint_table_of_no_columns_is_one() -> None:
    graph = two_gaussians()
    assert queries.joint_marginal(graph, [], nothing(graph.schema)) == pytest.approx(1.0)


def test_many_repeated_rows_have_the_answers_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = two_gaussians()
    rows = np.array([[0.1, 2.0], [np.nan, 1.0]])
    few = queries.log_prob(graph, rows)
    monkeypatch.setattr("tractable.queries.probability.WORTH_COLLAPSING", 1)
    np.testing.assert_array_equal(queries.log_prob(graph, np.tile(rows, (5, 1))), np.tile(few, 5))


@pytest.mark.parametrize("distinct", [7, 4000])
def test_many_rows_have_their_values_whether_or_not_a_sample_shows_repeated_ones(
    monkeypatch: pytest.MonkeyPatch, distinct: int
) -> None:
    graph = two_gaussians()
    rng = np.random.default_rng(0)
    cells = np.column_stack([rng.normal(size=distinct), rng.integers(0, 2, distinct)])
    rows = cells[np.arange(4000) % distinct]
    plain = queries.log_prob(graph, rows)
    monkeypatch.setattr("tractable.queries.probability.WORTH_COLLAPSING", 1)
    monkeypatch.setattr("tractable.queries.probability.SAMPLE", 100)
    assert_close(queries.log_prob(graph, rows), plain)
