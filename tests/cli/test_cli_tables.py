"""Options of commands for the tables that they read."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tractable as tr
from tractable.cli import run

Shell = pytest.CaptureFixture[str]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(60)],
            "day": pd.date_range("2020-01-01", periods=60).strftime("%Y-%m-%d"),
            "size": rng.choice(["S", "M", "L"], 60),
            "visits": rng.poisson(30, 60),
            "height": rng.normal(1.7, 0.1, 60).round(3),
        }
    )
    frame.to_csv(tmp_path / "t.csv", sep=";", decimal=",", index=False)
    strange = frame.head(10).assign(size=["XL", "XXL"] * 5, more=1)
    strange.drop(columns="height").to_csv(tmp_path / "strange.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(shell: Shell, *arguments: str, code: int = 0) -> tuple[str, str]:
    shell.readouterr()
    assert run(list(arguments)) == code
    out, err = shell.readouterr()
    return out, err


def facts(shell: Shell, *arguments: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(told(shell, *arguments, "--json", "--quiet")[0])
    return answer


def test_schema_tells_kinds_ranges_and_warnings(here: Path, capsys: Shell) -> None:
    found = facts(capsys, "schema", "t.csv")
    columns = {column["name"]: column for column in found["columns"]}
    assert [c["kind"] for c in columns.values()] == [
        "categorical",
        "date",
        "categorical",
        columns["visits"]["kind"],
        "real",
    ]
    assert columns["day"]["range"] == ["2020-01-01", "2020-02-29"]
    assert columns["size"]["states"] == ["L", "M", "S"]
    assert "different value in almost every row" in columns["id"]["warning"]
    assert columns["size"]["warning"] is None
    out, err = told(capsys, "schema", "t.csv")
    assert "date  2020-01-01 to 2020-02-29" in out
    assert err == ""


def test_a_schema_is_written_edited_and_used(here: Path, capsys: Shell) -> None:
    told(capsys, "schema", "t.csv", "--drop", "id", "-o", "s.json")
    content = json.loads(Path("s.json").read_text())
    assert [column["name"] for column in content["columns"]] == ["day", "size", "visits", "height"]
    content["columns"][2]["kind"] = "count"
    content["columns"][1]["states"].append("XL")
    Path("s.json").write_text(json.dumps(content))
    told(capsys, "learn", "independent", "t.csv", "--schema", "s.json", "--drop", "id", "-o", "m.tract")
    schema = tr.load("m.tract").schema
    assert [v.kind for v in schema] == ["date", "categorical", "count", "real"]
    assert schema[1].states == ("L", "M", "S", "XL")


def test_kinds_parts_marks_and_dropped_columns_reach_the_learner(here: Path, capsys: Shell) -> None:
    options = [
        "--kinds",
        "visits=real,size=ordinal",
        "--drop",
        "id,height",
        "--na",
        "M",
        "--parts",
        "day=month,weekday",
    ]
    told(capsys, "learn", "independent", "t.csv", *options, "-o", "m.tract")
    schema = tr.load("m.tract").schema
    assert schema.names == ("day", "size", "visits", "day_month", "day_weekday")
    assert schema[1] == tr.Variable("size", "ordinal", ("L", "S"))
    assert schema[2].kind == "real"
    assert schema[4].states[:2] == ("Mon", "Tue")


def test_a_separator_may_be_named(here: Path, capsys: Shell) -> None:
    _, err = told(capsys, "schema", "t.csv", "--sep", ",", code=2)
    assert "cells instead of" in err
    Path("t.txt").write_text("a~b\n1~x\n")
    assert [c["name"] for c in facts(capsys, "schema", "t.txt", "--sep", "~")["columns"]] == ["a", "b"]
    Path("t.txt").write_text("a\tb\n1\tx\n")
    assert [c["name"] for c in facts(capsys, "schema", "t.txt", "--sep", "tab")["columns"]] == ["a", "b"]


def test_warnings_are_one_line_each_on_standard_error(here: Path, capsys: Shell) -> None:
    _, err = told(capsys, "learn", "independent", "t.csv", "-o", "m.tract", "--quiet")
    (line,) = err.splitlines()
    assert line.startswith("tractable: warning: column 'id' has a different value in almost every row")


def test_score_goes_on_with_other_columns_and_states(here: Path, capsys: Shell) -> None:
    told(capsys, "learn", "independent", "t.csv", "--drop", "id", "-o", "m.tract")
    found = facts(capsys, "score", "m.tract", "strange.csv")
    assert found["unseen_rows"] == 10
    assert np.isfinite(found["mean_ll"])
    out, err = told(capsys, "score", "m.tract", "strange.csv")
    assert "(10 rows, 10 with states never seen;" in out
    assert err.splitlines() == [
        "tractable: warning: 2 columns ('id', 'more') of the table are not in the schema: they are ignored",
        "tractable: warning: column 'height' is missing from the table: it is summed out",
        "tractable: warning: 10 rows have states that do not occur in the training rows (in 'size'):"
        " each such cell counts log(0.0082)",
    ]
    _, err = told(capsys, "score", "m.tract", "strange.csv", "--unseen", "error", code=2)
    assert "row 0: column 'size' has no state 'XL'" in err
    assert facts(capsys, "score", "m.tract", "t.csv")["unseen_rows"] == 0


def test_validation_rows_may_have_other_states(here: Path, capsys: Shell) -> None:
    learn = ["learn", "independent", "t.csv", "--drop", "id", "--valid", "strange.csv", "-o", "m.tract"]
    assert np.isfinite(facts(capsys, *learn)["valid_ll"])
    told(capsys, *learn, "--unseen", "error", code=2)
    told(capsys, *learn[:5], "--unseen", "error", "-o", "m.tract")
    assert tr.load("m.tract").unseen_share is None
    told(capsys, "score", "m.tract", "strange.csv", code=2)


def test_training_rows_without_any_weight_are_refused_before_anything_is_learned(
    here: Path, capsys: Shell
) -> None:
    Path("nothing.csv").write_text("a,b,w\nx,y,0\nu,z,0\n")
    places = sorted(Path().iterdir())
    errors = told(capsys, "learn", "chow-liu", "nothing.csv", "--weight", "w", code=2)[1]
    assert errors == "tractable: nothing.csv: the weights of the rows are all zero\n"
    assert sorted(Path().iterdir()) == places


@pytest.mark.parametrize("algorithm", ["chow-liu", "l1-markov"])
def test_validation_rows_that_tell_nothing_are_left_out_with_a_warning(
    here: Path, capsys: Shell, algorithm: str
) -> None:
    Path("plain.csv").write_text("a,b,w\n" + "x,y,1\nx,z,1\nu,z,1\n" * 10)
    Path("nothing.csv").write_text("a,b,w\nx,y,0\nu,z,0\n")
    tables = ["plain.csv", "--weight", "w", "--valid", "nothing.csv"]
    output, errors = told(capsys, "learn", algorithm, *tables, "--json")
    assert errors.count("the validation table is not used") == 1
    assert all(value is None for name, value in json.loads(output).items() if name.startswith("valid"))


def test_standard_input_is_a_table(here: Path, capsys: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = Path("t.csv").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw)))
    told(capsys, "learn", "independent", "-", "--drop", "id")
    assert Path("table.independent.tract").exists()


def test_answers_about_dates_are_dates(here: Path, capsys: Shell) -> None:
    told(capsys, "learn", "independent", "t.csv", "--drop", "id", "-o", "m.tract")
    out, _ = told(capsys, "query", "m.tract", "P(day >= 2020-01-31)")
    assert float(out.split("=")[-1]) == pytest.approx(0.5, abs=0.05)
    assert facts(capsys, "mpe", "m.tract")["row"]["day"].startswith("2020-")
    assert facts(capsys, "marginals", "m.tract")["marginals"]["day"]["mean"].startswith("2020-01-3")
    assert "days" in told(capsys, "marginals", "m.tract")[0]
    assert "\n2020-" in told(capsys, "sample", "m.tract", "3")[0]
    assert "2020-" in told(capsys, "impute", "m.tract", "strange.csv")[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--kinds", "visits"], "--kinds: 'visits' is not of the form NAME=VALUE"),
        (
            ["--kinds", "visits=many"],
            "column 'visits' cannot be 'many': a kind must be one of categorical, ordinal",
        ),
        (["--kinds", "visit=real"], "there is no column 'visit', which should be real"),
        (["--sep", "ab"], "the separator must be one character such as ;, not 'ab'"),
        (["--sep", "é"], "the separator must be one character"),
        (["--drop", "nome"], "there is no column 'nome' to leave out"),
        (["--parts", "day"], "--parts: 'day' is not of the form NAME=PART,PART"),
        (["--parts", "size=month"], "column 'size' does not hold dates"),
        (["--schema", "none.json"], "there is no file 'none.json'"),
    ],
)
def test_a_mistake_is_told_in_one_line(here: Path, capsys: Shell, options: list[str], words: str) -> None:
    _, err = told(capsys, "schema", "t.csv", *options, code=2)
    assert words in err
    assert err.count("\n") == 1


def test_three_intervals_are_told_with_their_error_in_one_line(here: Path, capsys: Shell) -> None:
    told(capsys, "learn", "gaussian-mixture", "t.csv", "--drop", "id", "-o", "m.tract", "-q")
    out, err = told(capsys, "query", "m.tract", "P(height > 1.7, visits > 28, day > 2020-01-10)")
    assert 0 < float(out.split("=")[-1]) < 1
    assert err.startswith("tractable: warning: intervals of three or more columns")
    assert err.count("\n") == 1


def test_a_bound_that_is_no_number_is_named(here: Path, capsys: Shell) -> None:
    told(capsys, "learn", "independent", "t.csv", "--drop", "id", "-o", "m.tract", "-q")
    for question in ("P(visits > nan)", "P(visits <= nan)", "P(height < nan)"):
        _, err = told(capsys, "query", "m.tract", question, code=2)
        assert "is not a number" in err
    assert told(capsys, "query", "m.tract", "P(visits < inf)")[0].split()[-1] == "1"


def test_a_most_probable_row_has_its_values_as_tables_do(here: Path, capsys: Shell) -> None:
    pd.DataFrame({"year": [2007] * 40 + list(range(1950, 2000)), "good": [True] * 90}).to_csv(
        "y.csv", index=False
    )
    told(capsys, "learn", "independent", "y.csv", "--kinds", "year=integer", "-o", "m.tract", "-q")
    cells = dict(line.split() for line in told(capsys, "mpe", "m.tract")[0].splitlines()[:2])
    assert cells["year"].isdigit()
    assert cells["good"].lower() == "true"


def test_a_table_in_another_encoding_is_read_with_a_warning_unless_it_is_named(
    here: Path, capsys: Shell
) -> None:
    Path("latin.csv").write_bytes("name,x\nJosé,1\nAna,2\n".encode("latin-1"))
    out, err = told(capsys, "schema", "latin.csv")
    assert "Ana, José" in out
    assert "the file is read as Windows-1252" in err
    assert told(capsys, "schema", "latin.csv", "--encoding", "latin-1") == (out, "")


def test_all_that_is_odd_about_a_column_is_told_by_schema(here: Path, capsys: Shell) -> None:
    Path("t.csv").write_text("x,y\n" + "".join(f"{i} kg,{i % 3}\n" for i in range(30)))
    (odd,) = (c["warning"] for c in facts(capsys, "schema", "t.csv")["columns"] if c["name"] == "x")
    assert "'0 kg' is 0" in odd
    assert "numbers the rows" in odd
