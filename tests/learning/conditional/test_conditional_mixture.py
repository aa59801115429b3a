"""Gated sums of conditional random fields: likelihood, gradient and circuit against enumeration; growth."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import tractable as tr
from tractable.base.arrays import Floats
from tractable.base.progress import Watch, decode, encode
from tractable.circuit import Graph, explain_validity
from tractable.circuit.blocks import GateBlock
from tractable.circuit.leaves.logistic import InputFeatures, input_features
from tractable.data import Schema, Table, Variable
from tractable.learning.conditional.conditional_mixture.learner import (
    ConditionalMixtureLearner,
    _divide,
    divisions,
)
from tractable.learning.conditional.conditional_mixture.likelihood import (
    GatedRows,
    MixtureFit,
    MixtureLikelihood,
    Sample,
    gated_rows,
)
from tractable.learning.conditional.conditional_mixture.model import (
    Component,
    FieldMixture,
    MixturePriors,
    freeze_mixture,
    structure_forms,
)
from tractable.learning.conditional.daclearn import DACLearnLearner
from tractable.learning.conditional.field.rows import conditional_rows, input_cuts
from tractable.learning.conditional.field.structure import ConditionalStructure
from tractable.learning.growing import FitEffort
from tractable.learning.growing.quasi_newton import L1Prior, QuasiNewton
from tractable.queries import log_prob, marginals

SCHEMA = Schema(
    (
        Variable("y0", states=(0, 1)),
        Variable("x0", states=(0, 1, 2), role="input"),
        Variable("y1", states=(0, 1, 2)),
        Variable("x1", "real", role="input"),
        Variable("y2", states=(0, 1)),
    )
)
TARGETS = (2, 3, 2)
SPLITS: tuple[
    list[tuple[int, int]], ...
] = (  # of a feature on a column: columns 0 to 2 are targets, 3 and 4 are inputs
    [(0, 3), (1, 1), (5, 2), (3, 4)],
    [(1, 4), (2, 2)],
    [],
)
PRIORS = MixturePriors(0.0, 2.0, 1.5)


class Example(NamedTuple):
    table: Table
    features: InputFeatures
    cuts: list[Floats]
    rows: GatedRows
    mixture: FieldMixture


def table(rows: int = 40, seed: int = 0) -> Table:
    draw = np.random.default_rng(seed)
    values = np.stack([draw.integers(k, size=rows) for k in (2, 3, 3, 5, 2)], axis=1).astype(np.float64)
    values[:, 3] -= 1.5
    return Table(SCHEMA, values, draw.integers(1, 4, rows).astype(float))


def example(components: int = 3, some: Table | None = None) -> Example:
    some, draw = table() if some is None else some, np.random.default_rng(7)
    cuts = input_cuts(some, 3)
    features = input_features(SCHEMA, SCHEMA.inputs, some.values, some.row_weights)
    rows = gated_rows(some, cuts, features)
    empty = ConditionalStructure(rows.rows.target_states, rows.rows.input_states)
    parts = []
    for splits in SPLITS[:components]:
        structure = empty.regrow(np.array(splits, dtype=np.int64).reshape(-1, 2))
        prior_mean, weights = draw.normal(size=(2, structure.items))
        parts.append(Component(structure, prior_mean, weights))
    gate = draw.normal(size=(components, rows.x.shape[1]))
    return Example(some, features, cuts, rows, FieldMixture(tuple(parts), gate))


def value(component: Component, y: tuple[int, ...], x: tuple[int, ...]) -> float:
    """The unnormalised value of a field, from its features."""
    row = (*y, *x)
    lines = zip(component.structure.conditions, component.weights, strict=True)
    return float(np.exp(sum(w for holds, w in lines if all(row[c] == s for c, s in holds))))


def enumerated(case: Example) -> Floats:
    """The conditional log-probability of each row, from the definition."""
    rows, answer = case.rows.rows, []
    for targets, group in zip(rows.targets.tolist(), rows.group.tolist(), strict=True):
        x = tuple(rows.inputs[group].tolist())
        gate = np.exp(case.mixture.gate @ case.rows.x[group])

        def total(y: tuple[int, ...], x: tuple[int, ...] = x, gate: Floats = gate) -> float:
            lines = zip(gate.tolist(), case.mixture.components, strict=True)
            return sum(g * value(component, y, x) for g, component in lines)

        everything = sum(total(y) for y in product(*(range(k) for k in TARGETS)))
        answer.append(np.log(total(tuple(targets)) / everything))
    return np.array(answer)


def frozen(case: Example) -> Graph:
    return freeze_mixture(case.mixture, SCHEMA, case.features, case.cuts)


@pytest.mark.parametrize("components", [1, 2, 3])
def test_likelihood_and_circuit_are_those_of_enumeration(components: int) -> None:
    case = example(components)
    expected = enumerated(case)
    found = MixtureLikelihood(case.mixture, case.rows).score(case.mixture)
    assert found == pytest.approx(np.average(expected, weights=case.table.row_weights), abs=1e-10)
    graph = frozen(case)
    assert explain_validity(graph, {0, 2, 4}) is None
    np.testing.assert_allclose(log_prob(graph, case.table.values), expected, atol=1e-9)


def test_rows_with_different_numbers_in_one_interval_have_their_own_gates() -> None:
    case = example()
    coarse = conditional_rows(case.table, case.cuts)
    assert len(case.rows.rows.inputs) > len(coarse.inputs)
    assert case.rows.rows.group_weight.sum() == case.table.total_weight
    encoded = case.features.encode(case.table.values)
    np.testing.assert_allclose(case.rows.x[case.rows.rows.group], encoded)


def test_queries_and_files_know_the_circuit(tmp_path: Path) -> None:
    case = example()
    circuit = tr.Circuit(frozen(case))
    circuit.save(tmp_path / "m.tract")
    again = tr.load(tmp_path / "m.tract")
    np.testing.assert_array_equal(again.log_prob(case.table), circuit.log_prob(case.table))
    free = case.table.values.copy()
    free[:, SCHEMA.targets] = np.nan
    every = np.array(list(product(*(range(k) for k in TARGETS))), dtype=np.float64)
    full = np.repeat(free[:1], len(every), axis=0)
    full[:, SCHEMA.targets] = every
    logs = log_prob(circuit.graph, full)
    assert np.exp(logs).sum() == pytest.approx(1.0)
    found = marginals(circuit.graph, free[:1])
    np.testing.assert_allclose(found[2][0], [np.exp(logs)[every[:, 1] == k].sum() for k in range(3)])
    best = circuit.mpe(given={"x0": int(free[0, 1]), "x1": float(free[0, 3])})
    assert best.log_prob == pytest.approx(logs.max())
    drawn = circuit.sample(20, given={"x0": 1, "x1": 0.5}, random_state=0)
    assert set(np.unique(drawn.values[:, 1])) == {1.0}


@pytest.mark.parametrize("known", [False, True])
def test_the_gradient_is_that_of_finite_differences(known: bool) -> None:
    case = example()
    likelihood = MixtureLikelihood(case.mixture, case.rows)
    shares = np.random.default_rng(1).dirichlet(np.ones(3), len(case.table)).T if known else None
    vector = case.mixture.vector
    point = likelihood.point(case.mixture, PRIORS, shares)
    assert (point.curvature > 0).all()
    for i in range(vector.size):
        ends = [
            likelihood.point(case.mixture.at(vector + step * np.eye(vector.size)[i]), PRIORS, shares).loss
            for step in (1e-5, -1e-5)
        ]
        assert point.slope[i] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-4)


def test_absolute_distances_from_prior_means_cost_their_price() -> None:
    case = example()
    likelihood = MixtureLikelihood(case.mixture, case.rows)
    away = sum(float(np.abs(c.weights - c.prior_mean).sum()) for c in case.mixture.components)
    plain, priced = (likelihood.point(case.mixture, p).loss for p in (PRIORS, PRIORS._replace(l1=0.7)))
    assert priced - plain == pytest.approx(0.7 * away)


def test_weighted_rows_stand_for_repeated_rows() -> None:
    some = table()
    repeated = Table(SCHEMA, np.repeat(some.values, some.row_weights.astype(int), axis=0))
    one, other = example(some=some), example(some=repeated)
    mixture = one.mixture
    first = MixtureLikelihood(mixture, one.rows).point(mixture, PRIORS)
    second = MixtureLikelihood(mixture, replace(other.rows, x=one.rows.x)).point(mixture, PRIORS)
    assert first.loss == pytest.approx(second.loss)
    np.testing.assert_allclose(first.slope, second.slope, atol=1e-8)


def test_the_rows_of_a_component_are_those_with_a_share() -> None:
    case = example()
    share = np.zeros(len(case.table))
    share[[3, 8, 11]] = 0.5, 1e-4, 1.0
    part = case.rows.part(share)
    np.testing.assert_array_equal(part.targets, case.rows.rows.targets[[3, 11]])
    np.testing.assert_allclose(part.weight, case.table.row_weights[[3, 11]] * [0.5, 1.0])
    np.testing.assert_array_equal(
        part.inputs[part.group], case.rows.rows.inputs[case.rows.rows.group[[3, 11]]]
    )
    assert part.total == pytest.approx(part.weight.sum())


def test_a_component_that_stands_twice_changes_nothing() -> None:
    case = example(2)
    twice = _divide(case.mixture, 1, np.zeros(case.rows.x.shape[1]))
    before, after = (MixtureLikelihood(m, case.rows).score(m) for m in (case.mixture, twice))
    assert after == pytest.approx(before)
    for divided, shares in divisions(case.mixture, case.rows, 0, 2.0):
        assert len(divided.components) == 3
        np.testing.assert_allclose(shares.sum(axis=0), 1.0)


def test_a_fit_keeps_the_best_weights_on_its_way() -> None:
    case, other = example(), example(some=table(seed=3))
    priors = MixturePriors(0.1, 1.0, 1.0)
    rows = Sample(case.rows, None)
    fit = MixtureFit(case.mixture, rows, priors)
    begun = MixtureLikelihood(case.mixture, case.rows).point(case.mixture, priors)
    found = fit.improve(case.mixture, 5, Watch())
    assert found.score > fit.judge(case.mixture).score
    assert MixtureLikelihood(case.mixture, case.rows).point(found.model, priors).loss < begun.loss
    held = Sample(case.rows, GatedRows(other.rows.rows, case.features.encode(distinct(other))))
    judged = MixtureFit(case.mixture, held, priors)
    assert judged.improve(case.mixture, 5, Watch()).score >= judged.judge(case.mixture).score


def distinct(case: Example) -> Floats:
    """A row of each group."""
    first = np.unique(case.rows.rows.group, return_index=True)[1]
    return np.asarray(case.table.values[first])


def test_checkpoints_keep_every_component() -> None:
    case = example()
    forms = structure_forms(case.mixture)
    again = decode(FieldMixture, encode(case.mixture, forms), forms)
    np.testing.assert_array_equal(again.vector, case.mixture.vector)
    one, other = (MixtureLikelihood(m, case.rows).score(m) for m in (case.mixture, again))
    assert one == other


class Bowl(NamedTuple):
    weight: Floats
    loss: float
    slope: Floats
    curvature: Floats


def test_absolute_values_with_different_prices_end_in_the_known_minimum() -> None:
    centre, price, mean = np.array([3.0, 0.5, -2.0, 1.0]), np.array([1.0, 1.0, 0.0, 0.2]), np.full(4, 0.1)

    def bowl(w: Floats) -> Bowl:
        cost = float(price @ np.abs(w - mean))
        return Bowl(w, 0.5 * float((w - centre) @ (w - centre)) + cost, w - centre, np.ones(4))

    found = QuasiNewton().descend(bowl(np.zeros(4)), bowl, L1Prior(mean, price), FitEffort(50, 0.0), Watch())
    np.testing.assert_allclose(found.weight, [2.0, 0.1, -2.0, 0.8], atol=1e-6)


def hidden_table(rows: int, seed: int) -> Table:
    """Eight targets that copy a switch, or its opposite, which the first input sets mostly."""
    draw = np.random.default_rng(seed)
    inputs = draw.integers(2, size=(rows, 3))
    switch = np.where(draw.random(rows) < 0.2, 1 - inputs[:, 0], inputs[:, 0])
    turned = np.where(switch[:, None] == 1, inputs[:, 1:2] ^ 1, inputs[:, 2:3])
    targets = np.where(draw.random((rows, 8)) < 0.2, 1 - turned, turned)
    names = [Variable(f"x{i}", states=(0, 1), role="input") for i in range(3)]
    names += [Variable(f"y{i}", states=(0, 1)) for i in range(8)]
    return Table(Schema(tuple(names)), np.concatenate([inputs, targets], axis=1).astype(np.float64))


@pytest.mark.parametrize("held", [False, True])
def test_rows_with_a_hidden_switch_become_a_sum(held: bool) -> None:
    train, valid, test = hidden_table(1000, 0), hidden_table(400, 1), hidden_table(1000, 2)
    scores = []
    for learner in (DACLearnLearner(max_edges=150), ConditionalMixtureLearner(components=2, max_edges=150)):
        graph = learner.learn(train, np.random.default_rng(0), valid=valid if held else None)
        scores.append(float(log_prob(graph, test.values).mean()))
    assert len(graph.blocks_of(GateBlock)) == 1
    assert graph.blocks_of(GateBlock)[0].node.size == 2
    assert scores[1] > scores[0] + 0.05


def test_few_rows_stay_one_field() -> None:
    graph = ConditionalMixtureLearner(min_rows=10_000).learn(hidden_table(300, 0), np.random.default_rng(0))
    assert not graph.blocks_of(GateBlock)
    assert graph.features is not None


def test_numeric_targets_are_refused_by_name() -> None:
    numeric = Table(SCHEMA.with_targets([3]), table().values)
    with pytest.raises(
        ValueError, match="column 'x1' is real: conditional-mixture supports only categorical"
    ):
        ConditionalMixtureLearner().learn(numeric, np.random.default_rng(0))
