"""Mixtures of conditional trees: regressions, the best forest, expectation maximisation and the circuit."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Watch
from tractable.circuit.leaves.logistic import input_features
from tractable.data import Schema, Table, Variable
from tractable.learning.conditional.mctbn import MCTBNLearner, first_responsibilities
from tractable.learning.conditional.parts import regression as newton
from tractable.learning.conditional.parts.growth import Stopping
from tractable.learning.conditional.parts.network import Leaf, Mixture, freeze_part, improve, leaves, score
from tractable.learning.conditional.parts.regression import Effort, Penalty, fit_regression, log_probs
from tractable.learning.conditional.parts.rows import RegressionRows, Sample, regression_rows
from tractable.learning.conditional.parts.tree import (
    ConditionalTree,
    learn_edges,
    maximum_branching,
    roots_alone,
    zero_prior,
)
from tractable.queries import log_prob

TIGHT = Effort(50, 1e-14)
SCHEMA = Schema(
    (
        Variable("a", states=(0, 1), role="input"),
        Variable("u", states=(0, 1)),
        Variable("b", states=(0, 1, 2), role="input"),
        Variable("v", states=(0, 1, 2)),
        Variable("r", "real", role="input"),
        Variable("w", states=(0, 1)),
        Variable("only", states=(0,)),
    )
)


def table(rows: int = 400, seed: int = 0) -> Table:
    """u follows a and r, v follows u and b, and w copies v = 1 mostly."""
    draw = np.random.default_rng(seed)
    a, b, r = draw.integers(2, size=rows), draw.integers(3, size=rows), 100 + 7 * draw.normal(size=rows)
    u = (draw.random(rows) < 1 / (1 + np.exp(-(2 * a - 1) - (r - 100) / 7))).astype(int)
    v = np.where(draw.random(rows) < 0.7, (u + b) % 3, draw.integers(3, size=rows))
    w = np.where(draw.random(rows) < 0.9, v == 1, draw.integers(2, size=rows))
    return Table(SCHEMA, np.stack([a, u, b, v, r, w, 0 * a], axis=1).astype(np.float64))


def rows_of(some: Table) -> RegressionRows:
    values, weights = some.values, some.row_weights
    return regression_rows(some, input_features(SCHEMA, SCHEMA.inputs, values, weights))


def problem(outcomes: int, seed: int = 0) -> tuple[Floats, Ints, Floats, Penalty]:
    draw = np.random.default_rng(seed)
    x = np.concatenate([draw.normal(size=(60, 3)), np.ones((60, 1))], axis=1)
    penalty = Penalty(0.7, draw.normal(size=(outcomes - 1, 4)))
    return x, draw.integers(outcomes, size=60), draw.random(60), penalty


def loss(flat: Floats, x: Floats, y: Ints, weight: Floats, penalty: Penalty) -> float:
    """The penalised loss, from its definition: a penalty on scores minus their mean over all outcomes."""
    beta = np.concatenate([np.zeros((1, x.shape[1])), flat.reshape(-1, x.shape[1])])
    logs = x @ beta.T
    logs -= np.logaddexp.reduce(logs, axis=1, keepdims=True)
    apart = beta.copy()
    apart[1:] -= penalty.mean
    apart -= apart.mean(axis=0)
    scale = np.array([penalty.l2] * (x.shape[1] - 1) + [1.0])
    return float((apart**2 * scale).sum() - weight @ logs[np.arange(len(y)), y])


@pytest.mark.parametrize("outcomes", [2, 3, 4])
def test_newtons_method_finds_the_minimum_that_another_method_finds(outcomes: int) -> None:
    x, y, weight, penalty = problem(outcomes)
    start = np.zeros((outcomes - 1, 4))
    found = fit_regression(x, y, weight, penalty, start, TIGHT)
    expected = minimize(loss, start.ravel(), (x, y, weight, penalty), tol=1e-12)
    assert loss(found.ravel(), x, y, weight, penalty) <= expected.fun + 1e-9
    np.testing.assert_allclose(found.ravel(), expected.x, atol=1e-4)
    slope = approx_fprime(found.ravel(), loss, 1e-6, x, y, weight, penalty)
    np.testing.assert_allclose(slope, 0, atol=1e-4)


@pytest.mark.parametrize("outcomes", [2, 4])
def test_slope_and_curvature_are_differences_of_the_loss(outcomes: int) -> None:
    x, y, weight, penalty = problem(outcomes, 3)
    beta = np.random.default_rng(5).normal(size=(outcomes - 1, 4))

    def slope(flat: Floats) -> Floats:
        at = flat.reshape(beta.shape)
        p = np.exp(log_probs(x, at))
        return (newton._slope(x, y, weight, p) + penalty.slope(at)).ravel()

    expected = approx_fprime(beta.ravel(), loss, 1e-6, x, y, weight, penalty)
    np.testing.assert_allclose(slope(beta.ravel()), expected, atol=1e-4)
    whole = newton.curvature(x, weight, np.exp(log_probs(x, beta))) + newton.penalty_curvature(penalty, 4)
    np.testing.assert_allclose(whole, approx_fprime(beta.ravel(), slope, 1e-6), atol=1e-4)


@pytest.mark.parametrize("outcomes", [2, 4])
def test_conjugate_gradients_take_the_same_step(outcomes: int) -> None:
    x, y, weight, penalty = problem(outcomes, 1)
    beta = np.random.default_rng(2).normal(size=(outcomes - 1, 4))
    p = np.exp(log_probs(x, beta))
    slope = newton._slope(x, y, weight, p) + penalty.slope(beta)
    direct = newton._newton_step(x, weight, p, penalty, slope)
    found = newton._conjugate_gradients(x, weight, p, penalty, slope)
    np.testing.assert_allclose(found, direct, atol=0.01 * np.abs(direct).max())


def test_separated_and_missing_outcomes_keep_finite_weights() -> None:
    x = np.stack([np.repeat([-1.0, 1.0], 20), np.ones(40)], axis=1)
    y = np.repeat([0, 1], 20)
    penalty = Penalty(1e-6, np.zeros((1, 2)))
    apart = fit_regression(x, y, np.ones(40), penalty, np.zeros((1, 2)), Effort(50, 1e-8))
    assert np.isfinite(apart).all()
    assert log_probs(x, apart)[np.arange(40), y].min() > -0.01
    mean = np.array([[0.0, 0.3]])
    nothing = fit_regression(x[:0], y[:0], np.ones(0), Penalty(1.0, mean), np.zeros((1, 2)), TIGHT)
    np.testing.assert_allclose(nothing, [[0.0, 0.3]], atol=1e-12)


@given(st.integers(1, 5), st.randoms(use_true_random=False))
def test_the_best_forest_is_that_of_enumeration(size: int, random: st.DrawFn) -> None:
    draw = np.random.default_rng(random.randrange(2**32))  # type: ignore[attr-defined]
    gain = np.round(draw.normal(size=(size, size)) * 3) / 2  # with ties, and below zero
    gain[draw.random((size, size)) < 0.2] = -np.inf
    found = maximum_branching(gain)
    assert not has_cycle(found)
    best = max(total(gain, parent) for parent in itertools.product(range(-1, size), repeat=size))
    assert total(gain, tuple(found.tolist())) == pytest.approx(best)


def total(gain: Floats, parent: tuple[int, ...]) -> float:
    if has_cycle(np.array(parent)):
        return -np.inf
    return sum(float(gain[i, j]) for j, i in enumerate(parent) if i >= 0)


def has_cycle(parent: Ints) -> bool:
    for first in range(parent.size):
        node = first
        for _ in range(parent.size + 1):
            node = int(parent[node]) if node >= 0 else -1
        if node >= 0:
            return True
    return False


def test_the_tree_finds_who_depends_on_whom() -> None:
    rows, held = rows_of(table(1500)), rows_of(table(600, seed=1))
    for judge in (None, held):
        prior = zero_prior(rows, 3.0)
        alone = roots_alone(rows, prior, Watch())
        tree = learn_edges(rows, judge, alone, (prior, 5), Watch())
        links = {frozenset((j, i)) for j, i in enumerate(tree.parent.tolist()) if i >= 0}
        assert links == {frozenset((0, 1)), frozenset((1, 2))}
        assert score(leaf_of(tree, rows), held) > score(leaf_of(alone, rows), held) + 0.3


def leaf_of(tree: ConditionalTree, rows: RegressionRows) -> Leaf:
    return Leaf(np.arange(rows.states.size), tree, zero_prior(rows, 2.0))


def random_mixture(rows: RegressionRows, trees: int) -> Mixture:
    draw = np.random.default_rng(trees)
    found = []
    for parent in ([-1, 0, 1, 1], [1, 2, -1, -1], [-1, -1, 0, 0])[:trees]:
        beta = tuple(
            draw.normal(size=(rows.states[i] if i >= 0 else 1, rows.states[j] - 1, rows.x.shape[1]))
            for j, i in enumerate(parent)
        )
        found.append(leaf_of(ConditionalTree(np.array(parent), beta), rows))
    share = draw.random(trees)
    return Mixture(np.log(share / share.sum()), tuple(found))


def slow_log_prob(mixture: Mixture, rows: RegressionRows, row: int) -> float:
    """From the definition, one probability after another."""
    answer = 0.0
    for log_share, tree in zip(mixture.log_share, [leaf.tree for leaf in leaves(mixture)], strict=True):
        p = float(np.exp(log_share))
        for j, i in enumerate(tree.parent.tolist()):
            beta = tree.beta[j][rows.y[row, i] if i >= 0 else 0]
            scores = np.exp(np.array([0.0, *(line @ rows.x[row] for line in beta)]))
            p *= float(scores[rows.y[row, j]] / scores.sum())
        answer += p
    return float(np.log(answer))


@pytest.mark.parametrize("trees", [1, 2, 3])
def test_the_circuit_is_the_mixture(trees: int) -> None:
    some = table(40)
    rows = rows_of(some)
    mixture = random_mixture(rows, trees)
    known = input_features(SCHEMA, SCHEMA.inputs, some.values, some.row_weights)
    graph = freeze_part(mixture, SCHEMA, known)
    expected = [slow_log_prob(mixture, rows, row) for row in range(40)]
    np.testing.assert_allclose(np.logaddexp.reduce(mixture.log_joint(rows), axis=1), expected, atol=1e-9)
    np.testing.assert_allclose(log_prob(graph, some.values), expected, atol=1e-9)


def test_expectation_maximisation_never_lowers_the_penalised_likelihood() -> None:
    rows = rows_of(table())
    prior = zero_prior(rows, 2.0)
    mixture = random_mixture(rows, 2)

    def objective(some: Mixture) -> float:
        penalties = 0.0
        for leaf in leaves(some):
            for j, beta in enumerate(leaf.tree.beta):
                penalties += sum(prior.penalty(j).loss(line) for line in beta)
        return rows.total * score(some, rows) + 0.5 * float(some.log_share.sum()) - penalties

    before = objective(mixture)
    for _ in range(6):
        mixture = mixture.maximise(rows, Watch())
        after = objective(mixture)
        assert after > before
        before = after
    better = improve(random_mixture(rows, 2), Sample(rows, None), Stopping(20, 2), Watch(), momentum=False)
    assert score(better, rows) >= score(random_mixture(rows, 2), rows)


def test_a_new_component_takes_the_rows_on_one_side_of_what_is_unexplained() -> None:
    draw = np.random.default_rng(0)
    hidden = draw.integers(2, size=800)
    y = (draw.random((800, 4)) < np.where(hidden[:, None], 0.9, 0.1)).astype(np.int64)
    x = np.concatenate([draw.normal(size=(800, 2)), np.ones((800, 1))], axis=1)
    rows = RegressionRows(x, y, np.full(4, 2), np.ones(800), np.ones(800))
    alone = leaf_of(roots_alone(rows, zero_prior(rows, 1.0), Watch()), rows)
    (part,) = first_responsibilities(Mixture(np.zeros(1), (alone,)), Sample(rows, None))
    assert abs(np.corrcoef(part, hidden)[0, 1]) > 0.8


def test_a_mixture_is_learned_where_targets_share_a_hidden_cause() -> None:
    schema = Schema((Variable("x", states=(0, 1), role="input"),
                     *(Variable(f"y{i}", states=(0, 1)) for i in range(6))))  # fmt: skip

    def drawn(rows: int, seed: int) -> Table:
        draw = np.random.default_rng(seed)
        x, hidden = draw.integers(2, size=(2, rows))
        y = draw.random((rows, 6)) < np.where((hidden ^ x)[:, None], 0.8, 0.2)
        return Table(schema, np.concatenate([x[:, None], y], axis=1).astype(np.float64))

    for valid in (drawn(1000, 1), None):
        one, many = (
            MCTBNLearner(components=k).learn(drawn(2000, 0), np.random.default_rng(0), valid=valid)
            for k in (1, 4)
        )
        test = drawn(1000, 2)
        assert log_prob(many, test.values).mean() > log_prob(one, test.values).mean() + 0.02
        assert 2 <= np.diff(many.start)[-1] <= 4


def test_shrinking_to_a_targets_own_regression_needs_fewer_rows() -> None:
    """Where the parent only shifts the odds, its states need no regressions of their own."""
    schema = Schema((*(Variable(f"x{i}", states=(0, 1), role="input") for i in range(15)),
                     *(Variable(f"y{i}", states=(0, 1)) for i in range(2))))  # fmt: skip
    weights = np.random.default_rng(9).normal(size=15)

    def drawn(rows: int, seed: int) -> Table:
        draw = np.random.default_rng(seed)
        x = draw.integers(2, size=(rows, 15))
        first = draw.integers(2, size=rows)
        odds = (x - 0.5) @ weights + 1.5 * (2 * first - 1)
        second = draw.random(rows) < 1 / (1 + np.exp(-odds))
        return Table(schema, np.column_stack([x, first, second]).astype(np.float64))

    scores = {}
    for how in ("zero", "target"):
        learner = MCTBNLearner(shrink_to=how, components=1)
        graph = learner.learn(drawn(300, 0), np.random.default_rng(0), valid=drawn(300, 1))
        scores[how] = log_prob(graph, drawn(2000, 2).values).mean()
    assert scores["target"] > scores["zero"]


def test_numeric_targets_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="column 'r' is real: mctbn supports only categorical targets"):
        MCTBNLearner().learn(Table(SCHEMA.with_targets([4]), table().values), np.random.default_rng(0))


def test_numbers_in_other_units_give_the_same_model() -> None:
    some = table(200)
    scaled = some.values.copy()
    scaled[:, 4] = 1e6 * scaled[:, 4] - 4e9
    one, other = (
        MCTBNLearner(components=1).learn(Table(SCHEMA, values), np.random.default_rng(0))
        for values in (some.values, scaled)
    )
    np.testing.assert_allclose(log_prob(one, some.values), log_prob(other, scaled), atol=1e-6)
