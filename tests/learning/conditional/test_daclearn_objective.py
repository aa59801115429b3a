"""Conditional structures, their expectations, gains and frozen circuits against enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.circuit import explain_validity
from tractable.data import Schema, Table, Variable
from tractable.engine import log_values
from tractable.learning.conditional.field.expectations import FeaturePlaces, Sample, ZeroOneMatrix
from tractable.learning.conditional.field.freeze import freeze_conditional
from tractable.learning.conditional.field.gains import choose_priors
from tractable.learning.conditional.field.learner import (
    chosen_inputs,
    mutual_information,
    plant_inputs,
    plant_tree,
    residual_forest,
)
from tractable.learning.conditional.field.objective import ConditionalLikelihood
from tractable.learning.conditional.field.rows import ConditionalRows, conditional_rows, input_cuts
from tractable.learning.conditional.field.structure import ConditionalStructure
from tractable.learning.growing import FitEffort, Priors, SplitCosts
from tractable.learning.growing.search import SplitSearch

TARGETS, INPUTS = (2, 3, 2), (2, 3)
NO_CUTS = [np.zeros(0), np.zeros(0)]  # both inputs are categorical


def schema() -> Schema:
    """Inputs stand between the targets."""
    sizes = [(2, "target"), (2, "input"), (3, "target"), (3, "input"), (2, "target")]
    return Schema(
        tuple(
            Variable(f"x{i}", "categorical", tuple(range(many)), role)  # type: ignore[arg-type]
            for i, (many, role) in enumerate(sizes)
        )
    )


def table(rows: int = 40, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    values = np.stack([rng.integers(many, size=rows) for many in (2, 2, 3, 3, 2)], axis=1).astype(float)
    values[:, 0] = np.where(rng.random(rows) < 0.8, values[:, 1], values[:, 0])
    return Table(schema(), values, rng.integers(1, 4, size=rows).astype(float))


def all_targets() -> list[tuple[int, ...]]:
    return list(product(*(range(many) for many in TARGETS)))


def log_score(
    structure: ConditionalStructure, weights: Floats, y: tuple[int, ...], x: tuple[int, ...]
) -> float:
    """The sum of the weights of the features that hold: the definition."""
    row = (*y, *x)
    return sum(
        w
        for w, conditions in zip(weights.tolist(), structure.conditions, strict=True)
        if all(row[column] == state for column, state in conditions)
    )


def enumerated(
    structure: ConditionalStructure, weights: Floats, x: tuple[int, ...]
) -> dict[tuple[int, ...], float]:
    """P(y | x) of all y."""
    logs = {y: log_score(structure, weights, y, x) for y in all_targets()}
    total = sum(np.exp(value) for value in logs.values())
    return {y: float(np.exp(value) / total) for y, value in logs.items()}


def grow(structure: ConditionalStructure, draws: list[tuple[int, int]]) -> None:
    for item, column in draws:
        at, on = item % structure.items, column % structure.states.size
        if structure.is_allowed(at, on):
            structure.split(at, on)


def fresh() -> ConditionalStructure:
    return ConditionalStructure(np.array(TARGETS), np.array(INPUTS), np.array([1, 2]))


SPLITS = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 4)), max_size=8)


@settings(max_examples=25, deadline=None)
@given(SPLITS, st.integers(0, 10))
def test_expectations_are_those_of_enumeration_after_every_kind_of_split(
    draws: list[tuple[int, int]], seed: int
) -> None:
    structure, rows = fresh(), conditional_rows(table(), NO_CUTS)
    grow(structure, draws)
    weights = np.random.default_rng(seed).normal(size=structure.items)
    sample = Sample(structure, rows)
    found = sample.evaluator.evaluate(weights)
    for group, x in enumerate(map(tuple, rows.inputs.tolist())):
        probability = enumerated(structure, weights, x)
        z = sum(np.exp(log_score(structure, weights, y, x)) for y in all_targets())
        assert found.log_partition[group] == pytest.approx(np.log(z), abs=1e-9)
        for param in range(structure.circuit.params):
            holds = [
                p for y, p in probability.items()
                if all(y[c] == s for c, s in structure.target_conditions(param))
            ]  # fmt: skip
            assert found.expected[param, group] == pytest.approx(sum(holds), abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(SPLITS, st.integers(0, 10))
def test_a_frozen_circuit_is_the_model_and_conditionally_valid(
    draws: list[tuple[int, int]], seed: int
) -> None:
    structure = fresh()
    grow(structure, draws)
    weights = np.random.default_rng(seed).normal(size=structure.items)
    weights[np.random.default_rng(seed + 1).random(weights.size) < 0.3] = 0.0  # as L1 leaves them
    graph = freeze_conditional(structure, schema(), weights, NO_CUTS)
    rows = [(y, x) for y in all_targets() for x in product(*(range(many) for many in INPUTS))]
    values = np.array([[y[0], x[0], y[1], x[1], y[2]] for y, x in rows], dtype=float)
    expected = [log_score(structure, weights, y, x) for y, x in rows]
    np.testing.assert_allclose(log_values(graph, values), expected, atol=1e-9)
    assert explain_validity(graph, schema().targets.tolist()) is None


def test_undoing_splits_restores_the_model() -> None:
    structure = fresh()
    grow(structure, [(0, 3), (0, 1), (7, 4), (9, 2)])
    before, splits, edges = list(structure.conditions), structure.splits, structure.edges
    grow(structure, [(2, 3), (3, 0), (5, 4)])
    structure.undo(splits)
    assert (structure.conditions, structure.edges) == (before, edges)


def objective(rows: ConditionalRows | None = None, priors: Priors | None = None) -> ConditionalLikelihood:
    priors = Priors(0.3, 2.0) if priors is None else priors
    return ConditionalLikelihood(
        fresh(), conditional_rows(table(), NO_CUTS) if rows is None else rows, None, priors
    )


def total_likelihood(model: ConditionalLikelihood, weights: Floats) -> float:
    """The conditional log-likelihood of all rows by enumeration."""
    rows, structure = model.sample.rows, model.structure
    total = 0.0
    for y, group, weight in zip(rows.targets.tolist(), rows.group, rows.weight, strict=True):
        probability = enumerated(structure, weights, tuple(rows.inputs[group].tolist()))
        total += weight * np.log(probability[tuple(y)])
    return float(total)


def test_the_loss_and_its_gradient_are_those_of_enumeration() -> None:
    model = objective(priors=Priors(0.0, 1e12))
    grow(model.structure, [(0, 3), (0, 1), (7, 4), (9, 2)])
    weights = np.random.default_rng(0).normal(size=model.structure.items)
    model.prior_mean = np.zeros(weights.size)
    state = model._fitter.evaluate(weights, model._target)
    assert -state.loss == pytest.approx(total_likelihood(model, weights), abs=1e-6)
    gradient = state.slope
    for i in range(weights.size):
        step = np.zeros(weights.size)
        step[i] = 1e-5
        slope = (total_likelihood(model, weights + step) - total_likelihood(model, weights - step)) / 2e-5
        assert -gradient[i] == pytest.approx(slope, abs=1e-4)


@pytest.mark.parametrize(("item", "column"), [(0, 1), (0, 2), (0, 3), (3, 4), (7, 4), (7, 0)])
def test_an_exact_gain_is_what_the_best_weights_of_the_new_features_add(item: int, column: int) -> None:
    model = objective()
    for at, on in ((0, 3), (5, 4)):
        model.structure.split(at, on)
        model.add_split(at, on)
    model.fit(FitEffort(5, 0.0))
    if not model.structure.is_allowed(item, column):
        pytest.skip("features with conditions on inputs are not split on targets")
    gain = model._exact_gain(item, column)
    before, base = model.weights, total_likelihood(model, model.weights)
    size = len(model.structure.new_states(column))
    model.structure.split(item, column)

    def loss(d: Floats) -> float:
        after = total_likelihood(model, np.concatenate([before, d]))
        return -(after - base - model._priors.cost(d))

    best = minimize(loss, np.full(size, 1e-3), method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9})
    assert gain == pytest.approx(max(0.0, -float(best.fun)), abs=1e-3)


def test_the_initial_structure_finds_inputs_and_links() -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(2, size=(400, 2))
    y = (x[:, 0] ^ (rng.random(400) < 0.1)).astype(int)
    z = y ^ (rng.random(400) < 0.1)
    names = [("y", "target"), ("z", "target"), ("a", "input"), ("b", "input")]
    columns = tuple(Variable(n, "categorical", (0, 1), r) for n, r in names)  # type: ignore[arg-type]
    rows = conditional_rows(Table(Schema(columns), np.stack([y, z, *x.T], axis=1).astype(float)), NO_CUTS)
    chosen = chosen_inputs(mutual_information(rows), 1)
    assert [c.tolist() for c in chosen] == [[0], [0]]
    model = ConditionalLikelihood(
        ConditionalStructure(rows.target_states, rows.input_states), rows, None, Priors(0.1, 10.0)
    )
    plant_inputs(model, chosen)
    model.fit(FitEffort(50, 1e-9))
    forest = residual_forest(model)
    assert sorted(forest.parent.tolist()) in ([-1, 0], [-1, 1])
    alone = model.score
    plant_tree(model, forest)
    model.fit(FitEffort(50, 1e-9))
    assert model.score > alone + 0.1


def test_numeric_inputs_are_seen_through_intervals_of_equally_many_rows() -> None:
    columns = (Variable("y", "categorical", (0, 1)), Variable("x", "real", (), "input"))
    x = np.concatenate([np.arange(9.0), [4.0, 4.0, 4.0]])
    data = Table(Schema(columns), np.stack([x > 3, x], axis=1).astype(float))
    cuts = input_cuts(data, 4)
    assert cuts[0].tolist() == [2.0, 4.0, 5.0]
    rows = conditional_rows(data, cuts)
    assert rows.inputs[rows.group, 0].tolist() == [0, 0, 0, 1, 1, 2, 3, 3, 3, 1, 1, 1]
    structure = ConditionalStructure(rows.target_states, rows.input_states)
    structure.split(0, 1)
    weights = np.array([0.5, 0.1, 2.0, 3.0, 4.0])
    graph = freeze_conditional(structure, data.schema, weights, cuts)
    asked = np.array([[0, -1e300], [0, 2.0], [0, 2.1], [0, 4.5], [0, 1e300], [1, 4.5]])
    np.testing.assert_allclose(log_values(graph, asked), [0.5, 0.5, 2.5, 3.5, 4.5, 0.1], atol=1e-12)


def test_an_input_of_one_value_is_one_interval() -> None:
    columns = (Variable("y", "categorical", (0, 1)), Variable("x", "real", (), "input"))
    data = Table(Schema(columns), np.array([[0.0, 7.0], [1.0, 7.0]]))
    assert [cut.size for cut in input_cuts(data, 4)] == [0]


@pytest.mark.parametrize("ones", [0.05, 0.6])
def test_matrix_products_of_features_are_their_sums(ones: float) -> None:
    rng = np.random.default_rng(0)
    indicator = (rng.random((30, 50)) < ones).astype(float)
    indicator[0] = 1.0
    pairs = rng.permutation([(p, c) for p in range(6) for c in range(30)])[:90].astype(np.int32)
    pairs = np.concatenate([pairs, [[6, 3], [7, 0]]]).astype(np.int32)  # parameters of one feature each
    weights, value = rng.normal(size=len(pairs)), rng.normal(size=(8, 50))
    places = FeaturePlaces(pairs[:, 0].copy(), pairs[:, 1].copy(), indicator)
    expected = np.zeros((8, 50))
    for (param, conjunction), weight in zip(pairs, weights, strict=True):
        expected[param] += weight * indicator[conjunction]
    np.testing.assert_allclose(places.add_up(weights, 8), expected, atol=1e-12)
    sums = [value[param] @ indicator[conjunction] for param, conjunction in pairs]
    np.testing.assert_allclose(places.sum_over_rows(value), sums, atol=1e-12)
    np.testing.assert_allclose(ZeroOneMatrix(indicator).multiply_transposed(value), value @ indicator.T)


def validated(priors: Priors) -> ConditionalLikelihood:
    """A model of some rows that is judged by others, with some splits."""
    train, valid = (conditional_rows(table(seed=seed), NO_CUTS) for seed in (0, 1))
    model = ConditionalLikelihood(fresh(), train, valid, priors)
    grow(model.structure, [(0, 3), (2, 4), (0, 1)])
    model.add_planted()
    model.fit(FitEffort(20, 1e-9))
    return model


def test_priors_are_chosen_that_suit_the_validation_rows_better() -> None:
    model = validated(Priors(0.01, 100.0))
    before = model.score
    choose_priors(model, FitEffort(20, 1e-9), 12, Watch())
    assert model.score > before
    assert model.priors.l1 > 0.01 or model.priors.variance < 100
    best = model.score
    choose_priors(model, FitEffort(20, 1e-9), 12, Watch())
    assert model.score >= best


def test_splits_of_one_batch_are_of_different_targets_and_their_model_is_that_of_enumeration() -> None:
    model = validated(Priors(0.0, 1.0))
    search = SplitSearch(model, SplitCosts(split=0.0, edge=1e-6, max_edges=10_000, batch=3), Watch())
    begun, largest = model.structure.splits, 0
    while search.advance():
        made = model.structure.history[begun:].tolist()
        touched = [model.structure.touched_columns(item, column) for item, column in made]
        assert sum(map(len, touched)) == len(set.union(*touched))
        begun, largest = model.structure.splits, max(largest, len(made))
        if begun > 30:
            break
    assert largest > 1
    found = model.sample.mean_log_likelihood(model.weights) * model.sample.total
    assert found == pytest.approx(total_likelihood(model, model.weights), abs=1e-9)
