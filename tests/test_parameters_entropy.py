"""Entropy as part of what parameter learning maximises, against a general optimiser and against counting."""


import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import softmax, wrightomega, xlogy

import oracle
from strategies import circuits, rows
from tractable.arrays import Floats
from tractable.circuit import Graph, normalise
from tractable.engine import log_values
from tractable.engine.compile import compiled
from tractable.parameters.cccp import CCCP
from tractable.parameters.entropy import first_omega, omega, spread_one
from tractable.parameters.method import Rows


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# ---- one sum --------------------------------------------------------------------------------------------


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
    for c in range(len(count)):
        for share in (1e-3, 0.3):
            moved = (1 - share) * found + share * np.eye(len(count))[c]
            assert objective(moved, np.array(count), below, pull) <= best + 1e-9 * max(1.0, abs(best))


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


def test_omega_is_the_function_of_wright() -> None:
    points = np.concatenate([np.linspace(-60, 60, 500), np.logspace(0, 12, 100)])
    assert [omega(z, first_omega(z)) for z in points] == pytest.approx(wrightomega(points), rel=1e-12)


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


def can_learn(graph: Graph) -> bool:
    return not compiled(normalise(graph).graph, merge=False).constant


@given(circuits(zeros=False), st.data(), st.sampled_from([0.03, 0.5, 20.0]))
@settings(max_examples=40)
def test_cccp_never_lowers_likelihood_plus_entropy(graph: Graph, data: st.DataObject, tau: float) -> None:
    values = np.array([data.draw(rows(graph.schema)) for _ in range(5)])
    possible = values[np.isfinite(log_values(graph, values))]
    if not len(possible) or not can_learn(graph):
        return
    how = CCCP(smoothing=0.0, leaf_smoothing=0.0, entropy=tau)
    steps = how.steps(normalise(graph).graph, Rows(possible, np.ones(len(possible))), rng())
    scores = [step.train + tau * choice_entropy(step.graph) for _, step in zip(range(6), steps, strict=False)]
    assert (np.diff(scores) >= -1e-7 * np.maximum(1.0, np.abs(scores[:-1]))).all()
