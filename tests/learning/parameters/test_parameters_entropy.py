"""Entropy as part of what parameter learning maximises, against a general optimiser and against counting."""

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_circuits import random_graph
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax, wrightomega, xlogy
from strategies import circuits, deterministic_circuits, rows

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.circuit import Builder, Graph, is_deterministic, normalise
from tractable.circuit.graph import LEAF, SUM
from tractable.data import Schema, Table, Variable, discrete_schema
from tractable.engine import log_values
from tractable.engine.compile import compile_graph
from tractable.engine.expectations import Expecter
from tractable.learning.parameters import METHODS, fit
from tractable.learning.parameters.cccp import CCCP
from tractable.learning.parameters.entropy import first_omega, omega, spread_counts, spread_sums
from tractable.learning.parameters.method import WeightedRows
from tractable.learning.parameters.online_em import OnlineEM
from tractable.learning.parameters.updates import refit_blocks, smoothed_weights
from tractable.queries import log_prob


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# ---- one sum --------------------------------------------------------------------------------------------


def spread_one(count: Floats, below: Floats, pull: float) -> float:
    """Even out the counts of a circuit of one sum over leaves of the given entropies; its entropy."""
    size = count.size
    kind = np.array([LEAF] * size + [SUM], dtype=np.uint8)
    first, last = np.zeros(size + 1, dtype=np.int64), np.array([0] * size + [size])
    entropy = np.append(below, 0.0)
    spread_sums(kind, first, last, np.arange(size), np.full(size + 1, pull), count, entropy)
    return float(entropy[-1])


def solved(count: list[float] | Floats, below: list[float] | Floats, pull: float) -> Floats:
    spread_out = np.array(count, dtype=np.float64)
    spread_one(spread_out, np.array(below, dtype=np.float64), pull)
    return spread_out / spread_out.sum()


def objective(weight: Floats, count: Floats, below: Floats, pull: float) -> float:
    return float((xlogy(count, weight) + pull * (weight * below - xlogy(weight, weight))).sum())


def searched(count: Floats, below: Floats, pull: float) -> Floats:
    """The best weights by a general optimiser, which knows nothing of the problem's form."""
    scale = count.sum() + pull

    def loss(logits: Floats) -> float:
        return -objective(softmax(logits), count, below, pull) / scale

    return softmax(minimize(loss, np.zeros(count.size), method="BFGS", options={"gtol": 1e-9}).x)


@pytest.mark.parametrize("pull", [0.01, 0.3, 2.0, 50.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_sum_is_where_a_general_optimiser_ends(pull: float, seed: int) -> None:
    draw = rng(seed)
    count, below = draw.exponential(5.0, size=2 + seed), draw.normal(size=2 + seed)
    found, twin = solved(count, below, pull), searched(count, below, pull)
    assert found == pytest.approx(twin, abs=1e-5)
    assert objective(found, count, below, pull) >= objective(twin, count, below, pull) - 1e-9


counts = st.lists(st.one_of(st.just(0.0), st.floats(1e-9, 1e6)), min_size=2, max_size=6)


@given(counts, st.data(), st.floats(-9, 9))
@settings(max_examples=200)
def test_no_step_to_either_side_is_better(count: list[float], data: st.DataObject, power: float) -> None:
    below = np.array([data.draw(st.floats(-50, 50)) for _ in count])
    pull = 10.0**power
    found = solved(count, below, pull)
    assert found.sum() == pytest.approx(1.0)
    best = objective(found, np.array(count), below, pull)
    rounding = 1e-9 * max(1.0, abs(best)) + 1e-15 * pull  # which a rounded weight is multiplied by
    for c in range(len(count)):
        for share in (1e-3, 0.3):
            moved = (1 - share) * found + share * np.eye(len(count))[c]
            assert objective(moved, np.array(count), below, pull) <= best + rounding


def test_a_long_way_to_the_solution_is_found_too() -> None:
    """Here the first guess is so far off that small numbers grow by many powers on the way."""
    count, below = np.array([0.25, 0.25, 1e-9]), np.array([0.0, -10.0, 0.0])
    found = solved(count, below, 10**-1.5)
    level = count / 10**-1.5 / found - np.log(found) + below
    assert level == pytest.approx(level[0], rel=1e-6)


def test_without_pull_the_counts_stay() -> None:
    count = np.array([3.0, 0.0, 5.0])
    spread_one(count, np.array([1.0, 2.0, 3.0]), 0.0)
    assert np.array_equal(count, [3.0, 0.0, 5.0])


def test_a_small_pull_hardly_changes_the_counts() -> None:
    assert solved([3.0, 1.0, 4.0], [0.0, 5.0, -5.0], 1e-10) == pytest.approx([3 / 8, 1 / 8, 4 / 8], rel=1e-8)


def test_a_strong_pull_leads_to_even_weights_over_children_of_equal_entropy() -> None:
    assert solved([100.0, 1.0, 0.0, 7.0], [2.0] * 4, 1e9) == pytest.approx([0.25] * 4, abs=1e-6)


def test_a_strong_pull_prefers_children_by_the_states_they_are_worth() -> None:
    below = np.log([1.0, 2.0, 5.0])
    assert solved([9.0, 9.0, 9.0], below, 1e9) == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=1e-6)


def test_a_sum_that_nothing_was_seen_at_has_entropy_alone() -> None:
    assert solved([0.0, 0.0], [np.log(3.0), 0.0], 0.5) == pytest.approx([0.75, 0.25])


def test_a_single_child_keeps_its_count() -> None:
    count = np.array([4.0])
    assert spread_one(count, np.array([1.5]), 10.0) == 1.5
    assert count[0] == 4.0


def test_the_answer_is_the_entropy_of_the_spread_weights() -> None:
    count, below = np.array([8.0, 2.0, 1.0]), np.array([0.1, 0.2, 0.3])
    answer = spread_one(count, below, 3.0)
    weight = count / count.sum()
    assert count.sum() == pytest.approx(11.0)
    assert answer == pytest.approx((weight * (below - np.log(weight))).sum())


def plain(function: Any) -> Callable[..., float]:
    """A function that only compiled ones may call, as Python runs it."""
    python: Callable[..., float] = getattr(function, "py_func", function)
    return python


def test_omega_is_the_function_of_wright() -> None:
    points = np.concatenate([np.linspace(-60, 60, 500), np.logspace(0, 12, 100)])
    assert [plain(omega)(z, plain(first_omega)(z)) for z in points] == pytest.approx(
        wrightomega(points), rel=1e-12
    )


# ---- circuits -------------------------------------------------------------------------------------------


def choice_entropy(graph: Graph) -> float:
    """The entropy of a row and the choices on its way, over all induced trees and their leaves' states."""
    leaves = oracle.leaves_of(graph)
    total = 0.0
    for tree in oracle.induced_trees(graph):
        if tree.log_weight > -np.inf:
            inner = sum(leaf_entropy(graph, leaves, node) for node in tree.leaves)
            total += np.exp(tree.log_weight) * (inner - tree.log_weight)
    return total


def leaf_entropy(graph: Graph, leaves: dict[int, oracle.Leaf], node: int) -> float:
    column = leaves[node].column
    if column < 0:
        return 0.0
    row = np.zeros(len(graph.schema))
    logs = []
    for state in range(graph.schema[column].cardinality):
        row[column] = state
        logs.append(oracle.log_leaf(leaves[node], row, {}))
    p = np.exp(np.array(logs))
    return float(-xlogy(p, p).sum())


def objectives(graph: Graph, values: Floats, how: CCCP, steps: int) -> list[float]:
    """What the method maximises, step by step: the mean log-likelihood and the entropy at its price."""
    some = WeightedRows(values, np.ones(len(values)))
    course = islice(how.steps(normalise(graph).graph, some, rng(), Watch(), None), steps)
    return [step.train + how.entropy * choice_entropy(step.graph) for step in course]


@given(circuits(zeros=False), st.data(), st.sampled_from([0.03, 0.5, 20.0]))
@settings(max_examples=40)
def test_cccp_never_lowers_likelihood_plus_entropy(graph: Graph, data: st.DataObject, tau: float) -> None:
    values = np.array([data.draw(rows(graph.schema)) for _ in range(5)])
    possible = values[np.isfinite(log_values(graph, values))]
    if not len(possible) or is_constant(graph):
        return
    scores = np.array(objectives(graph, possible, how_plain(tau), 6))
    assert (np.diff(scores) >= -1e-7 * np.maximum(1.0, np.abs(scores[:-1]))).all()


def how_plain(tau: float) -> CCCP:
    return CCCP(smoothing=0.0, leaf_smoothing=0.0, entropy=tau, tolerance=0.0, iterations=600)


def is_constant(graph: Graph) -> bool:
    """Whether a circuit does not depend on the row, so that there is nothing to learn."""
    return compile_graph(normalise(graph).graph, merge=False).constant


def shared_start() -> Graph:
    """Two levels of sums, columns of two and three states; every part is used by two parents."""
    builder, draw = Builder(discrete_schema([2, 3, 2])), rng(3)
    first = [builder.leaf("bernoulli", 0, [x]) for x in (-1.0, 0.5)]
    second = [builder.leaf("categorical", 1, np.log(draw.dirichlet(np.ones(3)))) for _ in range(2)]
    third = [builder.leaf("bernoulli", 2, [x]) for x in (-0.3, 2.0)]
    pairs = [builder.product([a, b]) for a, b in zip(second, third, strict=True)]
    inner = [builder.sum(pairs, np.log(draw.dirichlet(np.ones(2)))) for _ in range(2)]
    outer = [builder.product([a, b]) for a, b in zip(first, inner, strict=True)]
    builder.sum(outer, np.log([0.3, 0.7]))
    return builder.freeze()


def shared_rows() -> Floats:
    draw = rng(5)
    kind = draw.integers(2, size=40)
    return (
        np.stack(
            [kind, np.where(kind, draw.integers(3, size=40), 2), (kind + (draw.random(40) < 0.3)) % 2], 1
        )
        * 1.0
    )


@pytest.mark.parametrize("tau", [0.05, 1.0])
def test_where_cccp_ends_nothing_near_is_better(tau: float) -> None:
    table = Table(shared_start().schema, shared_rows())
    end = fit(shared_start(), table, how_plain(tau), rng()).graph

    def worth(graph: Graph) -> float:
        return float(oracle.log_values(graph, table.values).mean()) + tau * choice_entropy(graph)

    best, draw = worth(end), rng(1)
    for _ in range(60):
        shifted = end.log_weight + 0.02 * draw.normal(size=end.edges) * (end.log_weight != 0)
        leaves = tuple(
            b.with_parameters(b.parameters + 0.02 * draw.normal(size=b.parameters.shape)) for b in end.blocks
        )
        leaves = tuple(
            b.with_parameters(log_softmax(b.parameters, 1)) if b.parameters.shape[1] > 1 else b
            for b in leaves
        )
        assert worth(normalise(replace(end, log_weight=shifted, blocks=leaves)).graph) <= best + 1e-7


@given(deterministic_circuits())
@settings(max_examples=30)
def test_the_entropy_of_a_deterministic_circuit_is_that_of_its_rows(graph: Graph) -> None:
    if is_deterministic(graph):
        assert choice_entropy(normalise(graph).graph) == pytest.approx(oracle.entropy(graph), abs=1e-9)


@pytest.mark.parametrize("tau", [0.1, 3.0])
def test_a_deterministic_circuit_ends_at_the_best_likelihood_plus_entropy_of_its_rows(tau: float) -> None:
    builder = Builder(discrete_schema([2, 3]))
    sides = [
        builder.product([builder.indicator(0, s), builder.leaf("categorical", 1, np.log(np.full(3, 1 / 3)))])
        for s in range(2)
    ]
    builder.sum(sides, np.log([0.5, 0.5]))
    values = np.array([[0, 0], [0, 0], [0, 1], [1, 2], [1, 0], [0, 0], [0, 0], [0, 2]], dtype=np.float64)
    how = CCCP(smoothing=0.0, leaf_smoothing=0.0, entropy=tau, tolerance=0.0, iterations=100)
    found = fit(builder.freeze(), Table(builder.schema, values), how, rng()).graph
    count = np.array([4.0, 1, 1, 1, 0, 1]) / 8
    best = searched(count, np.zeros(6), tau)  # one weight a row: likelihood and entropy need no circuit
    every = np.array(oracle.all_rows(builder.schema))
    assert np.exp(log_prob(found, every)) == pytest.approx(best, abs=1e-4)


# ---- methods --------------------------------------------------------------------------------------------


def table(count: int, seed: int, missing: float = 0.0) -> Table:
    draw = rng(seed)
    cluster = draw.integers(2, size=(count, 1))
    values = (draw.random((count, 6)) < np.where(cluster, 0.8, 0.2)).astype(np.float64)
    values[draw.random(values.shape) < missing] = np.nan
    return Table(discrete_schema([2] * 6), values)


def start() -> Graph:
    return random_graph(rng(), 6, 300)


def test_without_entropy_the_counts_are_the_same_object() -> None:
    local = normalise(start()).graph
    expected = Expecter(local).expectations(local, table(50, 1).values, np.ones(50))
    assert spread_counts(local, expected, 0.0, 0.1, 0.1) is expected


def test_a_hardly_felt_entropy_gives_the_closed_form() -> None:
    local, some = normalise(start()).graph, table(50, 1, missing=0.2).values
    expected = Expecter(local).expectations(local, some, np.ones(50))
    counts = spread_counts(local, expected, 1e-9, 0.1, 0.2)
    plain, near = (smoothed_weights(local, c, 0.1) for c in (expected, counts))
    assert np.allclose(plain, near, rtol=1e-6, atol=1e-6)
    for one, other in zip(
        refit_blocks(local, expected, some, 0.2), refit_blocks(local, counts, some, 0.2), strict=True
    ):
        assert np.allclose(one.parameters, other.parameters, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["cccp", "online-em"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_much_entropy_makes_all_rows_about_equally_likely(name: str, missing: float) -> None:
    how = METHODS[name](iterations=30, entropy=1e6)  # type: ignore[call-arg]
    found = fit(start(), table(200, 2, missing), how, rng()).graph
    every = np.array(oracle.all_rows(found.schema))
    assert np.exp(log_prob(found, every)) == pytest.approx(1 / 64, rel=1e-3)


@pytest.mark.parametrize("name", ["cccp", "online-em"])
def test_entropy_helps_where_rows_are_few(name: str) -> None:
    few, many = table(25, 3), table(3000, 4).values
    plain, spread_out = (
        fit(start(), few, METHODS[name](iterations=60, smoothing=0.1, entropy=e), rng()).graph  # type: ignore[call-arg]
        for e in (0.0, 0.1)
    )
    assert log_prob(spread_out, many).mean() > log_prob(plain, many).mean() + 0.05


@pytest.mark.parametrize("name", ["cccp", "online-em"])
def test_one_row_and_columns_of_one_state_can_be_learned_from(name: str) -> None:
    builder = Builder(discrete_schema([1, 3]))
    parts = [
        builder.product([builder.leaf("categorical", 0, [0.0]), builder.leaf("categorical", 1, np.log(p))])
        for p in ([0.2, 0.3, 0.5], [0.6, 0.3, 0.1])
    ]
    builder.sum(parts, np.log([0.5, 0.5]))
    how = METHODS[name](iterations=40, smoothing=0.0, leaf_smoothing=0.0, entropy=1.0)  # type: ignore[call-arg]
    found = fit(builder.freeze(), Table(builder.schema, np.zeros((1, 2))), how, rng()).graph
    p = np.exp(log_prob(found, np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 2.0]])))
    assert p.sum() == pytest.approx(1.0)
    assert p[1] == pytest.approx(p[2], rel=0.01)
    assert p[0] > p[1] > 0


def test_a_leaf_that_sees_nothing_stays_as_it_is() -> None:
    builder = Builder(discrete_schema([2, 2]))
    sides = [
        builder.product([builder.indicator(0, s), builder.leaf("bernoulli", 1, [1.5])]) for s in range(2)
    ]
    builder.sum(sides, np.log([0.5, 0.5]))
    how = CCCP(iterations=5, leaf_smoothing=0.0, entropy=0.5)
    found = fit(builder.freeze(), Table(builder.schema, np.array([[0.0, 1.0], [0.0, 0.0]])), how, rng()).graph
    odds = next(b.parameters[:, 0] for b in found.blocks if b.name == "bernoulli")
    assert sorted(odds) == pytest.approx([0.0, 1.5], abs=1e-6)


def test_leaves_over_numbers_are_fitted_as_ever() -> None:
    builder = Builder(Schema((Variable("x", "real"), Variable("k", states=("a", "b")))))
    parts = [
        builder.product([builder.leaf("gaussian", 0, (mean, 0.0)), builder.leaf("bernoulli", 1, [mean])])
        for mean in (-1.0, 1.0)
    ]
    builder.sum(parts, np.log([0.5, 0.5]))
    draw = rng(6)
    kind = draw.integers(2, size=600)
    some = Table(builder.schema, np.stack([draw.normal(np.where(kind, 6.0, -6.0)), kind], axis=1))
    for how in (CCCP(iterations=30, entropy=0.05), OnlineEM(iterations=30, entropy=0.05)):
        found = fit(builder.freeze(), some, how, rng()).graph
        means = next(b.parameters[:, 0] for b in found.blocks if b.name == "gaussian")
        assert np.sort(means) == pytest.approx([-6.0, 6.0], abs=0.4)


@pytest.mark.parametrize("entropy", [-1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("method", [CCCP, OnlineEM])
def test_a_weight_that_is_none_is_refused(method: type[CCCP | OnlineEM], entropy: float) -> None:
    with pytest.raises(ValueError, match=r"setting entropy of .* must be (at least 0|finite)"):
        method(entropy=entropy)
