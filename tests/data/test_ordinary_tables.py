"""Tables as people have them: what a new user tries first gives the right answer, or a line of warning."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import cross_val_score

import tractable as tr
from tractable.data import Variable, as_table, read


def masses(rows: int = 400) -> np.ndarray:
    """Body masses in grams, as scales with marks every 25 grams tell them."""
    rng = np.random.default_rng(0)
    light = rng.random(rows) < 0.6
    return np.rint(np.where(light, rng.normal(3700, 350, rows), rng.normal(5050, 400, rows)) / 25) * 25


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_whole_numbers_of_many_values_are_no_poisson_counts(dtype: type) -> None:
    frame = pd.DataFrame({"mass": masses().astype(dtype)})
    circuit = tr.NaiveBayesMixture(random_state=0).fit(frame).circuit_
    assert circuit.schema[0].kind == "integer"
    share = frame["mass"].between(4000, 5000).mean()
    assert circuit.prob({"mass": (4000, 5000)}) == pytest.approx(share, abs=0.08)


def test_integers_and_floats_of_the_same_values_give_the_same_model() -> None:
    answers = [
        tr.ChowLiuTree().fit(pd.DataFrame({"mass": masses().astype(t)})).circuit_.prob({"mass": (4000, 5000)})
        for t in (np.int64, np.float64, np.uint16, np.float32)
    ]
    assert answers == pytest.approx([answers[0]] * 4, rel=1e-12)
    missing = masses()
    missing[0] = np.nan
    assert as_table({"mass": missing}).schema[0].kind == "integer"


def iris() -> pd.DataFrame:
    """The measures of iris flowers and their species."""
    bunch = load_iris()
    frame = pd.DataFrame(bunch.data, columns=["sepal", "sepal_width", "petal", "petal_width"])
    return frame.assign(species=bunch.target_names[bunch.target])


TREES = [tr.ChowLiuTree, tr.LatentTree, tr.HiddenChowLiuTree, tr.MixtureOfTrees]
NARROW = [
    *TREES,
    tr.NaiveBayesMixture,
    tr.LearnSPN,
    tr.ACBN,
    tr.BayesianNetwork,
    tr.EACMN,
    tr.GaussianMixture,
]
DEPENDENT = [*NARROW, tr.ACMN]


@pytest.mark.parametrize("learner", DEPENDENT)
def test_real_columns_are_not_learned_as_independent(learner: Any) -> None:
    circuit = learner().fit(iris().drop(columns="species")).circuit_
    assert circuit.prob("petal_width > 1") == pytest.approx(0.62, abs=0.05)
    assert circuit.prob("petal_width > 1", "petal = 1.4") < 0.1


@pytest.mark.parametrize("learner", NARROW)
def test_smoothing_does_not_double_the_spread_of_a_group(learner: Any) -> None:
    circuit, frame = learner(random_state=0).fit(iris()).circuit_, iris()
    spread = frame.loc[frame["species"] == "setosa", "petal"].std()
    assert circuit.marginals("species=setosa")["petal"]["std"] < 2 * spread


@pytest.mark.parametrize("learner", DEPENDENT)
def test_most_of_a_group_stays_where_its_rows_are(learner: Any) -> None:
    circuit, frame = learner().fit(iris()).circuit_, iris()
    share = frame.loc[frame["species"] == "setosa", "petal"].between(1.2, 1.8).mean()
    assert circuit.prob({"petal": (1.2, 1.8)}, "species=setosa") == pytest.approx(share, abs=0.12)


def test_a_density_is_not_called_a_probability() -> None:
    circuit = tr.NaiveBayesMixture().fit(iris()).circuit_
    assert circuit.prob("petal_width=0.2", "species=setosa") > 1
    assert circuit.mpe("species=setosa").kind == "density"
    assert set(circuit.mpe().density_columns) == {"sepal", "sepal_width", "petal", "petal_width"}


def test_other_columns_are_ignored_and_missing_ones_summed_out() -> None:
    circuit, frame = tr.ChowLiuTree().fit(iris()).circuit_, iris()
    with pytest.warns(tr.TableWarning, match="column 'more' of the table is not in the schema"):
        more = circuit.log_prob(frame.assign(more=1))
    assert more == pytest.approx(circuit.log_prob(frame))
    fewer = circuit.log_prob(frame.drop(columns="petal"))
    assert fewer == pytest.approx(circuit.marginalise("petal").log_prob(frame.drop(columns="petal")))


def test_few_numbers_are_ordered_states_with_a_mean() -> None:
    frame = pd.DataFrame({"cylinders": [4, 4, 4, 6, 6, 8] * 10, "heavy": [0, 0, 0, 1, 1, 1] * 10})
    circuit = tr.ChowLiuTree(smoothing=0.0).fit(frame).circuit_
    assert circuit.schema[0] == Variable("cylinders", "ordinal", (4, 6, 8))
    assert circuit.schema[1].kind == "categorical"
    assert circuit.expectation("cylinders") == pytest.approx(32 / 6)
    assert circuit.prob("cylinders >= 4, cylinders <= 6") == pytest.approx(5 / 6)
    assert circuit.prob({"cylinders": slice(5, None)}) == pytest.approx(1 / 2)
    filled = circuit.impute(pd.DataFrame({"cylinders": [np.nan], "heavy": [1]}), method="mean")
    assert filled["cylinders"].tolist() == [6]  # the mean is 6.67
    assert circuit.marginals()["cylinders"] == pytest.approx({4: 1 / 2, 6: 1 / 3, 8: 1 / 6})


def test_ordered_categories_are_compared_by_their_order() -> None:
    sizes = pd.Categorical(["S", "M", "M", "L"], categories=["S", "M", "L"], ordered=True)
    circuit = tr.Independent(smoothing=0.0).fit(pd.DataFrame({"size": sizes})).circuit_
    assert circuit.schema[0] == Variable("size", "ordinal", ("S", "M", "L"))
    assert circuit.prob("size <= 'M'") == pytest.approx(0.75)
    assert circuit.prob("size < M") == pytest.approx(0.25)
    assert circuit.prob("size > S") == pytest.approx(0.75)
    assert circuit.prob({"size": slice("M", None)}) == pytest.approx(0.75)
    with pytest.raises(ValueError, match="no state 'XL'"):
        circuit.prob("size <= XL")


def test_tables_of_small_codes_stay_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "t.data").write_text("0,2,1\n1,0,0\n" * 20)
    assert [v.kind for v in read(tmp_path / "t.data").schema] == ["categorical"] * 3
    assert [v.kind for v in as_table(np.array([[0, 1], [1, 1]])).schema] == ["categorical"] * 2


def test_a_semicolon_file_with_decimal_commas_has_all_its_columns(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\ufeffname;height;n\nAda;1,75;1\nBob;1,80;2\n")
    table = read(tmp_path / "t.csv")
    assert [(v.name, v.kind) for v in table.schema] == [
        ("name", "categorical"),
        ("height", "real"),
        ("n", "categorical"),
    ]
    assert table.values[:, 1].tolist() == [1.75, 1.8]


def test_a_column_of_dates_has_no_state_for_each_day(tmp_path: Path) -> None:
    days = pd.date_range("2020-01-01", periods=100).strftime("%Y-%m-%d")
    pd.DataFrame({"day": days, "x": np.arange(100) % 3}).to_csv(tmp_path / "t.csv", index=False)
    circuit = tr.Independent().fit(read(tmp_path / "t.csv")).circuit_
    assert circuit.schema[0] == Variable("day", "date")
    assert circuit.prob("day >= 2020-02-20") == pytest.approx(0.5, abs=0.02)


def test_a_column_of_ids_is_warned_about() -> None:
    frame = pd.DataFrame({"id": [f"p{i:03}" for i in range(100)], "x": ["a", "b"] * 50})
    with pytest.warns(
        tr.TableWarning, match=r"column 'id' has a different value in almost every row.*--drop 'id'"
    ):
        tr.Independent().fit(frame)


@pytest.mark.filterwarnings("ignore::tractable.data.problems.TableWarning")
def test_cross_validation_survives_states_that_a_fold_lacks() -> None:
    images = pd.DataFrame(load_digits().data[:300].astype(int))
    scores = cross_val_score(tr.Independent(), images, cv=5)
    assert np.isfinite(scores).all()
    with pytest.raises(ValueError, match="has no state"):
        cross_val_score(tr.Independent(unseen="error"), images.astype(str), cv=5, error_score="raise")


def test_columns_may_have_any_labels() -> None:
    frame = pd.DataFrame({0: masses(60), ("a", 1): ["x", "y"] * 30, None: [1.5, 2.5, 3.25] * 20})
    circuit = tr.ChowLiuTree().fit(frame).circuit_
    assert circuit.schema.names == ("0", "('a', 1)", "None")
    assert 0 < circuit.prob({0: (4000, 5000)}) < 1
    assert circuit.prob({("a", 1): "x"}) == pytest.approx(0.5, abs=0.02)
    assert circuit.prob({0: (4000, 5000)}) == circuit.prob("0=[4000, 5000]")
    assert list(circuit.marginals()) == list(circuit.mpe().row) == [0, ("a", 1), None]
    assert list(circuit.sample(3, random_state=0).columns) == [0, ("a", 1), None]
    assert list(circuit.impute(frame).columns) == [0, ("a", 1), None]
    assert np.isfinite(circuit.log_conditional(frame, given=[0])).all()
    assert circuit.marginalise(("a", 1)).schema.names == ("0", "None")


def test_columns_may_have_several_levels(tmp_path: Path) -> None:
    frame = pd.DataFrame({("a", 1): ["x", "y"] * 5, ("a", 2): [0.5, 1.0] * 5})
    circuit = tr.Independent().fit(frame).circuit_
    assert circuit.sample(2).columns.equals(frame.columns)
    circuit.save(tmp_path / "m.tract")
    assert tr.load(tmp_path / "m.tract").prob({("a", 1): "x"}) == circuit.prob({("a", 1): "x"})


def test_text_labels_of_a_file_are_found_by_the_labels_of_the_frame(tmp_path: Path) -> None:
    frame = pd.DataFrame({0: ["a", "b"], 1: ["c", "d"]})
    tr.Independent().fit(frame).circuit_.save(tmp_path / "m.tract")
    loaded = tr.load(tmp_path / "m.tract")
    assert loaded.prob({0: "a"}) == pytest.approx(0.5)
    assert np.isfinite(loaded.log_prob(frame)).all()


def test_columns_of_every_kind_come_back_with_their_types() -> None:
    rng, rows = np.random.default_rng(0), 80
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, rows), unit="D")
    frame = pd.DataFrame(
        {
            "mass": masses(rows).astype(int),
            "cylinders": rng.choice([4, 6, 8], rows),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], rows), ["S", "M", "L"], ordered=True),
            "day": days,
            "time": days + pd.to_timedelta(rng.integers(1, 86_000, rows), unit="s"),
            "good": rng.random(rows) < 0.5,
            "x": rng.normal(size=rows),
        }
    )
    circuit = tr.ChowLiuTree().fit(frame).circuit_
    gaps = frame.mask(rng.random(frame.shape) < 0.3)
    for answer in (circuit.sample(5, random_state=0), circuit.impute(gaps), circuit.mpe(gaps).rows):
        assert [t.kind for t in answer.dtypes] == ["i", "i", "O", "M", "M", "b", "f"]
        assert answer["size"].dtype == frame["size"].dtype
    row = circuit.mpe().row
    assert [type(row[name]) for name in frame] == [int, int, str, date, datetime, bool, float]


@pytest.mark.parametrize("offset", [1e6, 1e9, 1e12])
@pytest.mark.parametrize("learner", [tr.Independent, tr.NaiveBayesMixture, tr.LearnSPN])
def test_close_values_far_from_zero_are_no_constant(learner: Any, offset: float) -> None:
    x = np.random.default_rng(0).normal(size=(60, 2))
    tables = [pd.DataFrame(x + np.array([at, 0.0])) for at in (0.0, offset)]
    near, far = (learner().fit(table).score(table) for table in tables)
    assert far == pytest.approx(near, abs=0.01)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::tractable.data.problems.TableWarning")
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("learner", [tr.Independent, tr.NaiveBayesMixture, tr.LearnSPN])
def test_huge_and_tiny_numbers_are_learned_in_silence(learner: Any, scale: float) -> None:
    x = np.random.default_rng(0).normal(size=(60, 2)) * [scale, 1]
    assert np.isfinite(learner().fit(pd.DataFrame(x)).score(x))


@pytest.mark.parametrize("mark", ["n/a", "#N/A", "-", ".", "NA", "null", "?", ""])
def test_marks_of_missing_cells_leave_a_column_numeric(tmp_path: Path, mark: str) -> None:
    (tmp_path / "t.csv").write_text(f"x,y\n1.5,2020-01-01\n{mark},{mark}\n2.25,2020-01-05\n")
    table = read(tmp_path / "t.csv")
    assert [v.kind for v in table.schema] == ["real", "date"]
    assert table.missing[1].all()


def test_a_dash_may_be_a_category(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("sign,x\n+,1\n-,2\n-,x\n.,y\n")
    table = read(tmp_path / "t.csv")
    assert table.schema[0].states == ("+", "-", ".")
    assert read(tmp_path / "t.csv", na="-").schema[0].states == ("+", ".")


@pytest.mark.filterwarnings("ignore::tractable.data.problems.TableWarning")
def test_huge_whole_numbers_are_real_with_a_warning(tmp_path: Path) -> None:
    huge = [2**63 + i for i in range(30)]
    (tmp_path / "t.csv").write_text("n\n" + "\n".join(map(str, huge)))
    for data in ({"n": huge}, pd.DataFrame({"n": huge})):
        with pytest.warns(tr.TableWarning, match="column 'n' holds whole numbers too large"):
            assert as_table(data).schema[0].kind == "real"
    with pytest.warns(
        tr.TableWarning, match="column 'n' holds numbers as text; if they are numbers, declare them as such"
    ):
        assert read(tmp_path / "t.csv").schema[0].states == tuple(map(str, huge))
    assert read(tmp_path / "t.csv", kinds={"n": "real"}).values[0, 0] == 2.0**63
