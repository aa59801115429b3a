"""Entropy, mutual information and divergence, against enumeration."""

import math
from dataclasses import replace

import numpy as np
import oracle
import pytest
import strategies
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tractable import queries
from tractable.base.arrays import Floats
from tractable.circuit import Block, Builder, Graph, LeafBlock
from tractable.data import Evidence, Schema, Variable, discrete_schema
from tractable.queries.information import count_states


def nothing(graph: Graph) -> Evidence:
    return Evidence(np.full(len(graph.schema), np.nan), {})


def log_table(graph: Graph, evidence: Evidence) -> dict[tuple[float, ...], float]:
    """The log-probability of every complete row given evidence, by listing them."""
    total = oracle.log_total(graph, evidence.row, evidence.regions)
    rows = oracle.completions(graph.schema, evidence.row, evidence.regions)
    return {row: oracle.log_value(graph, row) - total for row in rows}


def table(graph: Graph, evidence: Evidence) -> dict[tuple[float, ...], float]:
    """The probability of every complete row given evidence."""
    return {row: math.exp(log) for row, log in log_table(graph, evidence).items()}


def entropy_of(distribution: dict[tuple[float, ...], float], columns: list[int]) -> float:
    groups: dict[tuple[float, ...], float] = {}
    for row, p in distribution.items():
        key = tuple(row[c] for c in columns)
        groups[key] = groups.get(key, 0.0) + p
    return -math.fsum(p * math.log(p) for p in groups.values() if p > 0)


@given(strategies.arithmetic_circuits(), st.data())
def test_entropy_and_information_are_the_enumerated_ones(graph: Graph, data: st.DataObject) -> None:
    row, regions = data.draw(strategies.evidence(graph.schema))
    assume(oracle.log_total(graph, row, regions) > -math.inf)
    given_ = Evidence(row, regions)
    columns = data.draw(st.permutations(range(len(graph.schema))))
    one, other = columns[:1], columns[1:3]
    distribution = table(graph, given_)
    first, second, both = (entropy_of(distribution, p) for p in (one, other, one + other))
    assert queries.entropy(graph, given_, columns).value == pytest.approx(
        entropy_of(distribution, columns), abs=1e-9
    )
    found = queries.mutual_information(graph, one, other, given_)
    assert found.value == pytest.approx(first + second - both, abs=1e-9)
    assert found.std_error == 0.0


@given(strategies.deterministic_circuits(normalised=False))
def test_the_closed_form_of_a_deterministic_circuit_is_its_entropy(graph: Graph) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tractable.queries.information.MOST_STATES", 0)
        found = queries.entropy(graph, nothing(graph), range(len(graph.schema)))
    assert found.value == pytest.approx(oracle.entropy(graph), abs=1e-9)


@given(strategies.arithmetic_circuits(), st.data())
def test_divergence_is_the_enumerated_one(graph: Graph, data: st.DataObject) -> None:
    other = data.draw(strategies.circuits(schema=graph.schema, normalised=False))
    assert queries.divergence(graph, other).value == pytest.approx(
        enumerated_divergence(graph, other), abs=1e-9
    )


def enumerated_divergence(graph: Graph, other: Graph) -> float:
    p, q = log_table(graph, nothing(graph)), log_table(other, nothing(other))
    seen = [row for row in p if p[row] > -math.inf]
    if any(q[row] == -math.inf for row in seen):
        return math.inf
    return math.fsum(math.exp(p[row]) * (p[row] - q[row]) for row in seen)


def coin(log_odds: float) -> Graph:
    builder = Builder(discrete_schema([2]))
    builder.leaf("bernoulli", 0, [log_odds])
    return builder.freeze()


@pytest.mark.parametrize("log_odds", [-800.0, 800.0, -1e5])
def test_a_divergence_to_what_is_next_to_impossible_is_finite(log_odds: float) -> None:
    fair, certain = coin(0.0), coin(log_odds)
    expected = abs(log_odds) / 2 - math.log(2.0)
    assert queries.divergence(fair, certain).value == pytest.approx(expected, rel=1e-12)
    assert queries.divergence(certain, fair).value == pytest.approx(math.log(2.0), rel=1e-12)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tractable.queries.comparison.MOST_STATES", 0)
        assert queries.divergence(fair, certain).value == pytest.approx(expected, rel=1e-12)


def test_a_divergence_to_what_is_impossible_is_infinite_however_improbable_it_is() -> None:
    assert queries.divergence(coin(-800.0), coin(-math.inf)).value == math.inf
    assert queries.divergence(coin(-math.inf), coin(-800.0)).value == 0.0


def test_the_entropy_of_what_is_nearly_certain_keeps_its_digits() -> None:
    p = math.exp(-700.0)
    everything = p * 700.0 + p  # of the rare state, and of the other one, -log(1 - p)
    graph = coin(-700.0)
    assert queries.entropy(graph, nothing(graph), [0]).value == pytest.approx(everything, rel=1e-9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tractable.queries.information.MOST_STATES", 0)
        assert queries.entropy(graph, nothing(graph), [0]).value == pytest.approx(everything, rel=1e-9)


def test_what_two_nearly_certain_columns_tell_about_each_other_keeps_its_digits() -> None:
    builder = Builder(discrete_schema([2, 2]))
    pairs = [builder.product([builder.indicator(c, state) for c in (0, 1)]) for state in (0, 1)]
    builder.sum(pairs, [-math.log1p(math.exp(-600.0)), -600.0])
    graph = builder.freeze()
    both_equal = queries.entropy(graph, nothing(graph), [0]).value
    found = queries.mutual_information(graph, [0], [1], nothing(graph)).value
    assert found == pytest.approx(both_equal, rel=1e-9)
    assert found == pytest.approx(601.0 * math.exp(-600.0), rel=1e-9)


def shaken(graph: Graph, noise: Floats) -> Graph:
    """The circuit with other weights and leaves, zero where it was zero."""

    def leaves(block: Block) -> Block:
        if not isinstance(block, LeafBlock):
            return block
        if block.name == "bernoulli":
            return replace(block, params=block.params + noise[0])
        if block.name != "categorical":
            return block
        raw = block.params + noise[: block.params.shape[1]]
        return replace(block, params=raw - np.logaddexp.reduce(raw, axis=1, keepdims=True))

    weights = graph.log_weight + np.where(graph.kind[graph.parent] == 2, np.resize(noise, graph.edges), 0.0)
    return replace(graph, log_weight=weights, blocks=tuple(leaves(b) for b in graph.blocks))


@given(
    strategies.deterministic_circuits(normalised=False),
    st.lists(st.floats(-1.0, 1.0), min_size=7, max_size=7).map(np.array),
)
def test_the_closed_form_between_circuits_of_one_structure_is_their_divergence(
    graph: Graph, noise: Floats
) -> None:
    other = shaken(graph, noise)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tractable.queries.comparison.MOST_STATES", 0)
        found = queries.divergence(graph, other)
    assert found.value == pytest.approx(enumerated_divergence(graph, other), abs=1e-9)


def chooser(first: Floats, second: Floats) -> Graph:
    """A sum whose two children are told apart by one column, under its own leaves of both."""
    builder = Builder(discrete_schema([2, 2]))
    parts = []
    for masses in (first, second):
        with np.errstate(divide="ignore"):
            parts.append(
                builder.product(
                    [builder.leaf("categorical", 0, np.log(masses)), builder.leaf("bernoulli", 1, [0.3])]
                )
            )
    return builder.freeze(builder.sum(parts, np.log([0.3, 0.7])))


def test_circuits_that_decide_the_other_way_round_have_no_closed_form() -> None:
    """Both are deterministic and of one structure, and yet no row takes the same way through both."""
    yes, no = np.array([0.0, 1.0]), np.array([1.0, 0.0])
    one, other = chooser(no, yes), chooser(yes, no)
    exact = queries.divergence(one, other).value
    assert exact == pytest.approx(enumerated_divergence(one, other))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tractable.queries.comparison.MOST_STATES", 0)
        with pytest.raises(ValueError, match="differ in which states are possible"):
            queries.divergence(one, other)
        with pytest.raises(ValueError, match="not deterministic"):
            queries.divergence(one, chooser(np.array([0.5, 0.5]), yes))


@settings(max_examples=12)
@given(strategies.circuits(normalised=False, zeros=False), st.data())
def test_estimates_lie_within_five_standard_errors(graph: Graph, data: st.DataObject) -> None:
    row, regions = data.draw(strategies.evidence(graph.schema))
    assume(oracle.log_total(graph, row, regions) > -math.inf and len(graph.schema) > 1)
    given_ = Evidence(row, regions)
    everything = list(range(len(graph.schema)))
    other = data.draw(strategies.circuits(schema=graph.schema, normalised=False, zeros=False))
    pairs = [
        (queries.entropy(graph, given_, everything, method=m) for m in ("exact", "sample")),
        (queries.mutual_information(graph, [0], [1], given_, method=m) for m in ("exact", "sample")),
        (queries.divergence(graph, other, method=m) for m in ("exact", "sample")),
    ]
    for exact, drawn in pairs:
        assert abs(exact.value - drawn.value) <= 5 * drawn.std_error + 1e-9
        assert float(drawn) == drawn.value


def test_a_draw_that_the_other_circuit_rules_out_makes_the_divergence_infinite() -> None:
    yes, no = np.array([0.0, 1.0]), np.array([1.0, 0.0])
    assert queries.divergence(chooser(no, yes), chooser(yes, yes), method="sample").value == math.inf
    assert queries.divergence(chooser(no, yes), chooser(yes, yes)).value == math.inf


def test_the_entropy_of_a_gaussian_is_known() -> None:
    builder = Builder(Schema((Variable("h", "real"),)))
    graph = builder.freeze(builder.leaf("gaussian", 0, [3.0, 0.5]))
    expected = 0.5 * math.log(2 * math.pi * math.e) + 0.5
    assert queries.entropy(graph, nothing(graph), [0]).value == pytest.approx(expected)


def test_what_has_no_exact_value_is_refused_with_a_way_out() -> None:
    builder = Builder(discrete_schema([2] * 30))
    parts = [builder.product([builder.leaf("bernoulli", c, [b]) for c in range(30)]) for b in (-0.5, 0.5)]
    graph = builder.freeze(builder.sum(parts, np.log([0.5, 0.5])))
    with pytest.raises(ValueError, match=r"sum \d+: no column tells .* method='sample' estimates it"):
        queries.entropy(graph, nothing(graph), range(30))
    with pytest.raises(ValueError, match="method='sample'"):
        queries.mutual_information(graph, range(15), range(15, 30), nothing(graph))
    with pytest.raises(ValueError, match="not deterministic"):
        queries.divergence(graph, graph)
    with pytest.raises(ValueError, match="column 'x3' is in both groups of columns"):
        queries.mutual_information(graph, [3, 4], [2, 3], nothing(graph))
    with pytest.raises(ValueError, match="different columns"):
        queries.divergence(graph, chooser(np.array([1.0, 0.0]), np.array([0.0, 1.0])))
    with pytest.raises(ValueError, match="no method 'guess'"):
        queries.entropy(graph, nothing(graph), [0], "guess")


@pytest.mark.filterwarnings("error")
def test_more_combinations_than_numbers_can_count_give_no_warning() -> None:
    columns = 1100  # 2**1100 is no number any more
    builder = Builder(discrete_schema([2] * columns))
    leaves = [builder.leaf("bernoulli", c, [0.0]) for c in range(columns)]
    graph = builder.freeze(builder.product(leaves))
    assert count_states(graph, range(columns)) == math.inf
    found = queries.entropy(graph, nothing(graph), range(columns))
    assert found.exact
    assert found.value == pytest.approx(columns * math.log(2))
