"""Files are the same for the same circuit, keep tiny numbers, and are not lost when a disk is full."""

import errno
import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO, TextIOWrapper
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from documents import ABOUT, small_network
from mixtures import mixture

import tractable as tr
from tractable.circuit import Builder
from tractable.cli import run
from tractable.cli.output import prepare_output
from tractable.data import Schema, Variable
from tractable.formats import Document, read_circuit, write_circuit
from tractable.model import Circuit

COMMAND = [sys.executable, "-m", "tractable"]
Shell = pytest.CaptureFixture[str]


@pytest.mark.parametrize("make", [mixture, small_network])
def test_the_same_circuit_is_the_same_bytes(make: Any, tmp_path: Path) -> None:
    path = tmp_path / "c.tract"
    write_circuit(Document(make(), ABOUT), path)
    first = path.read_bytes()
    for _ in range(20):  # the library below puts its metadata in a random order
        write_circuit(Document(make(), ABOUT), path)
        assert path.read_bytes() == first
    write_circuit(read_circuit(path), path)
    assert path.read_bytes() == first


UAI = "MARKOV\n2\n2 2\n2\n1 0\n2 0 1\n\n2\n 1e-300 2.5e-300\n\n4\n 1.0 3e-320 7.25e-400 1e-30000\n"


def test_a_uai_file_keeps_the_digits_of_tiny_numbers(tmp_path: Path) -> None:
    path = tmp_path / "n.uai"
    path.write_text(UAI)
    circuit = tr.load(path)
    tens = log(10)
    factor = [-300 * tens, log(2.5) - 300 * tens]
    table = [[0.0, log(3) - 320 * tens], [log(7.25) - 400 * tens, -30000 * tens]]
    logs = np.array([[factor[i] + table[i][j] for j in (0, 1)] for i in (0, 1)])
    logs -= np.logaddexp.reduce(logs, axis=None)
    found = np.array([[circuit.log_prob({"x0": i, "x1": j}) for j in (0, 1)] for i in (0, 1)])
    np.testing.assert_allclose(found, logs, rtol=1e-12)
    circuit.save(tmp_path / "again.uai")
    again = tr.load(tmp_path / "again.uai")
    np.testing.assert_allclose(
        [[again.log_prob({"x0": i, "x1": j}) for j in (0, 1)] for i in (0, 1)], logs, rtol=1e-12
    )


def test_a_bayesian_uai_file_and_an_ac_file_keep_tiny_numbers(tmp_path: Path) -> None:
    (tmp_path / "b.uai").write_text("BAYES\n1\n2\n1\n1 0\n\n2\n 1.0 2e-400\n")
    assert tr.load(tmp_path / "b.uai").log_prob({"x0": 1}) == pytest.approx(log(2) - 400 * log(10), rel=1e-12)
    (tmp_path / "c.ac").write_text("(2)\nv 0 0\nv 0 1\nn 2e-400\n* 1 2\n+ 0 3\nEOF\n")
    assert tr.load(tmp_path / "c.ac").log_prob({"x0": 1}) == pytest.approx(log(2) - 400 * log(10), rel=1e-12)


def test_a_bn_file_keeps_tiny_numbers_and_refuses_huge_ones(tmp_path: Path) -> None:
    table = "2,2\nBN {\nv0 {\ntable {\n0.0 +v0_0\n-900.5 +v0_1\n}\n}\n"
    tree = "v1 {\ntree { (v0_0 (v1_0 -800.25 0.0) (v1_0 0.0 -1e4)) }\n}\n}\n"
    path = tmp_path / "n.bn"
    path.write_text(table + tree)
    circuit = tr.load(path)
    assert circuit.log_prob({"x0": 1}) == pytest.approx(-900.5, rel=1e-12)
    assert circuit.log_prob_of({"x1": 0}, {"x0": 0}) == pytest.approx(-800.25, rel=1e-12)
    assert circuit.log_prob_of({"x1": 1}, {"x0": 1}) == pytest.approx(-1e4, rel=1e-12)
    for text in (table.replace("-900.5", "900.5") + tree, table + tree.replace("-800.25", "800.25")):
        path.write_text(text)
        with pytest.raises(ValueError, match="inf is not a probability"):
            tr.load(path)


# ---- letters that a terminal lacks ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def umlauts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("umlauts")
    builder = Builder(Schema((Variable("Größe", "categorical", ("groß", "klein", "日本")),)))
    builder.leaf("categorical", 0, np.log([0.25, 0.25, 0.5]))
    Circuit(builder.freeze()).save(place / "m.tract")
    (place / "t.csv").write_text("Größe\ngroß\n日本\n", encoding="utf-8")
    return place


def ascii_terminal(place: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    return subprocess.run([*COMMAND, *arguments], cwd=place, env=env, capture_output=True, check=False)


def printed_in_ascii(*call: str) -> bytes:
    """What a command prints on a terminal that knows ASCII alone."""
    printed = TextIOWrapper(BytesIO(), encoding="ascii")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", printed)
        prepare_output()
        assert run(list(call)) == 0
        printed.flush()
        return printed.buffer.getvalue()


@pytest.mark.parametrize(
    "call",
    [
        ["marginals", "m.tract"],
        ["mpe", "m.tract"],
        ["info", "m.tract"],
        ["query", "m.tract", "P(Größe=日本)"],
        ["schema", "t.csv"],
    ],
)
def test_letters_that_a_terminal_lacks_are_escaped(
    umlauts: Path, call: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(umlauts)
    assert rb"\u65e5\u672c" in printed_in_ascii(*call)
    as_json = printed_in_ascii(*call, "--json")
    assert as_json.isascii()
    assert "日本" in json.dumps(json.loads(as_json), ensure_ascii=False)


def test_a_table_in_a_pipe_is_utf_8_whatever_the_terminal(
    umlauts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(umlauts)
    assert "日本" in printed_in_ascii("sample", "m.tract", "20", "--seed", "1").decode("utf-8")


def test_a_whole_process_on_such_a_terminal_prints_an_answer_and_a_mistake(umlauts: Path) -> None:
    done = ascii_terminal(umlauts, "marginals", "m.tract")
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"\u65e5\u672c: 0.5" in done.stdout
    done = ascii_terminal(umlauts, "query", "m.tract", "P(Größe=ü)")
    assert done.returncode == 2
    assert done.stderr.isascii()
    assert done.stderr.count(b"\n") == 1


# ---- places that cannot be written at the end ----------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("full").mkdir()
    Path("t.csv").write_text("a,b\n" + "x,1\ny,2\nx,2\n" * 5)
    assert run(["learn", "independent", "t.csv", "-o", "m.tract", "-q"]) == 0
    return tmp_path


@contextmanager
def full_disk(*folders: str) -> Iterator[None]:
    """Nothing can be written in folders whose paths have one of these parts."""
    real = os.open

    def refuse(path: Any, *rest: Any, **more: Any) -> int:
        if any(part in str(path) for part in folders) and rest and rest[0] & os.O_CREAT:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return real(path, *rest, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", refuse)
        yield


CALLS = {
    "full/c.tract": ["learn", "chow-liu", "t.csv", "-o", "full/c.tract"],
    "full/n.mn": ["learn", "gssl", "t.csv", "-o", "full/n.mn"],
    "full/r.tract": ["learn", "chow-liu", "t.csv", "-o", "full/r.tract", "--resume"],
    "full/p.json": ["parameters", "m.tract", "t.csv", "-o", "full/p.json"],
    "full/t.tract": [
        "tune",
        "independent",
        "t.csv",
        "--valid",
        "t.csv",
        "--trials",
        "2",
        "-o",
        "full/t.tract",
    ],
}


@pytest.mark.parametrize("place", CALLS)
def test_a_full_disk_at_the_end_of_learning_loses_no_model(here: Path, capsys: Shell, place: str) -> None:
    capsys.readouterr()
    with full_disk("full/"):
        assert run(CALLS[place]) == 2
    err = capsys.readouterr().err
    told = re.search(r"saved as (\S+)", err)
    assert told is not None
    assert err.count("\n") == 1
    assert place in err
    assert Path(told[1]).name == Path(place).name
    assert not Path(place).exists()
    if place.endswith(".mn"):
        tr.MarkovNetwork.load(told[1])
    else:
        assert tr.load(told[1]).prob("a=x") > 0.5


def test_where_nothing_can_be_written_the_model_is_kept_nowhere_and_that_is_told(
    here: Path, capsys: Shell
) -> None:
    capsys.readouterr()
    with full_disk("/"):
        assert run(["learn", "independent", "t.csv", "-o", "full/c.tract"]) == 2
    assert capsys.readouterr().err == "tractable: full/c.tract: No space left on device\n"
    assert sorted(p.name for p in here.iterdir()) == ["full", "m.tract", "t.csv"]


def test_a_limit_on_file_sizes_is_told_in_one_line(here: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "learn", "independent", "t.csv", "-o", "new.tract"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )
    assert done.returncode == 2
    assert "new.tract: File too large" in done.stderr
    assert sorted(p.name for p in here.iterdir()) == ["full", "m.tract", "t.csv"]


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_answer_that_does_not_fit_the_disk_is_told_in_one_line(here: Path, unbuffered: str) -> None:
    with Path("rows.csv").open("wb") as rows:
        done = subprocess.run(
            [*COMMAND, "sample", "m.tract", "5000"],
            stdout=rows,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
        )
    assert (done.returncode, done.stderr) == (2, "tractable: standard output: File too large\n")


# ---- Ctrl-C --------------------------------------------------------------------------------------------

STOP_AT = """
import os, signal, sys, threading
threading.Timer(float(sys.argv.pop(1)), lambda: os.kill(os.getpid(), signal.SIGINT)).start()
from tractable.__main__ import main
main()
"""


@pytest.mark.parametrize("seconds", ["0.02", "0.5"])
def test_ctrl_c_says_interrupted_from_the_beginning(here: Path, seconds: str) -> None:
    call = [sys.executable, "-c", STOP_AT, seconds, "sample", "m.tract", "90000000", "-o", "s.csv"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "tractable: interrupted\n")
    assert not list(here.glob("s.csv")) + list(here.glob(".*"))
