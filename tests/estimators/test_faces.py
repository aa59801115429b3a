"""The classifier, the imputer and the anomaly scorer."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import tractable as tr
from tractable.data import Schema, Table, Variable, clinic, to_frame
from tractable.estimators import choice

FACES = (tr.TractableClassifier, tr.TractableImputer, tr.AnomalyScorer)
WEIGHTS_CHECK = "check_sample_weight_equivalence_on_dense_data"
NOT_CHECKED = {
    "check_array_api_input",  # needs an environment variable that is read when scipy is imported
    WEIGHTS_CHECK,  # a choice by folds sees other held-out rows where rows are repeated; see below
}
every_check = [
    pytest.param(instance, check, id=f"{type(instance).__name__} {getattr(check, 'func', check).__name__}")
    for made in FACES
    for instance, check in estimator_checks_generator(made(), legacy=True)
    if getattr(check, "func", check).__name__ not in NOT_CHECKED
]
weights_checks = [
    pytest.param(instance, check, id=type(instance).__name__)
    for made in (tr.TractableImputer("naive-bayes"), tr.AnomalyScorer("independent", contamination=0.1))
    for instance, check in estimator_checks_generator(made, legacy=True)
    if getattr(check, "func", check).__name__ == WEIGHTS_CHECK
]


def birds(rows: int = 150) -> pd.DataFrame:
    """Three species with real, count and text features, some of them missing."""
    rng = np.random.default_rng(0)
    species = rng.integers(3, size=rows)
    frame = pd.DataFrame(
        {
            "bill": rng.normal(40 + 5 * species, 1.5),
            "eggs": rng.poisson(30 + 15 * species),
            "island": np.array(["Dream", "Biscoe", "Torgersen"])[(species + (rng.random(rows) < 0.1)) % 3],
            "species": np.array(["Adelie", "Chinstrap", "Gentoo"])[species],
        },
        index=np.arange(rows) + 1000,
    )
    frame.loc[frame.index[::7], "bill"] = np.nan
    frame.loc[frame.index[::5], "island"] = None
    return frame


def features() -> pd.DataFrame:
    return birds().drop(columns="species")


@pytest.fixture
def small_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few sizes of the learners that `fast` compares."""
    for table in (choice.FAST, choice.CLASS_FAST):
        monkeypatch.setitem(table, "naive-bayes", {"components": (1, 2), "restarts": 1, "steps": 20})
    monkeypatch.setitem(choice.FAST, "gaussian-mixture", {"components": (1, 2, 3)})


@pytest.mark.parametrize(("instance", "check"), every_check)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("small_candidates")
def test_scikit_learn_finds_no_fault(instance: Any, check: Any) -> None:
    check(instance)


@pytest.mark.parametrize(("instance", "check"), weights_checks)
@pytest.mark.filterwarnings("ignore")
def test_weights_stand_for_repeated_rows(instance: Any, check: Any) -> None:
    check(instance)


def test_weights_stand_for_repeated_rows_in_every_class() -> None:
    times = np.random.default_rng(1).integers(0, 3, 150)
    model = tr.TractableClassifier("chow-liu", by_class=True, random_state=0)
    weighted = clone(model).fit(features(), birds()["species"], sample_weight=times)
    repeated = clone(model).fit(
        features().loc[np.repeat(birds().index, times)], np.repeat(birds()["species"], times)
    )
    np.testing.assert_allclose(weighted.predict_proba(features()), repeated.predict_proba(features()))


@pytest.mark.parametrize("made", FACES)
def test_settings_are_kept_and_a_clone_has_no_model(made: Any) -> None:
    model = made(tr.ChowLiuTree(smoothing=0.25), random_state=3)
    copy = clone(model)
    assert copy.learner.smoothing == 0.25
    assert copy.random_state == 3
    assert not hasattr(copy, "circuit_")


@pytest.mark.parametrize("made", FACES)
def test_a_pickle_answers_as_the_model_does(made: Any) -> None:
    model = made("chow-liu", random_state=0).fit(features(), birds()["species"])
    again = pickle.loads(pickle.dumps(model))
    for method in ("predict_proba", "decision_function"):
        if hasattr(model, method):
            np.testing.assert_array_equal(
                getattr(model, method)(features()), getattr(again, method)(features())
            )
    assert again.feature_names_in_.tolist() == ["bill", "eggs", "island"]


@pytest.mark.parametrize("made", FACES)
def test_a_learner_that_there_is_not_is_named(made: Any) -> None:
    with pytest.raises(ValueError, match="there is no learner 'chow-lu'; did you mean 'chow-liu'"):
        made("chow-lu").fit(features(), birds()["species"])
    with pytest.raises(ValueError, match="learner must be 'fast', the name of a learner or an estimator"):
        made(LogisticRegression()).fit(features(), birds()["species"])


@pytest.mark.parametrize("made", FACES)
def test_fast_takes_the_learner_that_scores_best(made: Any) -> None:
    model = made(random_state=0).fit(features(), birds()["species"])
    assert model.learner_ == max(model.choice_scores_, key=model.choice_scores_.__getitem__)
    again = made(random_state=0).fit(features(), birds()["species"])
    assert again.choice_scores_ == model.choice_scores_


@pytest.mark.parametrize("learner", ["auto"])  # of which two learners are tried in tests
@pytest.mark.parametrize("made", FACES)
def test_auto_is_the_learner_of_that_name(made: Any, learner: str) -> None:
    model = made(learner, random_state=0).fit(features()[:5], birds()["species"][:5])
    assert model.circuit_.about["learner"] == "auto"
    assert model.learner_ in {"auto", "auto by class"}
    (estimator,) = choice.estimators_of(learner, 0)
    assert isinstance(estimator, tr.AutoTractable)
    assert choice.budget_of(estimator) == "1m"


def test_few_rows_are_not_held_out() -> None:
    model = tr.TractableClassifier().fit(pd.DataFrame({"a": ["x", "y"]}), [0, 1])
    assert model.learner_ == f"{next(iter(choice.FAST))} by class"
    assert model.choice_scores_ == {}


# ---- classifier ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_class", [True, False])
@pytest.mark.parametrize("learner", ["chow-liu", "naive-bayes", "learnspn"])
def test_probabilities_are_the_conditionals_of_the_circuit(learner: str, by_class: bool) -> None:
    model = tr.TractableClassifier(learner, by_class=by_class, random_state=0).fit(
        features(), birds()["species"]
    )
    rows = features().iloc[:8]
    found = model.predict_proba(rows)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    records: list[Any] = rows.to_dict("records")
    for row, probabilities in zip(records, found, strict=True):
        for state, p in zip(model.classes_, probabilities, strict=True):
            assert p == pytest.approx(model.circuit_.prob({"species": state}, given=row))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(rows)), found)
    assert (model.predict(rows) == model.classes_[found.argmax(axis=1)]).all()


def test_classes_learned_apart_are_each_their_own_model() -> None:
    frame = birds()
    model = tr.TractableClassifier("chow-liu", by_class=True).fit(features(), frame["species"])
    gentoo = frame["species"] == "Gentoo"
    schema = model.schema_
    alone = tr.ChowLiuTree().fit(features()[gentoo], schema=schema)
    row = {"bill": 50.0, "eggs": 60}
    assert model.circuit_.prob(row, given={"species": "Gentoo"}) == pytest.approx(alone.circuit_.prob(row))
    assert model.circuit_.prob({"species": "Gentoo"}) == pytest.approx(gentoo.mean())


def test_the_target_may_be_a_column_of_the_table() -> None:
    frame = birds()[["species", "bill", "eggs", "island"]]
    model = tr.TractableClassifier(target="species", random_state=0).fit(frame)
    assert model.classes_.tolist() == ["Adelie", "Chinstrap", "Gentoo"]
    assert model.feature_names_in_.tolist() == ["bill", "eggs", "island"]
    np.testing.assert_array_equal(model.predict(frame), model.predict(features()))
    assert model.score(frame) == pytest.approx((model.predict(frame) == frame["species"]).mean())
    assert model.score(frame) > 0.9
    with pytest.raises(ValueError, match="pass either y or target"):
        model.fit(frame, frame["species"])


@pytest.mark.parametrize("form", ["table", "dictionary", "records", "polars", "lazy", "pyarrow"])
def test_tables_of_any_kind_hold_their_target(form: str) -> None:
    table = clinic(200)
    frame = to_frame(table, like="pandas")
    made = {
        "table": table,
        "dictionary": {name: frame[name].to_numpy() for name in frame},
        "records": frame.to_dict("records"),
        "polars": to_frame(table, like="polars"),
        "lazy": to_frame(table, like="polars").lazy(),
        "pyarrow": to_frame(table, like="pyarrow"),
    }[form]
    model = tr.TractableClassifier("chow-liu", target="bronchitis", by_class=True).fit(made)
    expected = tr.TractableClassifier("chow-liu", by_class=True).fit(
        frame.drop(columns="bronchitis"), frame["bronchitis"]
    )
    without = frame.drop(columns="bronchitis")
    np.testing.assert_allclose(model.predict_proba(made), expected.predict_proba(without), rtol=1e-6)
    assert model.score(made) == pytest.approx(expected.score(without, frame["bronchitis"]))


def test_rows_without_a_class_are_learned_from_and_not_scored() -> None:
    frame = birds()
    frame.loc[frame.index[:50], "species"] = None
    model = tr.TractableClassifier("naive-bayes", target="species", by_class=False, random_state=0).fit(frame)
    known = frame[50:]
    assert model.score(frame) == pytest.approx((model.predict(known) == known["species"]).mean())
    by_class = tr.TractableClassifier("chow-liu", target="species", by_class=True).fit(frame)
    assert by_class.predict_proba(frame).shape == (150, 3)
    assert tr.TractableClassifier(target="species", random_state=0).fit(frame).score(frame) > 0.8


def test_missing_features_are_summed_out() -> None:
    model = tr.TractableClassifier("chow-liu").fit(features(), birds()["species"])
    nothing = pd.DataFrame({"bill": [np.nan], "eggs": [np.nan], "island": [None]})
    share = birds()["species"].value_counts(normalize=True).sort_index()
    np.testing.assert_allclose(model.predict_proba(nothing)[0], share, atol=0.01)


def test_classes_may_be_numbers_and_truth_values() -> None:
    for y in (
        np.repeat([3, 7], 20),
        np.repeat([True, False], 20),
        np.repeat([0.5, 2.0], 20)[::-1].astype(str),
    ):
        model = tr.TractableClassifier("chow-liu").fit({"a": ["x"] * 20 + ["y"] * 20}, y)
        assert model.predict({"a": ["x", "y"]}).tolist() == [y[0], y[-1]]
        assert model.classes_.dtype == np.unique(y).dtype


def test_a_state_of_the_target_without_rows_has_a_small_share() -> None:
    schema = Schema((Variable("a", "categorical", ("x", "y")), Variable("t", "categorical", ("p", "q", "r"))))
    table = Table(schema, np.array([[0.0, 0.0], [1.0, 1.0]] * 10))
    model = tr.TractableClassifier("chow-liu", target="t", by_class=True).fit(table)
    assert model.circuit_.prob("t=r") == pytest.approx(0.5 / 20.5)


def test_one_class_and_one_row() -> None:
    model = tr.TractableClassifier().fit({"a": [0.5]}, ["only"])
    assert model.predict_proba({"a": [7.0]}).tolist() == [[1.0]]


def test_a_numeric_target_is_refused() -> None:
    with pytest.raises(ValueError, match="Unknown label type"):
        tr.TractableClassifier().fit(features(), np.random.default_rng(0).normal(size=150))
    table = tr.Table(Schema((Variable("a", "real"), Variable("b", "real"))), np.zeros((3, 2)))
    with pytest.raises(ValueError, match="the target 'b' is real"):
        tr.TractableClassifier(target="b").fit(table)
    with pytest.raises(ValueError, match="there is no column 'c'"):
        tr.TractableClassifier(target="c").fit(table)


def test_the_target_may_be_called_as_a_feature_is() -> None:
    model = tr.TractableClassifier("chow-liu").fit({"target": ["x", "y"] * 5}, [0, 1] * 5)
    assert model.circuit_.schema.names == ("target", "target_")


def test_many_whole_numbers_are_classes_when_they_are_the_target() -> None:
    frame = pd.DataFrame({"a": np.tile(np.arange(30.0) + 0.25, 4), "n": np.tile(np.arange(30), 4)})
    model = tr.TractableClassifier("chow-liu", target="n", by_class=True).fit(frame)
    assert len(model.classes_) == 30


def test_a_grid_search_and_a_pipeline_take_a_classifier() -> None:
    X, y = load_wine(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), tr.TractableClassifier("naive-bayes", random_state=0))
    grid = {"tractableclassifier__by_class": [True, False]}
    search = GridSearchCV(pipeline, grid, cv=3, scoring="neg_log_loss").fit(X, y)
    assert search.best_score_ > -0.2
    whole = birds()
    assert cross_val_score(tr.TractableClassifier("chow-liu", target="species"), whole, cv=3).min() > 0.8


def test_iris_is_classified_well() -> None:
    X, y = load_iris(return_X_y=True)
    found = cross_val_score(tr.TractableClassifier(random_state=0), X, y, cv=3, scoring="neg_log_loss")
    assert found.mean() > -0.25


# ---- imputer -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["mean", "mpe", "sample"])
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_holes_are_filled_and_types_are_kept(method: Any, kind: str) -> None:
    frame: Any = birds()
    frame["species"] = pd.Categorical(frame["species"], categories=["Gentoo", "Adelie", "Chinstrap"])
    frame.loc[frame.index[3], "species"] = None
    if kind != "pandas":
        arrow = pa.Table.from_pandas(frame, preserve_index=False)
        frame = arrow if kind == "pyarrow" else pl.from_arrow(arrow)
    model = tr.TractableImputer("naive-bayes", method=method, random_state=0)
    whole = model.fit_transform(frame)
    assert type(whole) is type(frame)
    before, after = (pd.DataFrame(to_pandas(x)) for x in (frame, whole))
    assert not after.isna().any().any()
    assert ((before == after) | before.isna()).all().all()
    if kind == "pandas":
        pd.testing.assert_series_equal(whole.dtypes, frame.dtypes)
        assert (whole.index == frame.index).all()
    else:
        assert whole.schema == frame.schema


def to_pandas(frame: Any) -> pd.DataFrame:
    table: pd.DataFrame = frame if isinstance(frame, pd.DataFrame) else frame.to_pandas()
    return table.astype({"species": str}).where(table.notna())


def test_a_mean_is_the_expectation_and_a_category_the_likeliest_state() -> None:
    model = tr.TractableImputer("naive-bayes", random_state=0).fit(birds())
    row = pd.DataFrame({"bill": [np.nan], "eggs": [60], "island": [None], "species": ["Gentoo"]})
    whole = model.transform(row)
    given = {"eggs": 60, "species": "Gentoo"}
    assert whole.loc[0, "bill"] == pytest.approx(model.circuit_.expectation("bill", given))
    islands = model.circuit_.marginals(given)["island"]
    assert whole.loc[0, "island"] == max(islands, key=islands.__getitem__)


@pytest.mark.parametrize("values", [np.float32, np.float64, object])
def test_arrays_keep_their_type(values: Any) -> None:
    array = np.random.default_rng(0).normal(size=(40, 3)).astype(values)
    array[::4, 1] = np.nan
    whole = tr.TractableImputer("naive-bayes", random_state=0).fit_transform(array)
    assert whole.dtype == array.dtype
    assert not pd.isna(whole).any()
    assert np.isnan(array[0, 1].astype(float) if values is not object else array[0, 1])


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_set_output_chooses_the_kind_of_frame(kind: str) -> None:
    array = np.array([[0.5, 1.0], [np.nan, 2.0], [1.5, 3.0]] * 9)
    whole = tr.TractableImputer("naive-bayes").set_output(transform=kind).fit_transform(array)
    assert type(whole).__module__.startswith(kind)
    assert list(whole.columns) == ["x0", "x1"]
    mixed = tr.TractableImputer("naive-bayes").set_output(transform=kind).fit(birds())
    assert list(mixed.transform(birds()).columns) == mixed.get_feature_names_out().tolist() == list(birds())


def test_tables_without_a_frame_are_filled_too() -> None:
    table = clinic(50, missing=0.2)
    whole = tr.TractableImputer("chow-liu").fit_transform(table)
    assert not pd.DataFrame(whole).isna().any().any()
    lists = [[0.5, 1.0], [None, 2.0], [1.5, 3.0]] * 9
    assert tr.TractableImputer("chow-liu").fit(lists).transform(lists).shape == (27, 2)


def test_an_imputer_stands_before_another_estimator() -> None:
    X, y = load_iris(return_X_y=True)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    imputer = tr.TractableImputer("chow-liu", random_state=0)
    pipeline = make_pipeline(imputer, LogisticRegression(max_iter=1000))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.8


def test_a_method_that_there_is_not_is_named() -> None:
    with pytest.raises(ValueError, match="there is no method 'median'"):
        tr.TractableImputer(method="median").fit(features())  # type: ignore[arg-type]


# ---- anomaly scorer ------------------------------------------------------------------------------------


def odd_bird() -> pd.DataFrame:
    """A Gentoo with the bill of an Adelie."""
    return pd.DataFrame({"bill": [38.0], "eggs": [61], "island": ["Torgersen"], "species": ["Gentoo"]})


def test_an_odd_row_is_found_and_explained() -> None:
    model = tr.AnomalyScorer("naive-bayes", random_state=0).fit(birds())
    assert model.predict(odd_bird()).tolist() == [-1]
    (why,) = model.explain(odd_bird())
    assert (why.column, why.value) == ("bill", 38.0)
    assert why.expected == pytest.approx(
        model.circuit_.expectation("bill", "eggs=61, species=Gentoo"), rel=0.05
    )
    assert why.surprise == max(why.surprises.values()) > 3
    assert next(iter(why.surprises)) == "bill"
    assert set(why.surprises) == set(birds())


def test_surprises_are_minus_conditional_logarithms_above_their_mean() -> None:
    frame = birds(60)
    model = tr.AnomalyScorer("naive-bayes", random_state=0).fit(frame)
    usual = {name: one.given_rest for name, one in model.circuit_.column_scores(frame).items()}
    row: Any = odd_bird().to_dict("records")[0]
    (why,) = model.explain(odd_bird())
    for name, surprise in why.surprises.items():
        rest = {other: value for other, value in row.items() if other != name}
        log = model.circuit_.log_prob_of({name: row[name]}, given=rest)
        assert surprise == pytest.approx(usual[name] - log)


def test_units_of_columns_do_not_matter_to_an_explanation() -> None:
    values = np.random.default_rng(0).normal(size=(200, 3))
    odd = np.array([[0.1, 4.5, -0.2]])
    for unit in ([1.0, 1.0, 1.0], [1000.0, 1e-3, 1.0]):
        model = tr.AnomalyScorer("independent").fit(values * unit)
        assert model.explain(odd * unit)[0].column == "x1"


def test_scores_are_log_probabilities_above_an_offset() -> None:
    complete = birds().dropna()
    model = tr.AnomalyScorer("chow-liu", random_state=0).fit(complete)
    np.testing.assert_array_equal(model.score_samples(complete), model.circuit_.log_prob(complete))
    np.testing.assert_allclose(
        model.decision_function(complete), model.score_samples(complete) - model.offset_
    )


def test_contamination_is_the_share_of_anomalies() -> None:
    complete = birds(400).dropna()
    model = tr.AnomalyScorer("naive-bayes", contamination=0.1, random_state=0).fit(complete)
    assert (model.predict(complete) == -1).mean() == pytest.approx(0.1, abs=0.01)
    with pytest.raises(ValueError, match="contamination must be 'auto' or in"):
        tr.AnomalyScorer(contamination=0.7).fit(complete)


def test_a_row_with_missing_cells_is_judged_by_the_others() -> None:
    model = tr.AnomalyScorer("naive-bayes", random_state=0).fit(birds())
    part = odd_bird().assign(island=None, eggs=np.nan)
    assert model.score_samples(part)[0] > model.offset_ - 5
    assert model.predict(part).tolist() == [-1]
    usual = pd.DataFrame({"bill": [50.0], "eggs": [np.nan], "island": [None], "species": ["Gentoo"]})
    assert model.predict(usual).tolist() == [1]
    nothing = Table(model.schema_, np.full((1, 4), np.nan))
    assert model.predict(nothing).tolist() == [1]
    with pytest.raises(ValueError, match="row 0 has no value"):
        model.explain(nothing)


def test_most_rows_of_a_model_are_usual_to_it() -> None:
    model = tr.AnomalyScorer("naive-bayes", random_state=0).fit(birds(400))
    drawn = model.circuit_.sample(3000, random_state=1)
    assert (model.predict(drawn) == -1).mean() == pytest.approx(0.02, abs=0.01)
