"""Conditional sum-product networks: parts, their growth, expectation maximisation and the circuit."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Watch, decode, encode
from tractable.circuit.blocks import GateBlock
from tractable.circuit.leaves.logistic import input_features
from tractable.data import Schema, Table, Variable
from tractable.learning.conditional import conditional_spn as growing
from tractable.learning.conditional.conditional_spn import (
    ConditionalSPNLearner,
    connected,
    grow,
    learn_leaf,
    restrict,
)
from tractable.learning.conditional.mctbn import MCTBNLearner
from tractable.learning.conditional.parts.growth import Stopping
from tractable.learning.conditional.parts.network import (
    GatedSum,
    Leaf,
    Part,
    Product,
    extrapolate,
    freeze_part,
    improve,
    leaves,
    score,
)
from tractable.learning.conditional.parts.regression import Effort, Penalty, fit_regression
from tractable.learning.conditional.parts.rows import RegressionRows, Sample, regression_rows
from tractable.learning.conditional.parts.sparse import generative_weights, sparse_regressions
from tractable.learning.conditional.parts.tree import ConditionalTree, roots_alone, zero_prior
from tractable.queries import log_prob

TIGHT = Effort(50, 1e-14)
STATES = (2, 3, 1, 2)
SCHEMA = Schema(
    (
        Variable("y0", states=(0, 1)),
        Variable("x0", states=(0, 1), role="input"),
        Variable("y1", states=(0, 1, 2)),
        Variable("y2", states=(0,)),
        Variable("x1", "real", role="input"),
        Variable("y3", states=(0, 1)),
    )
)
GROWTH = ConditionalSPNLearner(
    parents_tried=5, iterations=15, depth=2, min_rows=50, gate_l2=(3.0,), strengths=(1.0,)
)


def table(rows: int = 60, seed: int = 0) -> Table:
    draw = np.random.default_rng(seed)
    columns: list[Floats | Ints] = [
        draw.integers(2, size=rows),
        draw.integers(2, size=rows),
        draw.integers(3, size=rows),
    ]
    columns += [np.zeros(rows), draw.normal(size=rows), draw.integers(2, size=rows)]
    return Table(SCHEMA, np.stack(columns, axis=1).astype(np.float64))


def rows_of(some: Table) -> RegressionRows:
    return regression_rows(some, input_features(SCHEMA, SCHEMA.inputs, some.values, some.row_weights))


def random_leaf(targets: list[int], parent: list[int], draw: np.random.Generator) -> Leaf:
    states = [STATES[j] for j in targets]
    beta = tuple(
        draw.normal(size=(states[i] if i >= 0 else 1, states[j] - 1, 3)) for j, i in enumerate(parent)
    )
    rows = rows_of(table()).select(np.array(targets))
    return Leaf(np.array(targets), ConditionalTree(np.array(parent), beta), zero_prior(rows, 2.0))


def random_part(seed: int = 0) -> GatedSum:
    """A sum of three parts: a tree, a product of two trees, and a product with a sum below."""
    draw = np.random.default_rng(seed)
    below = GatedSum(
        draw.normal(size=(1, 3)), 2.0,
        (random_leaf([1, 3], [-1, 0], draw), random_leaf([1, 3], [-1, -1], draw)),
    )  # fmt: skip
    return GatedSum(
        draw.normal(size=(2, 3)),
        2.0,
        (
            random_leaf([0, 1, 2, 3], [-1, 0, 1, 1], draw),
            Product((random_leaf([0, 2], [-1, 0], draw), random_leaf([1, 3], [1, -1], draw))),
            Product((random_leaf([0, 2], [1, -1], draw), below)),
        ),
    )


def softmax(beta: Floats, x: Floats) -> Floats:
    scores = np.exp(np.array([0.0, *(line @ x for line in beta)]))
    return np.asarray(scores / scores.sum())


def slow_prob(part: Part, x: Floats, y: tuple[int, ...]) -> float:
    """From the definition, one probability after another; `y` has the states of all targets."""
    if isinstance(part, Product):
        return float(np.prod([slow_prob(each, x, y) for each in part.parts]))
    if isinstance(part, GatedSum):
        each = zip(softmax(part.gate, x), part.parts, strict=True)
        return float(sum(share * slow_prob(below, x, y) for share, below in each))
    assert isinstance(part, Leaf)
    p, states = 1.0, [y[j] for j in part.targets.tolist()]
    for j, i in enumerate(part.tree.parent.tolist()):
        p *= float(softmax(part.tree.beta[j][states[i] if i >= 0 else 0], x)[states[j]])
    return p


def test_the_circuit_is_the_part_and_sums_to_one() -> None:
    some = table(20)
    rows, part = rows_of(some), random_part()
    known = input_features(SCHEMA, SCHEMA.inputs, some.values, some.row_weights)
    graph = freeze_part(part, SCHEMA, known)
    every = list(itertools.product(*(range(states) for states in STATES)))
    for row in range(3):
        assert sum(slow_prob(part, rows.x[row], y) for y in every) == pytest.approx(1.0)
    expected = [np.log(slow_prob(part, x, tuple(y))) for x, y in zip(rows.x, rows.y.tolist(), strict=True)]
    np.testing.assert_allclose(part.log_likelihood(rows), expected, atol=1e-9)
    np.testing.assert_allclose(log_prob(graph, some.values), expected, atol=1e-9)
    unknown = some.values.copy()
    unknown[:, SCHEMA.targets] = np.nan
    np.testing.assert_allclose(log_prob(graph, unknown), 0.0, atol=1e-9)


def penalties(part: Part) -> float:
    found = sum(
        leaf.prior.penalty(j).loss(line)
        for leaf in leaves(part)
        for j, beta in enumerate(leaf.tree.beta)
        for line in beta
    )
    return found + gate_penalties(part)


def gate_penalties(part: Part) -> float:
    if isinstance(part, Leaf):
        return 0.0
    own = part._penalty().loss(part.gate) if isinstance(part, GatedSum) else 0.0
    return own + sum(gate_penalties(each) for each in part.parts)


def test_expectation_maximisation_never_lowers_the_penalised_likelihood() -> None:
    rows = rows_of(table())
    part: Part = random_part()
    before = rows.total * score(part, rows) - penalties(part)
    for _ in range(6):
        part = part.maximise(rows, Watch())
        after = rows.total * score(part, rows) - penalties(part)
        assert after > before
        before = after


def improved(part: Part, sample: Sample, iterations: int) -> Part:
    return improve(part, sample, Stopping(iterations, 3, 5e-5), Watch(), momentum=True)


def test_momentum_is_faster_and_keeps_the_best() -> None:
    rows, held = rows_of(table(200)), rows_of(table(200, seed=1))
    plain: Part = random_part()
    for _ in range(20):
        plain = plain.maximise(rows, Watch())
    assert score(improved(random_part(), Sample(rows, None), 20), rows) > score(plain, rows) - 1e-4
    for seed in range(3):
        assert score(improved(random_part(seed), Sample(rows, held), 5), held) >= score(
            random_part(seed), held
        )


def test_extrapolation_moves_on_by_a_multiple() -> None:
    rows = rows_of(table())
    old, new = random_part(0), random_part(1)
    for times, same in ((0.0, new), (-1.0, old)):
        np.testing.assert_allclose(
            extrapolate(old, new, times).log_likelihood(rows), same.log_likelihood(rows), atol=1e-9
        )


def test_shares_of_outcomes_are_weighted_rows() -> None:
    draw = np.random.default_rng(0)
    x = np.concatenate([draw.normal(size=(30, 2)), np.ones((30, 1))], axis=1)
    share, weight = draw.dirichlet(np.ones(3), size=30), draw.random(30)
    penalty, start = Penalty(0.5, draw.normal(size=(2, 3))), np.zeros((2, 3))
    found = fit_regression(x, share, weight, penalty, start, TIGHT)
    thrice = np.repeat(np.arange(3), 30)
    stacked = (share * weight[:, None]).T.ravel()
    expected = fit_regression(np.tile(x, (3, 1)), thrice, stacked, penalty, start, TIGHT)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_an_infinite_penalty_leaves_a_feature_out() -> None:
    draw = np.random.default_rng(0)
    x, y = np.concatenate([draw.normal(size=(30, 3)), np.ones((30, 1))], axis=1), draw.integers(2, size=30)
    factor, some = np.array([1.0, np.inf, 2.0, 1.0]), [0, 2, 3]
    found = fit_regression(x, y, np.ones(30), Penalty(1.0, np.zeros((1, 4)), factor), np.zeros((1, 4)), TIGHT)
    few = Penalty(1.0, np.zeros((1, 3)), factor[some])
    expected = fit_regression(x[:, some], y, np.ones(30), few, np.zeros((1, 3)), TIGHT)
    assert found[0, 1] == 0.0
    np.testing.assert_allclose(found[:, some], expected)


@pytest.mark.parametrize("judged", [True, False])
def test_inputs_that_tell_nothing_are_left_out(judged: bool) -> None:
    def drawn(seed: int) -> RegressionRows:
        draw = np.random.default_rng(seed)
        x = np.concatenate([draw.normal(size=(400, 20)), np.ones((400, 1))], axis=1)
        y = (draw.random(400) < 1 / (1 + np.exp(-2 * x[:, 3] + x[:, 7]))).astype(np.int64)[:, None]
        return RegressionRows(x, y, np.array([2]), np.ones(400), np.ones(400))

    rows, held = drawn(0), drawn(1)
    plain = zero_prior(rows, 10.0)
    alone = roots_alone(rows, plain, Watch())
    found, prior = sparse_regressions(
        rows, held if judged else None, (alone, plain), ([1.0, 8.0, 30.0], ()), Watch()
    )
    weights = found.beta[0][0, 0]
    assert {3, 7} <= set(np.flatnonzero(weights[:-1]))
    assert np.count_nonzero(weights[:-1]) < 12
    assert prior.factors is not None
    np.testing.assert_array_equal(np.isinf(prior.factors[0]), weights == 0)

    def mean_log(tree: ConditionalTree) -> float:
        return float(tree.log_likelihood(drawn(2)).mean())

    assert mean_log(found) > mean_log(alone)


def generated(rows: int, seed: int, inputs: int = 40) -> RegressionRows:
    """Inputs that are independent and normal given a target of three states."""
    draw = np.random.default_rng(seed)
    y = draw.integers(3, size=rows)
    centre = np.random.default_rng(7).normal(0, 0.4, (3, inputs))
    x = np.concatenate([centre[y] + draw.normal(size=(rows, inputs)), np.ones((rows, 1))], axis=1)
    return RegressionRows(x, y[:, None], np.array([3]), np.ones(rows), np.ones(rows))


def test_generative_weights_are_those_of_the_posterior() -> None:
    """With a single input, all rows of equal weight and known moments, by the theorem of Bayes."""
    rows = generated(60_000, 0, inputs=2)
    centre = np.random.default_rng(7).normal(0, 0.4, (3, 2))
    expected = np.concatenate([centre[1:] - centre[0], -0.5 * np.diff((centre**2).sum(axis=1))[:, None]], 1)
    expected[1, -1] = -0.5 * ((centre[2] ** 2).sum() - (centre[0] ** 2).sum())
    np.testing.assert_allclose(generative_weights(rows, 0), expected, atol=0.05)


def test_generative_weights_of_weighted_rows_are_those_of_repeated_rows() -> None:
    rows = generated(30, 1)
    times = np.random.default_rng(2).integers(0, 4, 30)
    weighted = rows.reweight(times.astype(np.float64))
    again = np.repeat(np.arange(30), times)
    repeated = replace(rows, x=rows.x[again], y=rows.y[again], weight=np.ones(again.size))
    np.testing.assert_allclose(generative_weights(weighted, 0), generative_weights(repeated, 0), atol=1e-12)


def test_few_rows_are_drawn_to_a_generative_model() -> None:
    """Where the generative model holds, few rows suit it better; many rows need it no more."""

    def gain(rows: int) -> float:
        some, held, test = generated(rows, 3), generated(300, 4), generated(2_000, 5)
        plain = zero_prior(some, 10.0)
        alone = roots_alone(some, plain, Watch())
        with_share, without = (
            sparse_regressions(some, held, (alone, plain), ([1.0, 4.0], shares), Watch())[0]
            for shares in ((0.3, 1.0), ())
        )
        return float(with_share.log_likelihood(test).mean() - without.log_likelihood(test).mean())

    assert gain(60) > 0.03
    assert abs(gain(3_000)) < 0.01


@given(st.integers(1, 8), st.randoms(use_true_random=False))
def test_trees_of_a_forest_are_those_that_paths_connect(size: int, random: st.DrawFn) -> None:
    draw = np.random.default_rng(random.randrange(2**32))  # type: ignore[attr-defined]
    order = draw.permutation(size)
    parent = np.full(size, -1)
    for place in range(1, size):
        if draw.random() < 0.6:
            parent[order[place]] = order[draw.integers(place)]
    groups = connected(parent)
    assert sorted(np.concatenate(groups).tolist()) == list(range(size))
    owner = {j: number for number, group in enumerate(groups) for j in group.tolist()}
    assert all(owner[j] == owner[i] for j, i in enumerate(parent.tolist()) if i >= 0)
    assert len(groups) == (parent < 0).sum()
    tree = ConditionalTree(parent, tuple(np.zeros((1, 1, 1)) for _ in range(size)))
    for group in groups:
        below = restrict(tree, group).parent
        expected = [-1 if parent[j] < 0 else group.tolist().index(parent[j]) for j in group.tolist()]
        assert below.tolist() == expected


def hidden_cause(rows: int, seed: int, blocks: int = 1) -> Table:
    """Two inputs; in each block of four targets a hidden cause, which follows the first input, sets all."""
    draw = np.random.default_rng(seed)
    x = draw.integers(2, size=(rows, 2))
    parts = []
    for _ in range(blocks):
        hidden = draw.random(rows) < np.where(x[:, 0] > 0, 0.85, 0.15)
        parts.append(draw.random((rows, 4)) < np.where(hidden[:, None], 0.9, 0.1))
    names = [Variable(f"x{i}", states=(0, 1), role="input") for i in range(2)]
    names += [Variable(f"y{i}", states=(0, 1)) for i in range(4 * blocks)]
    return Table(Schema(tuple(names)), np.concatenate([x, *parts], axis=1).astype(np.float64))


@pytest.mark.parametrize("judged", [True, False])
def test_a_hidden_cause_that_follows_an_input_becomes_a_gated_sum(judged: bool) -> None:
    train, valid, test = (hidden_cause(1500, seed) for seed in range(3))
    scores = {}
    for learner in (ConditionalSPNLearner(), ConditionalSPNLearner(depth=0), MCTBNLearner()):
        graph = learner.learn(train, np.random.default_rng(0), valid=valid if judged else None)
        scores[type(learner).__name__, getattr(learner, "depth", 0)] = log_prob(graph, test.values).mean()
    best = scores.pop(("ConditionalSPNLearner", 3))
    assert best > scores["ConditionalSPNLearner", 0] + 0.05
    assert best > scores["MCTBNLearner", 0] - 0.01


def sample_of(train: Table, valid: Table) -> Sample:
    known = input_features(train.schema, train.schema.inputs, train.values, train.row_weights)
    return Sample(regression_rows(train, known), regression_rows(valid, known))


def test_independent_targets_become_a_product_of_sums() -> None:
    sample = sample_of(hidden_cause(2000, 0, blocks=2), hidden_cause(1000, 1, blocks=2))
    prior = zero_prior(sample.rows, 1.0)
    trees = [learn_leaf(np.arange(4 * k, 4 * k + 4), sample, prior.select(np.arange(4)), GROWTH, Watch())
             for k in range(2)]  # fmt: skip
    parent = np.concatenate(
        [trees[0].tree.parent, np.where(trees[1].tree.parent < 0, -1, trees[1].tree.parent + 4)]
    )
    forest = ConditionalTree(parent, trees[0].tree.beta + trees[1].tree.beta)
    leaf = Leaf(np.arange(8), forest, prior)
    assert len(connected(parent)) == 2
    found = growing._factors(leaf, sample, GROWTH, Watch())
    assert isinstance(found, Product)
    assert [type(part) for part in found.parts] == [GatedSum, GatedSum]
    np.testing.assert_array_equal(found.targets, np.arange(8))
    assert sample.held is not None
    assert score(found, sample.held) > score(leaf, sample.held) + 0.1
    few = replace(GROWTH, min_rows=10**9)
    assert growing._factors(leaf, sample, few, Watch()) is leaf


def test_states_of_checkpoints_keep_every_part() -> None:
    part, rows = random_part(), rows_of(table())
    again = decode(Part | None, encode(part))
    np.testing.assert_array_equal(again.log_likelihood(rows), part.log_likelihood(rows))
    np.testing.assert_array_equal(again.maximise(rows, Watch()).gate, part.maximise(rows, Watch()).gate)
    assert decode(Part | None, encode(None)) is None
    leaf = decode(Part | None, encode(part.parts[0]))
    assert isinstance(leaf, Leaf)
    np.testing.assert_array_equal(leaf.log_likelihood(rows), part.parts[0].log_likelihood(rows))


def test_few_rows_and_targets_of_one_state_stay_one_tree() -> None:
    sample = Sample(rows_of(table(60)), None)
    for targets in ([2], [0, 2]):
        prior = zero_prior(sample.rows, 1.0).select(np.array(targets))
        leaf = learn_leaf(np.array(targets), sample, prior, GROWTH, Watch())
        assert grow(leaf, sample, GROWTH, Watch()) is leaf
    graph = ConditionalSPNLearner(min_rows=1000).learn(table(60), np.random.default_rng(0))
    assert len({id(block) for block in graph.blocks_of(GateBlock)}) <= 2  # those of two and of three states


def test_numeric_targets_are_refused_by_name() -> None:
    numeric = Table(SCHEMA.with_targets([4]), table().values)
    with pytest.raises(
        ValueError, match="column 'x1' is real: conditional-spn supports only categorical targets"
    ):
        ConditionalSPNLearner().learn(numeric, np.random.default_rng(0))
