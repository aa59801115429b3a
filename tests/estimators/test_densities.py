"""Densities are called densities, and scores can be had column by column."""

import json
from math import exp
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tractable as tr
from tractable.circuit import Builder
from tractable.cli import run
from tractable.data import Schema, Table, Variable, clinic
from tractable.data.schema import KINDS
from tractable.queries import cell_log_probs, has_density, state_log_probs


def irises(rows: int = 60) -> pd.DataFrame:
    """Two kinds of flowers, a narrow real column, a count and a category."""
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=rows)
    return pd.DataFrame(
        {
            "width": rng.normal(0.2 + kind, 0.05),
            "petals": rng.poisson(30 + 20 * kind),
            "kind": np.where(kind, "virginica", "setosa"),
        }
    )


@pytest.fixture(scope="module")
def circuit() -> tr.Circuit:
    model: tr.Circuit = tr.NaiveBayesMixture(components=2, random_state=0).fit(irises()).circuit_
    return model


@pytest.fixture
def place(circuit: tr.Circuit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    circuit.save("m.tract")
    irises().to_csv("rows.csv", index=False)
    return tmp_path


def told(shell: pytest.CaptureFixture[str], *arguments: str) -> str:
    shell.readouterr()
    assert run([*arguments, "--quiet"]) == 0
    return shell.readouterr().out


def test_only_real_and_datetime_columns_have_densities() -> None:
    variables = [Variable(k, k, ("a",) if k in ("categorical", "ordinal") else ()) for k in KINDS]
    assert {v.kind for v in variables if has_density(v)} == {"real", "datetime"}


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("P(width=0.2 | kind=setosa)", "density"),
        ("P(width=[0.1, 0.3] | kind=setosa)", "probability"),
        ("P(petals=30 | kind=setosa)", "probability"),
        ("P(kind=setosa | width=0.2)", "probability"),
        ("P(width=0.2, kind=setosa)", "density"),
        ("P(width=0.2 | width=0.2)", "probability"),
    ],
)
def test_a_query_says_what_its_answer_is(
    place: Path, capsys: pytest.CaptureFixture[str], question: str, kind: str
) -> None:
    (found,) = json.loads(told(capsys, "query", "m.tract", question, "--json"))["answers"]
    assert found["kind"] == kind
    assert found[kind] == pytest.approx(exp(found[f"log_{kind}"]))
    assert ("probability" in found) == (kind == "probability")
    text = told(capsys, "query", "m.tract", question)
    assert text.startswith("p(" if kind == "density" else "P(")
    assert text.endswith("(density)\n") == (kind == "density")


def test_a_density_may_exceed_one_and_is_the_slope_of_the_probability(circuit: tr.Circuit) -> None:
    density = circuit.prob("width=0.2", given="kind=setosa")
    slope = circuit.prob("width=[0.1999, 0.2001]", given="kind=setosa") / 0.0002
    assert density == pytest.approx(slope, rel=1e-4)
    assert density > 1


def test_the_most_probable_row_says_whether_it_has_a_density(
    circuit: tr.Circuit, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert circuit.mpe().kind == circuit.mpe({"width": 0.2}).kind == "density"
    assert circuit.mpe().density_columns == ("width",)
    assert circuit.mpe(columns=["kind", "petals"]).kind == "probability"
    assert circuit.mpe(rows=irises(2)).is_density.tolist() == [True, True]
    assert "\ndensity " in told(capsys, "mpe", "m.tract")
    assert "\nprobability " in told(capsys, "mpe", "m.tract", "--columns", "kind")
    found = json.loads(told(capsys, "mpe", "m.tract", "--json"))
    assert (found["kind"], found["density"]) == ("density", pytest.approx(exp(found["log_prob"])))


def test_a_model_of_states_has_no_densities() -> None:
    circuit = tr.ChowLiuTree().fit(clinic(100)).circuit_
    assert circuit.density_columns == ()
    assert circuit.mpe().kind == "probability"


def test_score_and_learn_say_what_the_logarithm_is_of(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "log of a density, in 1 real column)" in told(capsys, "score", "m.tract", "rows.csv")
    found = json.loads(told(capsys, "score", "m.tract", "rows.csv", "--json"))
    assert (found["density"], found["density_columns"]) == (True, 1)
    given = json.loads(told(capsys, "score", "m.tract", "rows.csv", "--given", "width", "--json"))
    assert (given["density"], given["density_columns"]) == (False, 0)
    irises().drop(columns="width").to_csv("states.csv", index=False)
    for name, words in (("rows", "a density, in 1 real column"), ("states", "probabilities")):
        assert words in told(capsys, "learn", "independent", f"{name}.csv", "-o", "i.tract")
    learned = json.loads(told(capsys, "learn", "independent", "states.csv", "-o", "i.tract", "--json"))
    assert learned["density"] is False


def test_cells_are_scored_as_their_definition_says(circuit: tr.Circuit) -> None:
    rows = tr.Circuit(circuit.graph)._values(irises(8))
    rows[0, 0] = rows[3, 2] = np.nan
    logs = cell_log_probs(circuit.graph, rows)
    for r, c in np.ndindex(rows.shape):
        whole, rest = rows[r].copy(), rows[r].copy()
        rest[c] = np.nan
        alone = np.full_like(whole, np.nan)
        alone[c] = whole[c]
        if np.isnan(rows[r, c]):
            assert np.isnan(logs.alone[r, c])
            assert np.isnan(logs.given_rest[r, c])
            continue
        values = [circuit.log_prob(Table(circuit.schema, x[None, :]))[0] for x in (whole, rest, alone)]
        assert logs.given_rest[r, c] == pytest.approx(values[0] - values[1])
        assert logs.alone[r, c] == pytest.approx(values[2])


def test_states_are_scored_given_the_rest(circuit: tr.Circuit) -> None:
    rows = tr.Circuit(circuit.graph)._values(irises(5))
    logs = state_log_probs(circuit.graph, rows, 2)
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1.0)
    for row, log in zip(irises(5).to_dict("records"), logs, strict=True):
        given = {"width": row["width"], "petals": row["petals"]}
        assert np.exp(log[0]) == pytest.approx(circuit.prob({"kind": "setosa"}, given=given))
    with pytest.raises(ValueError, match="column 'width' is real"):
        state_log_probs(circuit.graph, rows, 0)


def test_columns_are_scored_with_weights_and_without_missing_cells(circuit: tr.Circuit) -> None:
    frame, weights = irises(20), np.arange(20.0)
    frame.loc[5, "width"] = np.nan
    scores = circuit.column_scores(frame, sample_weight=weights)
    assert list(scores) == ["width", "petals", "kind"]
    assert [s.rows for s in scores.values()] == [19, 20, 20]
    assert [s.kind for s in scores.values()] == ["density", "probability", "probability"]
    logs = [circuit.log_prob_of({"kind": kind}) for kind in frame["kind"]]
    assert scores["kind"].alone == pytest.approx(np.average(logs, weights=weights))
    assert scores["width"].given_rest > scores["width"].alone


def test_an_empty_column_has_no_score(circuit: tr.Circuit) -> None:
    empty = Table(circuit.schema, np.array([[np.nan, 30.0, 0.0]]))
    assert np.isnan(circuit.column_scores(empty)["width"].alone)
    assert circuit.column_scores(empty)["width"].rows == 0


def test_the_mean_counts_rows_by_weight(circuit: tr.Circuit) -> None:
    frame, weights = irises(10), np.array([0.0, 3.0] * 5)
    logs = circuit.log_prob(frame)
    assert circuit.score(frame) == pytest.approx(logs.mean())
    assert circuit.score(frame, sample_weight=weights) == pytest.approx(np.average(logs, weights=weights))
    with pytest.raises(ValueError, match="no weight"):
        circuit.score(frame, sample_weight=np.zeros(10))


def test_an_impossible_row_without_weight_does_not_count() -> None:
    schema = Schema((Variable("a", "categorical", ("x", "y")),))
    builder = Builder(schema)
    builder.indicator(0, 0)
    circuit = tr.Circuit(builder.freeze())
    rows = pd.DataFrame({"a": ["x", "y"]})
    assert circuit.score(rows) == -np.inf
    assert circuit.score(rows, sample_weight=[1.0, 0.0]) == pytest.approx(0.0)


@pytest.mark.parametrize("made", [tr.ChowLiuTree(), tr.MarkovNetwork(random_state=0)])
def test_every_estimator_scores_with_weights(made: tr.MarkovNetwork) -> None:
    table, weights = clinic(60), np.arange(60.0)
    model = made.fit(table)
    expected = np.average(model.score_samples(table), weights=weights)
    assert model.score(table, sample_weight=weights) == pytest.approx(expected)
    assert model.score(Table(table.schema, table.values, weights)) == pytest.approx(expected)


def test_score_per_column_prints_a_line_a_column(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(told(capsys, "score", "m.tract", "rows.csv", "--per-column", "--json"))
    assert [c["column"] for c in found["columns"]] == ["width", "petals", "kind"]
    text = told(capsys, "score", "m.tract", "rows.csv", "--per-column")
    assert len(text.splitlines()) == 6
    assert "width" in text.splitlines()[1]
    assert run(["score", "m.tract", "rows.csv", "--per-column", "--given", "kind"]) == 2
