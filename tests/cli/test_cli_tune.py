"""`tractable tune`: what it prints and saves, and how it goes on after it was killed."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tractable as tr
from tractable.cli import run
from tractable.data import clinic, to_frame

Shell = pytest.CaptureFixture[str]
CALL = ["tune", "chow-liu", "train.csv", "--valid", "valid.csv"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two tables of the clinic."""
    monkeypatch.chdir(tmp_path)
    for name, rows, seed in (("train", 300, 0), ("valid", 100, 1)):
        to_frame(clinic(rows, seed), like="pandas").to_csv(f"{name}.csv", index=False)
    return tmp_path


def facts(shell: Shell, *arguments: str) -> dict[str, object]:
    """The JSON object that a search prints, and nothing else."""
    shell.readouterr()
    assert run([*CALL, *arguments, "--json", "--quiet"]) == 0
    out, err = shell.readouterr()
    assert (err, out.count("\n")) == ("", 1)
    answer: dict[str, object] = json.loads(out)
    return answer


def refusal(shell: Shell, *arguments: str) -> str:
    """The one line in which a command refuses."""
    shell.readouterr()
    assert run(list(arguments)) == 2
    out, err = shell.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err


def trials_of(study: Path) -> list[dict[str, object]]:
    """The trials in whole lines of a file."""
    whole = study.read_bytes().rpartition(b"\n")[0] if study.exists() else b""
    return [json.loads(line) for line in whole.splitlines()[1:]]


def without_time(trials: object) -> list[dict[str, object]]:
    assert isinstance(trials, list)
    return [{name: value for name, value in trial.items() if name != "seconds"} for trial in trials]


def test_the_answer_tells_of_the_best_model_and_of_all_trials(capsys: Shell) -> None:
    found = facts(capsys, "--trials", "4", "--seed", "3", "-o", "best.tract", "--set", "link_cost=2")
    circuit = tr.load("best.tract")
    valid = tr.read("valid.csv", schema=circuit.schema)
    assert found["valid_ll"] == pytest.approx(circuit.log_prob(valid).mean())
    assert (found["algorithm"], found["seed"], found["model"]) == ("chow-liu", 3, "best.tract")
    trials = found["trials"]
    assert isinstance(trials, list)
    assert [trial["number"] for trial in trials] == [0, 1, 2, 3]
    assert [list(trial["settings"]) for trial in trials] == [["smoothing"]] * 4
    assert trials[0]["settings"] == {"smoothing": 1.0}
    best = max(trials, key=lambda trial: float(trial["score"]))
    assert (found["best"], found["valid_ll"]) == (best["number"], pytest.approx(best["score"]))
    assert found["settings"] == best["settings"] | {"link_cost": 2.0, "max_states": 256}
    assert circuit.about["settings"] == found["settings"]


def test_the_best_model_is_what_learn_makes_of_its_settings(capsys: Shell) -> None:
    found = facts(capsys, "--trials", "6", "--seed", "1")
    settings = found["settings"]
    assert isinstance(settings, dict)
    assert found["model"] == "train.chow-liu.tract"
    typed = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    learn = ["learn", "chow-liu", "train.csv", "--valid", "valid.csv", "-o", "same.tract", "--seed", "1"]
    assert run([*learn, *typed, "--quiet"]) == 0
    same, best = (tr.load(name) for name in ("same.tract", "train.chow-liu.tract"))
    assert same.log_prob(clinic(50)).tolist() == best.log_prob(clinic(50)).tolist()


def test_a_table_of_trials_is_printed(capsys: Shell) -> None:
    assert run([*CALL, "--trials", "3"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0].split() == ["trial", "score", "seconds", "edges", "smoothing", "link_cost"]
    assert sum(line.startswith("*") for line in out.splitlines()) == 1
    assert "--set smoothing=" in out
    assert err == "model written to train.chow-liu.tract\n"


def test_mistakes_are_told_in_one_line(capsys: Shell) -> None:
    before = sorted(Path().iterdir())
    assert "--valid" in refusal(capsys, "tune", "chow-liu", "train.csv")
    assert "'chow-liu'" in refusal(capsys, "tune", "chowliu", "train.csv", "--valid", "valid.csv")
    assert "'smoothing'" in refusal(capsys, *CALL, "--set", "smothing=1")
    assert "'grid'" in refusal(capsys, *CALL, "--sampler", "grid")
    assert "'soon'" in refusal(capsys, *CALL, "--budget", "soon")
    assert "'no'" in refusal(capsys, *CALL, "--storage", "no/study.db")
    assert "--trials" in refusal(capsys, *CALL, "--trials", "0")
    assert "is not a study" in refusal(capsys, *CALL, "--storage", "train.csv")
    assert "nothing to search" in refusal(capsys, *CALL, "--set", "smoothing=1", "--set", "link_cost=1")
    assert sorted(Path().iterdir()) == before


def test_the_study_of_another_search_is_refused(capsys: Shell) -> None:
    facts(capsys, "--trials", "2", "--storage", "study.db")
    other = ["tune", "independent", "train.csv", "--valid", "valid.csv", "--storage", "study.db"]
    assert "another algorithm (chow-liu, not independent)" in refusal(capsys, *other)
    swapped = ["tune", "chow-liu", "train.csv", "--valid", "train.csv", "--storage", "study.db"]
    assert "other validation rows" in refusal(capsys, *swapped)


def kill_after(trials: int, *arguments: str) -> None:
    """Start a search as a process of its own and kill it when so many trials are written down."""
    command = [sys.executable, "-m", "tractable", *CALL, *arguments, "--trials", "100000"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while len(trials_of(Path("study.db"))) < trials and time.monotonic() < deadline:
            assert process.poll() is None
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_a_killed_search_leaves_its_best_model_and_goes_on(capsys: Shell, sampler: str) -> None:
    arguments = ["--storage", "study.db", "-o", "best.tract", "--sampler", sampler, "--seed", "5"]
    kill_after(4, *arguments)
    study = Path("study.db")
    done = trials_of(study)
    left = tr.load("best.tract")
    score = left.log_prob(tr.read("valid.csv", schema=left.schema)).mean()
    assert score >= max(float(str(trial["score"])) for trial in done) - 1e-12
    with study.open("ab") as file:  # as if the kill had come in the middle of a line
        file.write(b'{"number": 4, "settings": {"smoo')

    many = str(len(done) + 12)
    found = facts(capsys, *arguments, "--trials", many)
    at_once = facts(capsys, "--sampler", sampler, "--seed", "5", "--trials", many, "-o", "whole.tract")
    trials = found["trials"]
    assert isinstance(trials, list)
    assert trials[: len(done)] == done  # with their times: they are not done again
    assert without_time(trials) == without_time(at_once["trials"])
    assert trials_of(study) == trials
    assert found["valid_ll"] == at_once["valid_ll"]
    assert tr.load("best.tract").about["tuning"] == tr.load("whole.tract").about["tuning"]
