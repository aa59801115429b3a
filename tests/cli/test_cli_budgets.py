"""What happens after a model is written takes little time, can be interrupted, and leaves no checkpoint."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tractable as tr
from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.base.progress.wish import StopWish
from tractable.cli import run
from tractable.cli.reports import estimate_mean
from tractable.data import Schema, Table, Variable, clinic, to_frame
from tractable.learning.growing.search import SplitSearch
from tractable.model import Circuit

Shell = pytest.CaptureFixture[str]
ROWS = 3000
LEARN = ["learn", "independent", "train.csv", "-o", "m.tract"]


@pytest.fixture(autouse=True)
def _tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tractable.cli.summary.SECONDS", 0.3)
    to_frame(clinic(ROWS, 0), like="pandas").to_csv("train.csv", index=False)
    to_frame(clinic(200, 1), like="pandas").to_csv("valid.csv", index=False)


def slow_scores(monkeypatch: pytest.MonkeyPatch, during: Any = None) -> None:
    """Let a row take two milliseconds, as it does under large circuits; `during` is called each time."""
    quick = Circuit.log_prob

    def slow(circuit: Circuit, rows: Any, *more: Any, **named: Any) -> Floats:
        if during is not None:
            during()
        time.sleep(0.002 * len(rows))
        return quick(circuit, rows, *more, **named)

    monkeypatch.setattr(Circuit, "log_prob", slow)


def normal_rows(seed: int) -> tuple[Table, Floats]:
    """Weighted rows of one number, and the score of each: that number."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(2000, 1))
    schema = Schema((Variable("x", "real"),))
    weights = rng.integers(0, 4, size=2000).astype(np.float64)
    return Table(schema, values, weights), values[:, 0]


def test_the_mean_of_all_rows_is_taken_when_there_is_time() -> None:
    table, _ = normal_rows(0)
    for watch in (Watch(), Watch(seconds=100.0)):
        found = estimate_mean(lambda rows: rows.values[:, 0], lambda: 1.25, table, watch)
        assert found.facts("ll") == {"ll": 1.25}
        assert found.rows is table


class HastyWatch(Watch):
    """A watch that leaves time for some rows, and never for all."""

    @property
    def left(self) -> float:
        """Next to nothing."""
        return 1e-9


def test_a_sample_is_as_good_as_its_standard_error_says() -> None:
    """Over many tables, deviations in units of the standard error have a variance of about one."""
    deviations = []
    for seed in range(100):
        table, scores = normal_rows(seed)
        found = estimate_mean(lambda rows: rows.values[:, 0], lambda: np.nan, table, HastyWatch())
        facts = found.facts("ll")
        assert facts["ll_rows"] == 80
        truth = float(np.average(scores, weights=table.row_weights))
        deviations.append((facts["ll"] - truth) / facts["ll_std_error"])
    assert 0.6 < float(np.mean(np.square(deviations))) < 1.6


def test_the_model_is_there_before_it_is_scored_and_that_ends_soon(
    monkeypatch: pytest.MonkeyPatch, capsys: Shell
) -> None:
    def look() -> None:
        assert Path("m.tract").exists()
        said.append(capsys.readouterr().err)

    said: list[str] = []
    slow_scores(monkeypatch, look)
    begin = time.monotonic()
    assert run([*LEARN, "--json", "--valid", "valid.csv"]) == 0
    assert time.monotonic() - begin < 3.0, "all rows would take six seconds"
    assert said[0] == "model written to m.tract\n"
    facts = json.loads(capsys.readouterr().out)
    keys = ["algorithm", "seconds", "rows", "variables", "nodes", "edges", "train_ll", "valid_ll", "model"]
    assert set(keys) <= set(facts)
    assert facts["rows"] == ROWS
    assert 16 <= facts["train_ll_rows"] < ROWS / 2
    assert 0 < facts["train_ll_std_error"] < 1


def test_a_sample_is_told_in_words(monkeypatch: pytest.MonkeyPatch, capsys: Shell) -> None:
    slow_scores(monkeypatch)
    assert run(LEARN) == 0
    (line,) = [x for x in capsys.readouterr().out.splitlines() if x.startswith("train log-likelihood")]
    assert "random rows, ± 0." in line


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals of this kind")
def test_an_interrupt_of_the_summary_leaves_the_model_and_ends_well(
    monkeypatch: pytest.MonkeyPatch, capsys: Shell
) -> None:
    monkeypatch.setattr("tractable.cli.summary.SECONDS", 100.0)
    slow_scores(monkeypatch, lambda: os.kill(os.getpid(), signal.SIGINT))
    assert run([*LEARN, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["finished"]
    assert facts["train_ll_rows"] == 16
    assert tr.load("m.tract").about["finished"]


@pytest.mark.parametrize("command", ["tune", "parameters"])
def test_other_summaries_end_soon_too(command: str, monkeypatch: pytest.MonkeyPatch, capsys: Shell) -> None:
    assert run([*LEARN, "-q"]) == 0
    slow_scores(monkeypatch)
    capsys.readouterr()
    calls = {
        "tune": ["independent", "train.csv", "--valid", "valid.csv", "--trials", "1"],
        "parameters": ["m.tract", "train.csv", "--valid", "valid.csv", "--set", "iterations=1"],
    }
    begin = time.monotonic()
    assert run([command, *calls[command], "-o", "new.tract", "--json"]) == 0
    assert time.monotonic() - begin < 3.0
    out, err = capsys.readouterr()
    assert err == "model written to new.tract\n"
    assert json.loads(out)["train_ll_rows"] < ROWS / 2


@pytest.mark.parametrize(
    ("ends_by", "options", "stays"),
    [
        ("itself", [], False),
        ("itself", ["--keep-checkpoint"], True),
        ("budget", [], False),
        ("budget", ["--keep-checkpoint"], True),
        ("budget", ["--resume"], True),
        ("interrupt", [], True),
    ],
)
def test_a_checkpoint_goes_away_with_the_last_model(
    ends_by: str, options: list[str], stays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tractable.base.progress.checkpoints.CHECKPOINT_SECONDS", 0.0)
    advance, left = SplitSearch.advance, [4]

    def stopping(search: SplitSearch) -> bool:
        left[0] -= 1
        if left[0] == 0 and ends_by == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
        if left[0] == 0 and ends_by == "budget":
            monkeypatch.setattr(StopWish, "out_of_time", lambda self: True)
        return advance(search)

    monkeypatch.setattr(SplitSearch, "advance", stopping)
    call = ["learn", "acmn", "train.csv", "-o", "m.tract", "-q", "--budget", "1h", *options]
    assert run(call) == 0
    assert tr.load("m.tract").about["finished"] == (ends_by == "itself")
    assert Path("m.tract.checkpoint").exists() == stays


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals of this kind")
def test_a_second_interrupt_of_the_summary_ends_at_once_with_the_model(
    monkeypatch: pytest.MonkeyPatch, capsys: Shell
) -> None:
    def twice() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    slow_scores(monkeypatch, twice)
    assert run(LEARN) == 130
    assert capsys.readouterr().err == "model written to m.tract\ntractable: interrupted\n"
    assert tr.load("m.tract").about["finished"]
