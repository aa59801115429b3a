"""A user's mistake exits with 2 and one clear line that names the culprit; nothing half-written is left."""

import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NoReturn

import numpy as np
import pytest

import tractable as tr
from tractable.base.progress import Watch
from tractable.base.settings import Home, setting
from tractable.circuit import Builder
from tractable.cli import run
from tractable.cli.faults import TRACEBACK
from tractable.data import Schema, Table, Variable, clinic, to_frame
from tractable.learning.joint import LEARNERS, Learned, Learner
from tractable.model import Circuit

Shell = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with good tables, a good model, and much that is wrong."""
    place = tmp_path_factory.mktemp("faults")
    texts = {
        "good.csv": "sex,size\nf,1.5\nm,2.25\nf,1.75\n",
        "state.csv": "sex,size\nf,1.5\nx,2.25\n",
        "renamed.csv": "gender,length\nf,1.5\n",
        "empty.csv": "sex,size\n",
        "nothing.csv": "",
        "hollow.csv": "sex,size\nf,\nm,\n",
        "infinite.csv": "sex,size\nf,1.5\nm,inf\n",
        "ragged.csv": "sex,size\nf,1.5\nm\n",
        "weights.csv": "sex,size,n\nf,1.5,1\nm,2.5,nan\n",
        "negative.csv": "sex,size,n\nf,1.5,1\nm,2.5,-3\n",
        "good.data": "0,1\n1,1\n0,0\n",
        "state.data": "0,1\n1,2\n",
        "wide.data": "0,1,1\n",
        "text.data": "0,1\n0,b\n",
        "table.doc": "",
    }
    for name, text in texts.items():
        (place / name).write_text(text)
    for name in ("good.csv", "good.data"):
        assert run(["learn", "independent", str(place / name), "-o", str(place / f"{name}.tract"), "-q"]) == 0
    whole = (place / "good.csv.tract").read_bytes()
    (place / "short.tract").write_bytes(whole[: len(whole) // 2])
    (place / "noise.tract").write_bytes(b"no model at all")
    _impossible().save(place / "impossible.tract")
    _unsmooth().save(place / "unsmooth.json")
    return place


def _lamps() -> Schema:
    return Schema(tuple(Variable(name, "categorical", ("off", "on")) for name in ("left", "right")))


def _impossible() -> Circuit:
    """Both lamps are always on."""
    builder = Builder(_lamps())
    builder.product([builder.indicator(0, 1), builder.indicator(1, 1)])
    return Circuit(builder.freeze())


def _unsmooth() -> Circuit:
    builder = Builder(_lamps())
    builder.sum([builder.indicator(0, 1), builder.indicator(1, 1)], [0.0, 0.0])
    return Circuit(builder.freeze())


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


def refusal(shell: Shell, *arguments: str) -> str:
    """The one line in which a command refuses."""
    shell.readouterr()
    assert run(list(arguments)) == 2
    out, err = shell.readouterr()
    assert out == ""
    assert err.startswith("tractable: ")
    assert err.count("\n") == 1
    return err


LEARN = ["learn", "independent"]
REFUSED = {
    "an unknown state": (
        ["score", "good.csv.tract", "state.csv", "--unseen", "error"],
        ["state.csv", "'sex'", "'x'"],
    ),
    "an unknown state while learning": (
        [*LEARN, "good.csv", "--valid", "state.csv", "--unseen", "error"],
        ["'sex'", "'x'"],
    ),
    "columns with other names": (["score", "good.csv.tract", "renamed.csv"], ["renamed.csv", "'size'"]),
    "no column to complete": (["impute", "good.csv.tract", "renamed.csv"], ["renamed.csv", "'length'"]),
    "a table without rows": ([*LEARN, "empty.csv"], ["empty.csv", "no rows"]),
    "a file without anything": ([*LEARN, "nothing.csv"], ["nothing.csv"]),
    "a column without any value": ([*LEARN, "hollow.csv"], ["hollow.csv", "'size'"]),
    "an infinite value": ([*LEARN, "infinite.csv"], ["infinite.csv", "'size'", "1", "inf"]),
    "an infinite value while scoring": (["score", "good.csv.tract", "infinite.csv"], ["'size'", "inf"]),
    "a line that is too short": ([*LEARN, "ragged.csv"], ["ragged.csv", "line 3"]),
    "a weight that is no number": ([*LEARN, "weights.csv", "--weight", "n"], ["weights.csv", "row 1", "nan"]),
    "a weight below zero": ([*LEARN, "negative.csv", "--weight", "n"], ["negative.csv", "row 1", "-3"]),
    "a weight column that is not there": ([*LEARN, "good.csv", "--weight", "w"], ["'w'"]),
    "a number that is no state": (
        ["score", "good.data.tract", "state.data", "--unseen", "error"],
        ["state.data", "'x1'", "2"],
    ),
    "too many cells a line": (["score", "good.data.tract", "wide.data"], ["wide.data", "3 columns"]),
    "text among integers": ([*LEARN, "text.data"], ["text.data", "line 2", "'b'"]),
    "a table of an unknown kind": ([*LEARN, "table.doc"], ["table.doc", ".csv"]),
    "a table that is not there": ([*LEARN, "none.csv"], ["none.csv"]),
    "a model that is not there": (["info", "none.tract"], ["none.tract"]),
    "a model that is cut short": (["info", "short.tract"], ["short.tract", "cut short"]),
    "a file that is no model": (["check", "noise.tract"], ["noise.tract"]),
    "a model of an unknown kind": (["info", "good.csv"], ["good.csv", "'.csv'"]),
    "evidence of probability zero": (
        ["query", "impossible.tract", "P(left=on | right=off)"],
        ["P(left=on | right=off)", "probability zero"],
    ),
    "impossible evidence of a sample": (
        ["sample", "impossible.tract", "3", "-g", "left=off"],
        ["probability zero"],
    ),
    "impossible evidence of marginals": (
        ["marginals", "impossible.tract", "-g", "left=off"],
        ["probability zero"],
    ),
    "impossible evidence of a completion": (
        ["mpe", "impossible.tract", "-g", "left=off"],
        ["probability zero"],
    ),
    "an unknown column in a question": (["query", "good.csv.tract", "P(sx=f)"], ["'sx'"]),
    "an unknown state in a question": (["query", "good.csv.tract", "P(sex=q)"], ["'sex'", "'q'"]),
    "not a query": (["query", "good.csv.tract", "sex=f"], ["sex=f"]),
    "an unknown column to condition on": (["score", "good.csv.tract", "good.csv", "-g", "sx"], ["'sx'"]),
    "a mistyped command": (["scroe", "a", "b"], ["'scroe'", "'score'"]),
    "a mistyped algorithm": (["learn", "chowliu", "good.csv"], ["'chowliu'", "'chow-liu'"]),
    "an algorithm unlike any": (["learn", "zzz", "good.csv"], ["'zzz'", "chow-liu", "naive-bayes"]),
    "a mistyped setting": ([*LEARN, "good.csv", "--set", "smothing=1"], ["'smothing'", "'smoothing'"]),
    "a setting of the wrong type": ([*LEARN, "good.csv", "--set", "smoothing=much"], ["smoothing", "'much'"]),
    "a mistyped method": (
        ["parameters", "good.csv.tract", "good.csv", "--method", "ccp"],
        ["'ccp'", "'cccp'"],
    ),
    "a setting without a value": ([*LEARN, "good.csv", "--set", "smoothing"], ["'smoothing'"]),
    "a mistyped option": (["score", "good.csv.tract", "good.csv", "--wieght", "n"], ["--wieght", "--weight"]),
    "a missing argument": (["score", "good.csv.tract"], ["DATA"]),
    "not a duration": ([*LEARN, "good.csv", "--budget", "soon"], ["'soon'"]),
    "a duration of nothing": ([*LEARN, "good.csv", "--budget", "0s"], ["'0s'"]),
    "an unknown way to fill": (["impute", "good.csv.tract", "good.csv", "--method", "magic"], ["magic"]),
    "fewer rows than none": (["sample", "good.csv.tract", "-3"], ["-3"]),
    "a folder that is not there": ([*LEARN, "good.csv", "-o", "no/m.tract"], ["'no'"]),
    "a model named like a table": ([*LEARN, "good.csv", "-o", "m.csv"], ["m.csv", ".tract"]),
    "a table named like a model": (["sample", "good.csv.tract", "3", "-o", "m.tract"], ["m.tract", ".csv"]),
    "a picture of an unknown kind": (["plot", "good.csv.tract", "m.gif"], ["m.gif", ".svg"]),
    "a curve of an unknown kind": (
        ["parameters", "good.csv.tract", "good.csv", "--plot", "c.gif"],
        ["c.gif", ".svg"],
    ),
    "a curve in a folder that is not there": (
        ["parameters", "good.csv.tract", "good.csv", "--plot", "no/c.svg"],
        ["'no'"],
    ),
    "a seed beyond all numbers": (
        ["sample", "good.csv.tract", "1", "--seed", "9" * 30],
        ["--seed", "18446744073709551615"],
    ),
    "features of a model without": (["info", "good.csv.tract", "--features"], ["no features"]),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_a_mistake_is_told_in_one_line(here: Path, capsys: Shell, fault: str) -> None:
    arguments, culprits = REFUSED[fault]
    before = {file: file.stat().st_mtime_ns for file in here.iterdir()}
    line = refusal(capsys, *arguments)
    for culprit in culprits:
        assert culprit in line
    assert {file: file.stat().st_mtime_ns for file in here.iterdir()} == before


@pytest.mark.parametrize("fault", ["an unknown state", "a model that is cut short", "a mistyped algorithm"])
def test_a_mistake_leaves_no_json(here: Path, capsys: Shell, fault: str) -> None:
    refusal(capsys, *REFUSED[fault][0], "--json")


def test_a_circuit_that_is_no_distribution_fails_its_check(here: Path, capsys: Shell) -> None:
    assert run(["check", "unsmooth.json"]) == 1
    assert "not a distribution: sum 2" in capsys.readouterr().out


def test_rows_that_are_impossible_are_counted(here: Path, capsys: Shell) -> None:
    Path("off.csv").write_text("left,right\non,on\noff,on\n")
    assert run(["score", "impossible.tract", "off.csv", "--json"]) == 0
    assert '"impossible_rows": 1, "mean_ll": null' in capsys.readouterr().out


def test_running_out_of_memory_is_told(here: Path, capsys: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhaust(*_: object) -> NoReturn:
        raise MemoryError

    monkeypatch.setattr("tractable.model.load", exhaust)
    assert "memory" in refusal(capsys, "info", "good.csv.tract")


def test_a_curve_without_matplotlib_names_the_extra(
    here: Path, capsys: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    line = refusal(capsys, "parameters", "good.csv.tract", "good.csv", "--plot", "c.svg")
    assert "tractable[plot]" in line
    assert not Path("c.svg").exists()


def test_those_who_look_for_a_bug_see_the_whole_error(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TRACEBACK, "1")
    with pytest.raises(ValueError, match=r"short\.tract"):
        run(["info", "short.tract"])


@dataclass(frozen=True, kw_only=True)
class Patient(Learner):
    """Works until it is told to stop; is told so at once, `signals` times."""

    name: ClassVar[str] = "patient"
    title: ClassVar[str] = "patience"

    signals: int = setting(1, "How often it is told to stop.")

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        for _ in range(self.signals):
            os.kill(os.getpid(), signal.SIGINT)
        while not watch.should_stop():
            pass
        return Learned(LEARNERS["independent"]().learn(table, rng))


@pytest.fixture
def patient(here: Path) -> Iterator[None]:
    """A table that is read without trouble, and a learner that can be interrupted."""
    LEARNERS.register("patient", Home(__name__, "Patient"))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    to_frame(clinic(50), like="pandas").to_csv("clinic.csv", index=False)
    yield
    LEARNERS.unregister("patient")
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("patient")
def test_an_interrupt_saves_the_best_model_so_far(capsys: Shell) -> None:
    assert run(["learn", "patient", "clinic.csv", "-o", "best.tract"]) == 0
    out, err = capsys.readouterr()
    assert "best model so far" in out
    assert "tractable: interrupted" in err
    assert tr.load("best.tract").about["finished"] is False


@pytest.mark.usefixtures("patient")
def test_a_second_interrupt_gives_up(capsys: Shell) -> None:
    assert run(["learn", "patient", "clinic.csv", "-o", "none.tract", "--set", "signals=2"]) == 130
    assert not Path("none.tract").exists()
    assert capsys.readouterr().err.endswith("tractable: interrupted\n")


@pytest.mark.usefixtures("patient")
def test_a_budget_ends_the_work(capsys: Shell) -> None:
    arguments = [
        "learn",
        "patient",
        "clinic.csv",
        "-o",
        "budget.tract",
        "--set",
        "signals=0",
        "--budget",
        "0.1s",
    ]
    assert run([*arguments, "--json"]) == 0
    assert '"finished": false' in capsys.readouterr().out
