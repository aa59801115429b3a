"""The scikit-learn face of conditional learners: many targets at once, and predictions for a loss."""

import itertools
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import tractable as tr
from tractable.base.arrays import Floats
from tractable.base.progress import Progress, Watch
from tractable.base.settings import settings_of
from tractable.data import Schema, Table, Variable
from tractable.estimators import ConditionalEstimator
from tractable.estimators.decisions import UnprovenWarning, _best_sets, decide
from tractable.learning.conditional import CONDITIONAL

ESTIMATORS: list[type[ConditionalEstimator]] = [getattr(tr, name) for name in CONDITIONAL.estimators]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)
# Array-API input needs an environment variable that is read when scipy is imported.
NEVER_CHECKED = {"check_array_api_input"}
# The most probable targets together need not be the most probable ones by themselves. That weights stand for
# rows is tested with fewer numbers by the contract tests of conditional learners.
JOINT_MODES, WEIGHTS = "check_classifier_multioutput", "check_sample_weight_equivalence_on_dense_data"
NOT_CHECKED = {
    "ConditionalSPN": {JOINT_MODES},
    "ConditionalMixture": {JOINT_MODES},
    "DACLearn": {JOINT_MODES},
    "CACMN": {WEIGHTS},
    "GACLearn": {JOINT_MODES, WEIGHTS},
}
# Networks of their usual size take seconds for each of the many tables below.
QUICK: dict[str, dict[str, Any]] = {
    "GACLearn": {"members": 1, "epochs": 40, "learning_rate": 0.02, "hidden": 20, "dropout": (0.0,)}
}


def quick(estimator: type[ConditionalEstimator], **settings: Any) -> ConditionalEstimator:
    return estimator(**QUICK.get(estimator.__name__, {}), **settings)


every_check = [
    pytest.param(instance, check, id=f"{type(instance).__name__} {getattr(check, 'func', check).__name__}")
    for made in ESTIMATORS
    for instance, check in estimator_checks_generator(quick(made), legacy=True)
    if getattr(check, "func", check).__name__ not in NEVER_CHECKED | NOT_CHECKED.get(made.__name__, set())
]


@pytest.mark.parametrize(("instance", "check"), every_check)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_finds_no_fault(instance: ConditionalEstimator, check: Any) -> None:
    check(instance)


def frames(rows: int = 150, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cough follows smoking, fever and cough follow each other, and ward has three states."""
    draw = np.random.default_rng(seed)
    smokes, age = draw.random(rows) < 0.4, draw.normal(50, 10, rows)
    cough = draw.random(rows) < np.where(smokes, 0.8, 0.2)
    fever = np.where(draw.random(rows) < 0.8, cough, draw.random(rows) < 0.5)
    ward = np.where(age > 55, "c", np.where(fever, "b", "a"))
    x = pd.DataFrame({"smokes": np.where(smokes, "yes", "no"), "age": age})
    return x, pd.DataFrame({"cough": cough, "fever": fever.astype(int), "ward": ward})


def every_target(model: ConditionalEstimator, x: Any) -> tuple[list[tuple[Any, ...]], Floats]:
    """All combinations of classes, and the probability of each given each row. (rows, combinations)."""
    every = list(itertools.product(*(classes.tolist() for classes in model.classes_)))
    logs = []
    for one in every:
        targets = pd.DataFrame([one] * len(x), columns=[v.name for v in model.targets_])
        logs.append(model.predict_log_proba(x, targets))
    return every, np.exp(np.stack(logs, axis=1))


@every_estimator
def test_parameters_are_the_settings_of_the_learner(estimator: type[ConditionalEstimator]) -> None:
    settings = {one.name: one.default for one in settings_of(estimator._learner)}
    assert estimator().get_params() == {**settings, "unseen": "share", "random_state": None}
    assert clone(estimator(random_state=3)).random_state == 3
    for name in settings:
        assert f"\n{name} : " in (estimator.__doc__ or "")


def test_every_conditional_learner_has_an_estimator() -> None:
    """DSPN-SVD has one of its own: a classifier of numbers, whose circuit is over features."""
    with_face = {estimator._learner for estimator in ESTIMATORS}
    assert with_face == set(CONDITIONAL.values()) - {CONDITIONAL["dspn-svd"]}
    assert all(hasattr(tr, CONDITIONAL.estimator_of(name) or "") for name in CONDITIONAL)
    assert {"DACLearn", "CACMN", "MCTBN", "ConditionalSPN", "ConditionalMixture"} <= set(dir(tr))


@every_estimator
def test_answers_about_several_targets_agree_with_enumeration(estimator: type[ConditionalEstimator]) -> None:
    (x, y), (other, truth) = frames(), frames(20, seed=1)
    model = quick(estimator, random_state=0).fit(x, y)
    every, probs = every_target(model, other)
    np.testing.assert_allclose(probs.sum(axis=1), 1.0, atol=1e-9)
    assert model.predict(other).tolist() == [list(every[i]) for i in probs.argmax(axis=1)]
    assert model.predict(other, "exact").tolist() == model.predict(other, "0/1").tolist()
    proba = model.predict_proba(other)
    for j, classes in enumerate(model.classes_):
        expected = np.stack(
            [probs[:, [e[j] == c for e in every]].sum(axis=1) for c in classes.tolist()], axis=1
        )
        np.testing.assert_allclose(proba[j], expected, atol=1e-9)
        np.testing.assert_array_equal(
            model.predict(other, "marginals")[:, j], classes[expected.argmax(axis=1)]
        )
        np.testing.assert_allclose(np.exp(model.predict_log_proba(other)[j]), expected, atol=1e-9)
    right = [probs[i, every.index(tuple(row))] for i, row in enumerate(truth.itertuples(index=False))]
    assert model.score(other, truth) == pytest.approx(np.log(right).mean())
    weights = np.arange(20.0)
    assert model.score(other, truth, weights) == pytest.approx(np.average(np.log(right), weights=weights))


def test_costs_are_weighed_target_by_target() -> None:
    (x, y), (other, _) = frames(), frames(30, seed=1)
    model = tr.MCTBN(random_state=0).fit(x, y)
    proba = model.predict_proba(other)
    cost = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [9.0, 1.0, 0.0]])  # [true, predicted]
    expected = [
        model.classes_[2][int(np.argmin([sum(p[t] * cost[t, k] for t in range(3)) for k in range(3)]))]
        for p in proba[2]
    ]
    found = model.predict(other, {"ward": cost})
    assert found[:, 2].tolist() == expected
    np.testing.assert_array_equal(found[:, :2], model.predict(other, "hamming")[:, :2])
    plain = 1 - np.eye(2)
    np.testing.assert_array_equal(model.predict(other, [plain, plain, cost]), found)
    both = tr.MCTBN(random_state=0).fit(x, y[["cough", "fever"]])
    shy = np.array([[0.0, 20.0], [1.0, 0.0]])
    assert not both.predict(other, shy).any()  # a wrong yes costs twenty times a wrong no
    for wrong, words in (
        ({"ward": plain}, "target 'ward' has 3 states: its cost matrix must be 3 x 3 finite numbers"),
        ({"word": plain}, "there is no target 'word', for which costs are given"),
        ([plain], "1 matrices of costs for 3 targets"),
        ("best", "there is no method 'best' .methods: 'mpe', 'exact'"),
    ):
        with pytest.raises(ValueError, match=words):
            model.predict(other, wrong)


def f1(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    both = sum(a * b for a, b in zip(one, other, strict=True))
    return 1.0 if not sum(one) + sum(other) else 2 * both / (sum(one) + sum(other))


def test_sets_of_labels_have_the_highest_expected_f1() -> None:
    draw = np.random.default_rng(0)
    every = list(itertools.product((0, 1), repeat=4))
    share = draw.dirichlet(np.full(16, 0.3), size=25)
    found = _best_sets(np.broadcast_to(np.array(every, dtype=float), (25, 16, 4)), share)
    for row, p in zip(found.tolist(), share, strict=True):
        value = [sum(q * f1(guess, true) for true, q in zip(every, p, strict=True)) for guess in every]
        assert value[every.index(tuple(row))] == pytest.approx(max(value), abs=1e-9)


def test_predictions_for_f1_have_a_higher_f1() -> None:
    draw = np.random.default_rng(0)
    x = draw.integers(2, size=(2000, 4))
    y = (draw.random((2000, 12)) < 0.15 + 0.2 * (x @ draw.integers(2, size=(4, 12)) > 1)).astype(int)
    for many in (5, 12):  # by enumeration, and by draws
        model = tr.MCTBN(random_state=0, components=1).fit(x[:1000], y[:1000, :many])
        scores = [
            f1_score(y[1000:, :many], model.predict(x[1000:], how), average="samples", zero_division=1)
            for how in ("f1", "hamming")
        ]
        assert scores[0] > scores[1] + 0.005
    with pytest.raises(
        ValueError, match="target 'ward' has 3 states: the F1 score is defined for binary targets"
    ):
        tr.MCTBN().fit(*frames()).predict(frames()[0], "f1")


@every_estimator
def test_one_target_is_an_ordinary_classifier(estimator: type[ConditionalEstimator]) -> None:
    x, y = frames()
    model = quick(estimator, random_state=0).fit(x, y["ward"])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.targets_[0].name == "ward"
    proba = model.predict_proba(x)
    assert proba.shape == (150, 3)
    np.testing.assert_array_equal(model.predict(x), model.classes_[proba.argmax(axis=1)])
    assert (model.predict(x) == y["ward"]).mean() > 0.7
    assert model.score(x, y["ward"]) == pytest.approx(model.predict_log_proba(x, y["ward"]).mean())
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(x), proba)


@every_estimator
def test_missing_inputs_are_refused_and_joint_learners_named(estimator: type[ConditionalEstimator]) -> None:
    x, y = frames()
    model = quick(estimator, random_state=0).fit(x, y)
    gaps = x.copy()
    gaps.loc[7, "age"] = np.nan
    words = r"column 'age', row 7 is missing \(NaN\).*tr.EACMN or tr.IDSPN"
    for ask in (
        lambda: model.predict(gaps),
        lambda: model.score(gaps, y),
        lambda: quick(estimator).fit(gaps, y),
        lambda: quick(estimator).fit(x, y, valid=(gaps, y)),
    ):
        with pytest.raises(ValueError, match=words):
            ask()
    strange = x.assign(smokes="often")
    with pytest.raises(ValueError, match="column 'smokes', row 0 has a state that the training rows did not"):
        model.predict(strange)


def test_missing_targets_are_summed_out_and_unknown_labels_count_a_small_share() -> None:
    x, y = frames()
    gaps = y.astype(object).copy()
    gaps.loc[::3, "ward"] = None
    model = tr.MCTBN(random_state=0).fit(x, gaps)
    every, probs = every_target(model, x)
    part = model.predict_log_proba(x, gaps)
    row = gaps.iloc[0]
    alike = [e[:2] == (row["cough"], row["fever"]) for e in every]
    assert part[0] == pytest.approx(np.log(probs[0, alike].sum()))
    with pytest.warns(tr.TableWarning, match="states that do not occur in the training rows"):
        strange = model.predict_log_proba(x, y.assign(ward="z"))
    assert np.isfinite(strange).all()
    with pytest.raises(ValueError, match="row 0: target 'ward' has no state 'z'"):
        tr.MCTBN(unseen="error").fit(x, y).score(x, y.assign(ward="z"))


@every_estimator
@pytest.mark.parametrize("kind", ["pandas", "polars", "array", "dictionary", "table"])
def test_tables_of_any_kind_are_fitted(estimator: type[ConditionalEstimator], kind: str) -> None:
    x, y = frames(80)
    schema = Schema((Variable("cough", states=(False, True)), Variable("ward", states=("a", "b", "c"))))
    pair: dict[str, tuple[Any, Any]] = {
        "pandas": (x, y[["cough", "ward"]]),
        "polars": (pl.DataFrame(x.to_dict("list")), pl.DataFrame(y[["cough", "ward"]].to_dict("list"))),
        "array": (x["age"].to_numpy()[:, None], y[["cough", "fever"]].to_numpy().astype(int)),
        "dictionary": (x.to_dict("list"), y[["cough", "ward"]].to_dict("list")),
        "table": (x, Table(schema, np.stack([y["cough"], y["ward"].map(ord) - 97], axis=1).astype(float))),
    }
    inputs, targets = pair[kind]
    model = quick(estimator, random_state=0).fit(inputs, targets)
    assert np.isfinite(model.score(inputs, targets))
    assert model.predict(inputs).shape == (80, 2)
    names = [v.name for v in model.targets_]
    assert names == (["y0", "y1"] if kind == "array" else ["cough", "ward"])
    assert isinstance(model.circuit_, tr.Circuit)
    assert [v.role for v in model.circuit_.schema].count("target") == 2


def test_validation_rows_choose_and_are_recorded() -> None:
    x, y = frames()
    model = tr.MCTBN(random_state=0).fit(x, y, valid=frames(60, seed=3))
    assert model.circuit_.about["valid"]
    assert model.circuit_.about["learner"] == "mctbn"
    told: list[Progress] = []
    model.fit(x, y, watch=Watch(told.append))
    assert told


def test_pipelines_grids_and_cross_validation_work() -> None:
    draw = np.random.default_rng(0)
    x = draw.normal(size=(200, 3))
    y = (x @ draw.normal(size=(3, 2)) + draw.normal(size=(200, 2)) > 0).astype(int)
    model = make_pipeline(StandardScaler(), tr.MCTBN(random_state=0))
    assert model.fit(x, y).score(x, y) > -1.2
    assert (cross_val_score(model, x, y, cv=3) > -1.5).all()
    grid = GridSearchCV(tr.MCTBN(random_state=0), {"components": [1, 2]}, cv=2).fit(x, y)
    assert grid.best_params_["components"] in (1, 2)


def test_few_numbers_stay_numbers_unless_told_otherwise() -> None:
    x = pd.DataFrame({"grade": np.tile([1, 2, 4], 30), "flag": np.tile([0, 1], 45)})
    y = (x["grade"] > 1).astype(int)
    model = tr.MCTBN(random_state=0).fit(x, y)
    assert [v.kind for v in model.schema_] == ["integer", "categorical"]
    assert model.predict(pd.DataFrame({"grade": [3, 9], "flag": [0, 1]})).tolist() == [1, 1]
    told = tr.MCTBN(random_state=0).fit(x, y, kinds={"grade": "categorical"})
    assert told.schema_[0].is_categorical


def test_weights_stand_for_rows() -> None:
    x, y = frames(60)
    times = np.random.default_rng(0).integers(0, 4, 60)
    one = tr.MCTBN(random_state=0).fit(x, y, sample_weight=times)
    other = tr.MCTBN(random_state=0).fit(x.loc[np.repeat(x.index, times)], y.loc[np.repeat(y.index, times)])
    np.testing.assert_allclose(one.predict_log_proba(x, y), other.predict_log_proba(x, y), atol=1e-3)


def test_wrong_targets_are_refused_in_words() -> None:
    x, y = frames(30)
    for wrong, words in (
        (np.zeros((30, 0)), "y should be a column or a table of columns"),
        (np.linspace(0, 1, 30), "Unknown label type"),
        (pd.Series([None] * 30, name="gone"), "target 'gone' has no label in any row"),
        (pd.Series(["a", 1] * 15, name="mixed"), "target 'mixed' has labels of different types"),
        (y[:20], "inconsistent numbers of samples"),
        (None, "requires y to be passed, but the target y is None"),
    ):
        with pytest.raises(ValueError, match=words):
            tr.MCTBN().fit(x, wrong)
    with pytest.raises(ValueError, match="y has 1 targets, but the model was fitted with 3"):
        tr.MCTBN().fit(x, y).score(x, y["ward"])


def test_a_target_called_like_an_input_gets_another_name() -> None:
    x, y = frames(40)
    model = tr.MCTBN().fit(x, y["cough"].rename("age"))
    assert model.targets_[0].name == "age_"


def test_completions_that_are_not_proved_are_told() -> None:
    draw = np.random.default_rng(0)
    x, hidden = draw.integers(2, size=(600, 1)), draw.integers(2, size=(600, 1))
    y = (draw.random((600, 20)) < np.where(hidden ^ x, 0.8, 0.2)).astype(int)
    model = tr.MCTBN(random_state=0, components=2).fit(x, y)
    with pytest.warns(UnprovenWarning, match="2 of 2 rows have too many completions"):
        found = model.predict([[0], [1]])
    np.testing.assert_array_equal(found, model.predict([[0], [1]], "exact"))
    rows = np.column_stack([[0.0, 1.0], np.full((2, 20), np.nan)])
    np.testing.assert_array_equal(decide(model.circuit_.graph, rows, "exact", 0), found)
