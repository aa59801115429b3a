"""What every estimator has: `save`, `drop`, and the seed of the command line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold, cross_val_score
from torch import nn

import tractable as tr
from tractable.cli import run
from tractable.data import discrete_schema
from tractable.estimators.base import seed_of
from tractable.model.generalised import GeneralisedCircuit


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    group = rng.random(80) < 0.5
    return pd.DataFrame(
        {
            "a": np.where(rng.random(80) < np.where(group, 0.8, 0.2), "x", "y"),
            "b": np.where(rng.random(80) < np.where(group, 0.3, 0.9), "p", "q"),
            "n": rng.normal(np.where(group, 0.0, 2.0), 1.0).round(3),
            "c": np.where(group, "yes", "no"),
        }
    )


def spoilt() -> pd.DataFrame:
    """The same with columns that no model can use, two of them of one name."""
    bad = pd.DataFrame(np.full((80, 2), np.inf), columns=["bad", "bad"])
    return pd.concat([table(), bad], axis=1)


MODELS: dict[str, Any] = {
    "joint": lambda: tr.NaiveBayesMixture(random_state=0),
    "conditional": lambda: tr.MCTBN(random_state=0),
    "classifier": lambda: tr.TractableClassifier("naive-bayes", random_state=0),
    "classifier of a column": lambda: tr.TractableClassifier("naive-bayes", target="c", random_state=0),
    "imputer": lambda: tr.TractableImputer("naive-bayes", random_state=0),
    "anomaly": lambda: tr.AnomalyScorer("naive-bayes", random_state=0),
}


def fit(kind: str, frame: pd.DataFrame, **options: Any) -> Any:
    if kind in ("conditional", "classifier"):
        return MODELS[kind]().fit(frame.drop(columns="c"), frame["c"], **options)
    return MODELS[kind]().fit(frame, **options)


@pytest.mark.parametrize("kind", MODELS)
def test_an_estimator_saves_its_circuit(kind: str, tmp_path: Path) -> None:
    model = fit(kind, table())
    model.save(tmp_path / "m.tract")
    again = tr.load(tmp_path / "m.tract")
    assert again.schema == model.circuit_.schema
    assert again.columns == model.circuit_.columns == again.schema.names
    with pytest.raises(ValueError, match="not fitted"):
        MODELS[kind]().save(tmp_path / "n.tract")
    assert not (tmp_path / "n.tract").exists()


@pytest.mark.filterwarnings("error::tractable.data.problems.TableWarning")
@pytest.mark.parametrize("kind", MODELS)
def test_an_estimator_leaves_columns_out_before_they_are_checked(kind: str) -> None:
    model = fit(kind, spoilt(), drop=["bad"])
    plain = fit(kind, table())
    assert model.circuit_.schema == plain.circuit_.schema
    features = spoilt() if kind not in ("classifier", "conditional") else spoilt().drop(columns="c")
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(
            model.predict_proba(features), plain.predict_proba(features.drop(columns="bad"))
        )
    elif hasattr(model, "score_samples"):
        np.testing.assert_array_equal(model.score_samples(features), plain.score_samples(table()))
    with pytest.raises(ValueError, match="two columns are called 'bad'"):
        fit(kind, spoilt())
    with pytest.raises(ValueError, match="no column 'bat' to leave out; did you mean 'bad'"):
        fit(kind, spoilt(), drop="bat")


def test_columns_of_an_array_are_left_out() -> None:
    array = np.column_stack([np.tile([0.0, 1.0, 0.0], 8), np.full(24, np.inf), np.arange(24.0) % 2])
    model = tr.ChowLiuTree().fit(array, drop="x1", valid=array)
    assert model.circuit_.columns == ("x0", "x2")
    assert model.n_features_in_ == 3
    assert np.isfinite(model.score(array))
    with pytest.raises(ValueError, match="infinity"):
        tr.ChowLiuTree().fit(array)


@pytest.mark.filterwarnings("error::tractable.data.problems.TableWarning")
def test_tuning_bagging_and_networks_leave_columns_out() -> None:
    tuned = tr.tune("chow-liu", spoilt(), spoilt(), trials=1, drop="bad")
    assert tuned.circuit.columns == ("a", "b", "n", "c")
    assert tr.bag("chow-liu", spoilt(), members=2, valid=spoilt(), drop="bad").columns == ("a", "b", "n", "c")
    network = tr.MarkovNetwork(samples=5).fit(spoilt(), drop=["bad", "n"])
    assert network.schema_.names == ("a", "b", "c")


def test_circuits_know_what_their_columns_are_called() -> None:
    frame = pd.DataFrame({0: ["a", "b"], ("x", 1): ["c", "d"]})
    circuit = tr.Independent().fit(frame).circuit_
    assert circuit.columns == (0, ("x", 1)) == tuple(circuit.marginals())
    network = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1)).double()
    schema = discrete_schema([2, 2]).with_inputs([0])
    assert GeneralisedCircuit.from_sequential(network, schema).columns == ("x0", "x1")


# ---- classes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("declared", [False, True])
def test_a_fold_may_lack_a_class(declared: bool) -> None:
    frame = table().drop(columns="a")
    frame["c"] = ["no", "yes"] * 30 + ["rare"] * 20
    frame = frame.astype({"c": "category"}) if declared else frame
    model = tr.TractableClassifier("naive-bayes", target="c", by_class=False, random_state=0)
    folds = KFold(4)  # the last holds all rare rows
    scores = cross_val_score(model, frame, cv=folds, error_score="raise")
    assert scores[-1] == 0.0
    features, labels = frame.drop(columns="c"), frame["c"].astype(str)
    plain = tr.TractableClassifier("naive-bayes", by_class=False, random_state=0)
    same = cross_val_score(plain, features, labels, cv=folds)
    np.testing.assert_array_equal(scores, same)
    train = frame.iloc[:60]
    fitted = model.fit(train)
    assert fitted.predict_proba(frame).shape == (80, len(fitted.classes_))
    assert len(fitted.classes_) == (3 if declared else 2)
    with pytest.raises(ValueError, match="no row has a class in column 'c'"):
        fitted.score(frame.assign(c=None))


# ---- seeds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "estimator"),
    [
        ("chow-liu", "ChowLiuTree"),
        ("naive-bayes", "NaiveBayesMixture"),
        ("mixture-of-trees", "MixtureOfTrees"),
        ("cutset", "CutsetNetwork"),
        ("learnspn", "LearnSPN"),
        ("idspn", "IDSPN"),
        ("hidden-chow-liu", "HiddenChowLiuTree"),
        ("region-grid", "RegionGrid"),
    ],
)
@pytest.mark.parametrize("seed", [0, 3])
def test_a_seed_gives_the_same_model_in_python_and_on_the_command_line(
    name: str, estimator: str, seed: int, tmp_path: Path
) -> None:
    place = tmp_path / "m.tract"
    table()[["a", "b", "c"]].to_csv(tmp_path / "t.csv", index=False)
    assert run(["learn", name, str(tmp_path / "t.csv"), "--seed", str(seed), "-o", str(place), "-q"]) == 0
    rows, told = tr.read(tmp_path / "t.csv"), tr.load(place)
    model = getattr(tr, estimator)(random_state=seed).fit(rows)
    np.testing.assert_array_equal(model.circuit_.log_prob(rows), told.log_prob(rows))
    assert model.circuit_.about == told.about


def test_a_seed_draws_the_same_rows_in_python_and_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tr.NaiveBayesMixture(random_state=0).fit(table())
    model.save(tmp_path / "m.tract")
    assert run(["sample", str(tmp_path / "m.tract"), "5", "--seed", "7", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["values"]
    for drawn in (model.circuit_.sample(5, random_state=7), model.sample(5, random_state=7)):
        assert drawn.to_numpy().tolist() == told


def test_other_random_states_draw_a_seed() -> None:
    assert seed_of(np.random.RandomState(1)) == seed_of(np.random.RandomState(1))
    assert seed_of(np.int64(5)) == 5  # type: ignore[arg-type]
    assert seed_of(2**64 - 1) == 2**64 - 1
    for wrong in (-1, "seed", 1.5):
        with pytest.raises(ValueError, match=r"[Ss]eed|cannot be used"):
            seed_of(wrong)  # type: ignore[arg-type]
