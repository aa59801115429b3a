"""The command line with conditional models: every command answers about targets given inputs."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import tractable as tr
from tractable.cli import run
from tractable.data import clinic, to_frame

Shell = pytest.CaptureFixture[str]
INPUTS = ["age", "smoker"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables of the clinic and a model that is conditional on two of its columns."""
    place = tmp_path_factory.mktemp("conditional")
    for name, rows, seed in (("train", 300, 0), ("valid", 100, 1)):
        frame = to_frame(clinic(rows, seed), like="pandas")
        frame.to_csv(place / f"{name}.csv", index=False)
    frame[INPUTS].head(3).to_csv(place / "inputs.csv", index=False)
    files = [str(place / name) for name in ("train.csv", "joint.tract", "m.tract")]
    assert run(["learn", "chow-liu", files[0], "-o", files[1], "--quiet"]) == 0
    assert run(["convert", files[1], files[2], "--inputs", ",".join(INPUTS), "--quiet"]) == 0
    return place


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


def told(shell: Shell, *arguments: str) -> str:
    shell.readouterr()
    code = run(list(arguments))
    out, err = shell.readouterr()
    assert code == 0, err
    return out


def refused(shell: Shell, *arguments: str) -> str:
    shell.readouterr()
    assert run(list(arguments)) == 2
    return shell.readouterr().err


def inputs_of(circuit: tr.Circuit) -> str:
    return ", ".join(f"{name}={circuit.schema[circuit.schema.column(name)].states[0]}" for name in INPUTS)


def test_score_is_of_targets_given_inputs(here: Path, capsys: Shell) -> None:
    joint = tr.load("joint.tract")
    expected = joint.log_conditional(tr.read("valid.csv", schema=joint.schema), INPUTS).mean()
    found = json.loads(told(capsys, "score", "m.tract", "valid.csv", "--json"))
    assert found["mean_ll"] == pytest.approx(expected)
    assert (found["targets"], found["inputs"]) == (len(joint.schema) - 2, 2)
    assert "given 2 inputs" in told(capsys, "score", "m.tract", "valid.csv")


def test_query_marginals_mpe_and_sample_take_inputs_as_given(here: Path, capsys: Shell) -> None:
    joint, given = tr.load("joint.tract"), inputs_of(tr.load("m.tract"))
    target = next(v for v in joint.schema if v.name not in INPUTS)
    question = f"P({target.name}={target.states[0]} | {given})"
    found = json.loads(told(capsys, "query", "m.tract", question, "--json"))["answers"][0]
    assert found["probability"] == pytest.approx(joint.prob(f"{target.name}={target.states[0]}", given))
    posteriors = json.loads(told(capsys, "marginals", "m.tract", "--given", given, "--json"))["marginals"]
    assert not set(INPUTS) & set(posteriors)
    expected = list(joint.marginals(given)[target.name].values())
    assert posteriors[target.name]["probabilities"] == pytest.approx(expected)
    best = json.loads(told(capsys, "mpe", "m.tract", "--given", given, "--json"))
    assert best["log_prob"] == pytest.approx(joint.mpe(given).log_prob - joint.log_prob(given))
    drawn = list(csv.DictReader(io.StringIO(told(capsys, "sample", "m.tract", "5", "--given", given))))
    assert len(drawn) == 5
    assert len({row["age"] for row in drawn}) == 1


def test_a_table_of_inputs_has_an_answer_for_each_row(here: Path, capsys: Shell) -> None:
    joint = tr.load("joint.tract")
    rows = list(csv.DictReader(io.StringIO(told(capsys, "marginals", "m.tract", "--rows", "inputs.csv"))))
    assert len(rows) == 3
    inputs = list(csv.DictReader(io.StringIO(Path("inputs.csv").read_text())))
    for row, given in zip(rows, inputs, strict=True):
        found = joint.marginals(given)
        for variable in joint.schema:
            if variable.name not in INPUTS and variable.is_categorical:
                for state, p in found[variable.name].items():
                    assert float(row[f"{variable.name}={state}"]) == pytest.approx(p)
    drawn = list(csv.DictReader(io.StringIO(told(capsys, "sample", "m.tract", "4", "--rows", "inputs.csv"))))
    assert len(drawn) == 12
    assert [row["age"] for row in drawn] == np.repeat([given["age"] for given in inputs], 4).tolist()
    filled = list(csv.DictReader(io.StringIO(told(capsys, "impute", "m.tract", "inputs.csv"))))
    assert all(cell for row in filled for cell in row.values())


def test_info_check_and_plot_know_conditional_models(here: Path, capsys: Shell) -> None:
    assert "conditionally valid" in told(capsys, "info", "m.tract")
    assert "(input)" in told(capsys, "info", "m.tract")
    assert "The circuit is a conditional distribution." in told(capsys, "check", "m.tract")
    told(capsys, "plot", "m.tract", "m.svg", "--quiet")
    assert Path("m.svg").stat().st_size


def test_an_input_without_a_value_is_told_in_one_line(here: Path, capsys: Shell) -> None:
    for command in (
        ["marginals", "m.tract"],
        ["mpe", "m.tract"],
        ["sample", "m.tract", "2"],
        ["sample", "m.tract", "2", "--given", inputs_of(tr.load("m.tract")).split(",")[1]],
    ):
        fault = refused(capsys, *command)
        assert fault.count("\n") == 1
        assert "column 'age' is an input of the circuit: it must have a value" in fault
    state = tr.load("m.tract").schema[0].states[0]
    assert "has no distribution" in refused(capsys, "query", "m.tract", f"P(age={state})")


def test_tune_searches_settings_of_conditional_models(here: Path, capsys: Shell, tmp_path: Path) -> None:
    best = str(tmp_path / "best.tract")
    call = ["tune", "mctbn", "train.csv", "--valid", "valid.csv", "--trials", "3", "-o", best]
    found = json.loads(told(capsys, *call, "--targets", "bronchitis,cough", "--json", "--quiet"))
    scores = [trial["score"] for trial in found["trials"]]
    assert found["valid_ll"] == pytest.approx(max(scores))
    circuit = tr.load(best)
    targets = [circuit.schema[column].name for column in circuit.schema.targets]
    assert sorted(targets) == ["bronchitis", "cough"]
    rows = tr.read("valid.csv", schema=circuit.schema)
    assert circuit.log_prob(rows).mean() == pytest.approx(max(scores))
    assert "--targets" in refused(capsys, *call)
    assert "--targets does not apply" in refused(
        capsys, "tune", "chow-liu", "train.csv", "--valid", "valid.csv", "--targets", "cough"
    )
