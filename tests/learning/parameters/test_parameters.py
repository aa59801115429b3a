"""Every method of parameter learning, and what the papers claim of each."""

from dataclasses import replace

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_circuits import random_graph
from strategies import circuits, deterministic_circuits, rows

from tractable.base.progress import Watch
from tractable.circuit import Builder, Graph, is_deterministic, normalise
from tractable.data import Schema, Table, TableWarning, Variable, discrete_schema
from tractable.engine import log_partition_function, log_values
from tractable.engine.compile import compile_graph
from tractable.engine.expectations import Expecter
from tractable.learning.parameters import METHODS, fit, randomise
from tractable.learning.parameters.cccp import CCCP
from tractable.learning.parameters.closed_form import ClosedForm
from tractable.learning.parameters.gradient import contract_states, expand_states
from tractable.queries import log_prob

COLUMNS = 6


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def start(seed: int = 0, edges: int = 300) -> Graph:
    return random_graph(rng(seed), COLUMNS, edges)


def table(rows: int = 400, missing: float = 0.0, seed: int = 1) -> Table:
    """Rows in two clusters, so that there is something to learn."""
    draw = rng(seed)
    cluster = draw.integers(2, size=(rows, 1))
    values = (draw.random((rows, COLUMNS)) < np.where(cluster, 0.8, 0.2)).astype(np.float64)
    values[draw.random(values.shape) < missing] = np.nan
    return Table(discrete_schema([2] * COLUMNS), values)


def mean(graph: Graph, some: Table) -> float:
    return float(log_prob(graph, some.values) @ some.row_weights / some.total_weight)


def joint_methods() -> list[str]:
    return [name for name in METHODS if name not in ("closed-form", "discriminative", "max-margin")]


@pytest.mark.parametrize("name", joint_methods())
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_every_method_improves_the_training_rows(name: str, missing: float) -> None:
    some = table(missing=missing)
    found = fit(start(), some, METHODS[name](iterations=10), rng())
    assert mean(found.graph, some) > mean(start(), some) + 0.02
    assert log_partition_function(found.graph) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", joint_methods())
def test_the_same_seed_gives_the_same_parameters(name: str) -> None:
    first, second = (fit(start(), table(), METHODS[name](iterations=3), rng(5)).graph for _ in range(2))
    assert np.array_equal(first.log_weight, second.log_weight)


@pytest.mark.parametrize("name", [n for n in joint_methods() if n != "online-em"])
def test_weighted_rows_count_like_repeated_rows(name: str) -> None:
    some = table(rows=60)
    weights = rng(3).integers(0, 4, size=60)
    weighted = Table(some.schema, some.values, weights.astype(np.float64))
    repeated = Table(some.schema, np.repeat(some.values, weights, axis=0))
    one, other = (fit(start(), t, METHODS[name](iterations=3), rng()).graph for t in (weighted, repeated))
    assert np.allclose(log_prob(one, some.values), log_prob(other, some.values), atol=1e-9)


@pytest.mark.parametrize("name", joint_methods())
def test_the_best_circuit_on_validation_rows_is_handed_back(name: str) -> None:
    held_out = table(rows=80, seed=9)
    found = fit(start(), table(rows=40), METHODS[name](iterations=15), rng(), valid=held_out)
    assert mean(found.graph, held_out) == pytest.approx(max(found.valid), abs=1e-6)


def test_validation_rows_without_a_known_cell_are_not_used() -> None:
    nothing = Table(table().schema, np.full((5, len(table().schema)), np.nan))
    with pytest.warns(TableWarning, match="validation table is not used"):
        found = fit(start(), table(), METHODS["cccp"](iterations=3), rng(), valid=nothing)
    assert not found.valid
    assert mean(found.graph, table()) > mean(start(), table())


def test_a_watch_that_is_out_of_time_ends_the_run_with_a_circuit() -> None:
    found = fit(start(), table(), METHODS["cccp"](), rng(), watch=Watch(seconds=0.0))
    assert not found.train  # there was no time for a single sweep
    assert np.isfinite(mean(found.graph, table()))


def test_a_table_of_another_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="schema"):
        fit(start(), Table(discrete_schema([2, 2]), np.zeros((1, 2))), METHODS["cccp"](), rng())


def test_rows_that_weigh_nothing_are_refused() -> None:
    nothing = Table(discrete_schema([2] * COLUMNS), np.zeros((2, COLUMNS)), np.zeros(2))
    with pytest.raises(ValueError, match="weights of the table are all zero"):
        fit(start(), nothing, METHODS["cccp"](), rng())


# ---- random starts --------------------------------------------------------------------------------------


@given(circuits(), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_random_parameters_make_a_normalised_circuit(graph: Graph, seed: int) -> None:
    found = randomise(graph, rng(seed))
    every = np.array(oracle.all_rows(graph.schema))
    assert np.exp(log_values(found, every)).sum() == pytest.approx(1.0)


def test_random_parameters_leave_the_structure_as_it_is() -> None:
    found = randomise(start(), rng())
    assert np.array_equal(found.kind, start().kind)
    assert np.array_equal(found.child, start().child)
    assert not np.isclose(found.log_weight, start().log_weight)[found.log_weight != 0].any()


def test_the_same_seed_gives_the_same_random_parameters() -> None:
    first, second, other = (randomise(start(), rng(seed)) for seed in (1, 1, 2))
    values = table().values
    assert np.array_equal(log_values(first, values), log_values(second, values))
    assert not np.isclose(log_values(first, values), log_values(other, values)).all()


def test_random_probabilities_are_evenly_distributed() -> None:
    odds = randomise(start(edges=20_000), rng()).blocks[0].parameters[:, 0]
    deciles = np.quantile(1 / (1 + np.exp(-odds)), np.arange(0.1, 1.0, 0.1))
    assert deciles == pytest.approx(np.arange(0.1, 1.0, 0.1), abs=0.05)


def test_random_parameters_keep_leaves_over_numbers_and_change_those_over_states() -> None:
    before, after = mixed_start(), randomise(mixed_start(), rng())
    for old, new in zip(before.blocks, after.blocks, strict=True):
        assert np.array_equal(old.parameters, new.parameters) == (old.name != "categorical")


# ---- seed 003 -------------------------------------------------------------------------------------------


@given(circuits(zeros=False), st.data())
@settings(max_examples=40)
def test_cccp_never_lowers_the_training_likelihood(graph: Graph, data: st.DataObject) -> None:
    values = np.array([data.draw(rows(graph.schema)) for _ in range(5)])
    possible = values[np.isfinite(log_values(graph, values))]
    if not len(possible) or is_constant(graph):
        return
    how = CCCP(iterations=8, tolerance=0.0, smoothing=0.0, leaf_smoothing=0.0)
    scores = np.array(fit(graph, Table(graph.schema, possible), how, rng()).train)
    assert (np.diff(scores) >= -1e-7 * np.maximum(1.0, np.abs(scores[:-1]))).all()


def is_constant(graph: Graph) -> bool:
    """Whether a circuit does not depend on the row, so that there is nothing to learn."""
    return compile_graph(normalise(graph).graph, merge=False).constant


def test_cccp_climbs_higher_than_the_gradient_methods_from_one_random_start() -> None:
    reached = {
        name: fit(start(edges=600), table(rows=1000), METHODS[name](iterations=50), rng()).train[-1]
        for name in ("cccp", "sma", "eg", "pgd")
    }
    assert max(reached, key=lambda name: reached[name]) == "cccp"


@given(circuits(), st.data())
@settings(max_examples=40)
def test_the_induced_trees_of_a_circuit_add_up_to_its_value(graph: Graph, data: st.DataObject) -> None:
    row = data.draw(rows(graph.schema))
    leaves, total = oracle.leaves_of(graph), -np.inf
    for tree in oracle.induced_trees(graph):
        logs = [oracle.log_leaf(leaves[node], row, {}) for node in tree.leaves]
        total = np.logaddexp(total, tree.log_weight + sum(logs))
    expected = oracle.log_value(graph, row)
    assert total == pytest.approx(expected, rel=1e-9, abs=1e-9) or (total == expected == -np.inf)


@given(circuits(zeros=False), st.data())
@settings(max_examples=40)
def test_expected_edge_use_is_the_slope_of_the_log_value_in_the_log_weight(
    graph: Graph, data: st.DataObject
) -> None:
    local = normalise(graph).graph
    row = np.array([data.draw(rows(graph.schema))])
    if local.edges == 0 or not np.isfinite(log_values(local, row)).all():
        return
    if compile_graph(local, merge=False).constant:
        return
    expected = Expecter(local).expectations(local, row, np.ones(1))
    for edge in np.flatnonzero(local.kind[local.parent] == 2)[:6]:
        if np.diff(local.start)[local.parent[edge]] == 1:
            continue  # a sum with one child has no choice to count
        moved = local.log_weight.copy()
        moved[edge] += 1e-6
        slope = (log_values(replace(local, log_weight=moved), row) - log_values(local, row))[0] / 1e-6
        assert expected.edge[edge] == pytest.approx(slope, abs=1e-4)


@given(circuits())
@settings(max_examples=30)
def test_leaves_as_sums_over_indicators_and_back_are_the_same_distribution(graph: Graph) -> None:
    every = np.array(oracle.all_rows(graph.schema))
    before = log_values(graph, every)
    assert np.allclose(np.exp(log_values(expand_states(graph), every)), np.exp(before), atol=1e-12)
    assert np.allclose(
        np.exp(log_values(contract_states(expand_states(graph)), every)), np.exp(before), atol=1e-12
    )


# ---- seed 004 -------------------------------------------------------------------------------------------


@given(deterministic_circuits(), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_the_closed_form_is_where_em_stands_still(graph: Graph, seed: int) -> None:
    if not is_deterministic(graph) or is_constant(graph):
        return
    every = np.array(oracle.all_rows(graph.schema))
    possible = every[np.isfinite(log_values(graph, every))]
    if not len(possible):
        return
    some = Table(graph.schema, possible, rng(seed).integers(1, 5, size=len(possible)).astype(np.float64))
    best = fit(graph, some, ClosedForm(smoothing=0.0, leaf_smoothing=0.0), rng()).graph
    again = fit(best, some, CCCP(iterations=5, tolerance=0.0, smoothing=0.0, leaf_smoothing=0.0), rng())
    assert again.train[-1] == pytest.approx(again.train[0], abs=1e-6)


def test_the_closed_form_counts_rows() -> None:
    builder = Builder(discrete_schema([3]))
    builder.sum([builder.indicator(0, k) for k in range(3)], np.log([0.2, 0.3, 0.5]))
    some = Table(builder.schema, np.array([[0.0], [0.0], [1.0], [2.0]]), np.array([1.0, 2.0, 1.0, 4.0]))
    found = fit(builder.freeze(), some, ClosedForm(smoothing=0.0), rng()).graph
    assert np.exp(log_prob(found, np.array([[0.0], [1.0], [2.0]]))) == pytest.approx([3 / 8, 1 / 8, 4 / 8])


def test_the_closed_form_refuses_circuits_that_are_not_selective() -> None:
    with pytest.raises(ValueError, match="not selective"):
        fit(start(), table(), METHODS["closed-form"](), rng())


def test_the_closed_form_refuses_missing_cells() -> None:
    builder = Builder(discrete_schema([2]))
    builder.sum([builder.indicator(0, k) for k in range(2)], np.log([0.5, 0.5]))
    with pytest.raises(ValueError, match="is missing"):
        fit(builder.freeze(), Table(builder.schema, np.array([[np.nan]])), METHODS["closed-form"](), rng())


# ---- leaves over numbers --------------------------------------------------------------------------------


def mixed_start() -> Graph:
    schema = Schema(
        (Variable("height", "real"), Variable("visits", "count"), Variable("kind", states=("a", "b", "c")))
    )
    builder = Builder(schema)
    parts = [
        builder.product(
            [
                builder.leaf("gaussian", 0, (mean, 0.0)),
                builder.leaf("poisson", 1, (log_rate,)),
                builder.leaf("categorical", 2, np.log([0.2, 0.3, 0.5])),
            ]
        )
        for mean, log_rate in ((-1.0, 0.0), (1.0, 1.0))
    ]
    builder.sum(parts, np.log([0.5, 0.5]))
    return builder.freeze()


@pytest.mark.parametrize("name", ["cccp", "hard-em", "online-em"])
def test_two_clusters_of_numbers_are_found(name: str) -> None:
    draw = rng(4)
    cluster = draw.integers(2, size=2000)
    values = np.stack(
        [
            draw.normal(np.where(cluster, 4.0, -3.0), 0.5),
            draw.poisson(np.where(cluster, 9.0, 1.0)),
            cluster * 2.0,
        ],
        axis=1,
    )
    values[draw.random(values.shape) < 0.05] = np.nan
    found = fit(mixed_start(), Table(mixed_start().schema, values), METHODS[name](iterations=40), rng()).graph
    gaussian = next(b for b in found.blocks if b.name == "gaussian")
    poisson = next(b for b in found.blocks if b.name == "poisson")
    assert np.sort(gaussian.parameters[:, 0]) == pytest.approx([-3.0, 4.0], abs=0.15)
    assert np.sort(np.exp(poisson.parameters[:, 0])) == pytest.approx([1.0, 9.0], abs=0.5)
