"""The scikit-learn face of the learners."""

import inspect
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator
from small_settings import small_estimator

import tractable as tr
from tractable.base.progress import Progress, Watch
from tractable.data import Schema, Table, Variable, clinic, to_frame
from tractable.estimators import TableEstimator
from tractable.learning.joint import LEARNERS

ESTIMATORS: list[type[TableEstimator]] = [getattr(tr, name) for name in LEARNERS.estimators]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)
NOT_CHECKED = {
    # array-API input needs an environment variable that is read when scipy is imported
    "check_array_api_input": (*ESTIMATORS, tr.MarkovNetwork),
    # these fit real numbers, which Markov networks refuse
    "check_positive_only_tag_during_fit": (tr.MarkovNetwork,),
    "check_sample_weight_equivalence_on_dense_data": (tr.MarkovNetwork,),
}
every_check = [
    pytest.param(instance, check, id=f"{type(instance).__name__} {getattr(check, 'func', check).__name__}")
    for made in (*ESTIMATORS, tr.MarkovNetwork)
    for instance, check in estimator_checks_generator(small_estimator(made), legacy=True)
    if made not in NOT_CHECKED.get(getattr(check, "func", check).__name__, ())
]


def small_frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    sick = rng.random(120) < 0.3
    frame = pd.DataFrame(
        {
            "fièvre": np.where(sick, "high", "none"),
            "weight": rng.normal(70 + 5 * sick, 4),
            "visits": rng.poisson(5 + 20 * sick),
            "sick": sick,
        }
    )
    frame.loc[::7, "fièvre"] = None
    frame.loc[::5, "weight"] = np.nan
    return frame


@pytest.mark.parametrize(("instance", "check"), every_check)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_finds_no_fault(instance: TableEstimator | tr.MarkovNetwork, check: Any) -> None:
    check(instance)


@every_estimator
def test_parameters_are_the_settings_of_the_learner(estimator: type[TableEstimator]) -> None:
    settings = {field.name: field.default for field in fields(estimator._learner)}
    assert estimator().get_params() == {**settings, "unseen": "share", "random_state": None}
    parameters = inspect.signature(estimator).parameters
    assert list(parameters) == [*settings, "unseen", "random_state"]


def test_every_learner_has_an_estimator() -> None:
    assert {estimator._learner for estimator in ESTIMATORS} == set(LEARNERS.values())


@every_estimator
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_of_any_kind_are_fitted_and_drawn(estimator: type[TableEstimator], kind: str) -> None:
    frame = to_frame(clinic(200, missing=0.1), like=kind)
    model = small_estimator(estimator, random_state=0).fit(frame)
    drawn = model.sample(5, random_state=1)
    assert type(drawn) is type(frame)
    assert model.feature_names_in_.tolist() == list(clinic(1).schema.names)
    assert model.n_features_in_ == 8
    assert np.isfinite(model.score(frame))


@every_estimator
@pytest.mark.parametrize("form", ["dictionary", "records", "lazy", "table"])
def test_other_named_tables_are_fitted_and_scored(estimator: type[TableEstimator], form: str) -> None:
    table = clinic(100)
    columns = to_frame(table, like="pandas").to_dict("list")
    made: dict[str, Any] = {
        "dictionary": {name: np.array(cells) for name, cells in columns.items()},
        "records": to_frame(table, like="pandas").to_dict("records"),
        "lazy": pl.DataFrame(columns).lazy(),
        "table": table,
    }
    model = small_estimator(estimator, random_state=0).fit(made[form])
    assert model.feature_names_in_.tolist() == list(table.schema.names)
    expected = small_estimator(estimator, random_state=0).fit(to_frame(table, like="pandas"))
    assert model.score(made[form]) == pytest.approx(expected.score(to_frame(table, like="pandas")))


@every_estimator
def test_text_numbers_and_missing_cells_may_be_mixed(estimator: type[TableEstimator]) -> None:
    frame = small_frame()
    model = small_estimator(estimator, random_state=0).fit(frame)
    assert [v.kind for v in model.schema_] == ["categorical", "real", "integer", "categorical"]
    assert np.isfinite(model.score_samples(frame)).all()
    assert isinstance(model.circuit_, tr.Circuit)


@every_estimator
def test_validation_rows_are_coded_by_the_training_schema(estimator: type[TableEstimator]) -> None:
    frame = small_frame()
    no_fever = frame[frame["fièvre"] == "none"]
    model = small_estimator(estimator, random_state=0).fit(frame, valid=no_fever)
    assert np.isfinite(model.score(no_fever))
    strange = frame.assign(**{"fièvre": "low"})
    with pytest.warns(tr.TableWarning, match="120 rows have states that do not occur in the training rows"):
        model.fit(frame, valid=strange)
    with pytest.raises(ValueError, match=r"row 0: column 'fièvre' has no state 'low'"):
        small_estimator(estimator, unseen="error").fit(frame, valid=strange)


@every_estimator
def test_a_state_that_was_never_seen_is_named_if_that_is_asked_for(estimator: type[TableEstimator]) -> None:
    frame = small_frame()
    model = small_estimator(estimator, unseen="error").fit(frame)
    with pytest.raises(ValueError, match=r"row 3: column 'fièvre' has no state 'low'"):
        model.score(frame.assign(**{"fièvre": np.array(["none", "high", None, "low"] * 30, dtype=object)}))


@every_estimator
def test_a_given_schema_may_have_more_states_than_the_rows(estimator: type[TableEstimator]) -> None:
    schema = Schema((Variable("a", "categorical", ("x", "y", "z")), Variable("b", "real")))
    model = small_estimator(estimator).fit(pd.DataFrame({"a": ["x", "y"], "b": [0.0, 1.0]}), schema=schema)
    assert np.isfinite(model.score(pd.DataFrame({"a": ["z"], "b": [0.5]})))


@every_estimator
def test_weights_stand_for_repeated_rows(estimator: type[TableEstimator]) -> None:
    table = clinic(150)
    times = np.random.default_rng(0).integers(1, 4, 150)
    weighted = small_estimator(estimator, random_state=0).fit(table, sample_weight=times)
    repeated = small_estimator(estimator, random_state=0).fit(table.take(np.repeat(np.arange(150), times)))
    np.testing.assert_allclose(weighted.score_samples(table), repeated.score_samples(table), rtol=1e-6)


def test_the_score_of_a_weighted_table_is_weighted() -> None:
    table = clinic(50)
    twice = Table(table.schema, table.values, np.arange(50.0))
    model = tr.Independent().fit(table)
    assert model.score(twice) == pytest.approx(
        np.average(model.score_samples(table), weights=np.arange(50.0))
    )


@every_estimator
def test_the_same_random_state_gives_the_same_model(estimator: type[TableEstimator]) -> None:
    table = clinic(200)
    scores = [small_estimator(estimator, random_state=3).fit(table).score_samples(table) for _ in range(2)]
    np.testing.assert_array_equal(scores[0], scores[1])


def test_a_grid_search_finds_the_better_setting() -> None:
    table = clinic(600)
    frame = to_frame(table, like="pandas")
    search = GridSearchCV(tr.ChowLiuTree(), {"smoothing": [1.0, 10000.0]}, cv=3)
    search.fit(frame, schema=table.schema)
    assert search.best_params_ == {"smoothing": 1.0}
    assert search.best_estimator_.circuit_.prob({"smoker": "yes"}) < 0.5


def test_an_estimator_ends_a_pipeline() -> None:
    values = np.random.default_rng(0).normal(1000, 300, (200, 3))
    pipeline = make_pipeline(StandardScaler(), tr.NaiveBayesMixture(components=(1, 2), random_state=0)).fit(
        values
    )
    assert -6 < pipeline.score(values) < -3


@every_estimator
def test_a_clone_has_the_settings_and_not_the_model(estimator: type[TableEstimator]) -> None:
    model = small_estimator(estimator, smoothing=0.25).fit(clinic(50))
    copy = clone(model)
    assert copy.smoothing == 0.25
    assert not hasattr(copy, "circuit_")


def test_one_number_of_components_may_be_given_alone() -> None:
    model = tr.NaiveBayesMixture(components=3, random_state=0).fit(clinic(300))
    assert model.components == 3
    assert model.circuit_.properties.depth == 2


def test_a_watch_follows_and_ends_the_fit() -> None:
    told: list[Progress] = []
    tr.NaiveBayesMixture(random_state=0).fit(clinic(300), watch=Watch(told.append, seconds=0.0))
    assert told[-1].done == 1


def test_arrays_keep_their_kind() -> None:
    values = np.random.default_rng(0).integers(0, 3, (60, 4))
    model = tr.ChowLiuTree(unseen="error").fit(values)
    assert not hasattr(model, "feature_names_in_")
    assert isinstance(model.sample(3, random_state=0), np.ndarray)
    with pytest.raises(ValueError, match=r"row 1: column 'x2' has no state 7"):
        model.score([[0, 0, 0, 0], [0, 0, 7, 0]])


def test_an_infinite_number_is_named() -> None:
    with pytest.raises(ValueError, match="infinity"):
        tr.Independent().fit(np.array([[0.5, np.inf], [0.1, 0.2]]))


def test_rows_without_weight_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one non-zero"):
        tr.Independent().fit(clinic(5), sample_weight=np.zeros(5))


def test_a_model_is_saved_with_what_it_was_learned_from() -> None:
    model = tr.ChowLiuTree().fit(pa.table({"a": [0, 1, 1], "b": ["x", "y", "y"]}))
    assert model.circuit_.about["learner"] == "chow-liu"
    assert model.circuit_.about["frame"] == "pyarrow"
