"""Where commands write: never over what is no file, and to standard output by the name `-`."""

import json
import os
import socket
from pathlib import Path

import pytest

import tractable as tr
from tractable.cli import run

Shell = pytest.CaptureFixture[str]
TABLE = "left,right\noff,on\non,on\non,off\noff,off\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("lamps.csv").write_text(TABLE)
    assert run(["learn", "independent", "lamps.csv", "-o", "m.tract", "-q"]) == 0
    return tmp_path


LEARN = ["learn", "independent", "lamps.csv"]
TUNE = ["tune", "independent", "lamps.csv", "--valid", "lamps.csv", "--trials", "1"]
PLACES = {
    "x.tract": [*LEARN, "-o", "x.tract"],
    "x.mn": ["learn", "gssl", "lamps.csv", "-o", "x.mn"],
    "y.tract.checkpoint": [*LEARN, "-o", "y.tract", "--resume"],
    "z.tract": [*TUNE, "-o", "z.tract"],
    "study": [*TUNE, "-o", "z.tract", "--storage", "study"],
    "p.tract": ["parameters", "m.tract", "lamps.csv", "-o", "p.tract"],
    "c.svg": ["parameters", "m.tract", "lamps.csv", "-o", "q.tract", "--plot", "c.svg"],
    "s.csv": ["sample", "m.tract", "2", "-o", "s.csv"],
    "i.parquet": ["impute", "m.tract", "lamps.csv", "-o", "i.parquet"],
    "l.csv": ["classify", "m.tract", "lamps.csv", "-t", "left", "-o", "l.csv"],
    "columns.json": ["schema", "lamps.csv", "-o", "columns.json"],
    "m.json": ["convert", "m.tract", "m.json"],
    "m.spn": ["convert", "m.tract", "m.spn"],
    "m.svg": ["plot", "m.tract", "m.svg"],
    "runs.jsonl": ["bench", "--results", "runs.jsonl", "--show"],
    "page.md": ["bench", "--results", "no.jsonl", "--show", "--report", "page.md"],
    "page.svg": ["bench", "--results", "no.jsonl", "--show", "--report", "page.md"],
    "demo": ["demo", "-o", "demo"],
}


def make(kind: str, path: Path) -> None:
    if kind == "socket":
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(path))
    elif kind == "link":
        os.mkfifo("pipe")
        path.symlink_to("pipe")
    else:
        os.mkfifo(path)


def state(folder: Path) -> dict[str, tuple[int, ...]]:
    """What stands in a folder; not when it was last looked at."""
    found = {file.name: file.lstat() for file in folder.iterdir()}
    return {name: (one.st_mode, one.st_ino, one.st_size, one.st_mtime_ns) for name, one in found.items()}


@pytest.mark.parametrize("kind", ["pipe", "link", "socket"])
@pytest.mark.parametrize("place", PLACES)
def test_no_command_writes_over_what_is_no_file(here: Path, capsys: Shell, place: str, kind: str) -> None:
    make(kind, Path(place))
    before = state(here)
    assert run(PLACES[place]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert place in err
    assert state(here) == before


def test_a_model_that_is_a_folder_can_be_written_again(here: Path) -> None:
    assert run(["convert", "m.tract", "m.spn", "-q"]) == 0
    assert run(["convert", "m.tract", "m.spn", "-q"]) == 0
    Path("m.spn/notes.txt").write_text("mine")
    assert run(["convert", "m.tract", "m.spn", "-q"]) == 2
    assert Path("m.spn/notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    "call",
    [
        ["sample", "m.tract", "3"],
        ["impute", "m.tract", "lamps.csv", "-q"],
        ["classify", "m.tract", "lamps.csv", "-t", "left", "-q"],
    ],
)
def test_a_dash_is_standard_output_for_tables(here: Path, capsys: Shell, call: list[str]) -> None:
    assert run(call) == 0
    plain = capsys.readouterr().out
    assert run([*call, "-o", "-"]) == 0
    assert capsys.readouterr().out == plain
    assert plain.startswith('"left"')
    assert not Path("-").exists()


def test_a_dash_prints_a_schema_that_can_be_read_again(here: Path, capsys: Shell) -> None:
    assert run(["schema", "lamps.csv", "-o", "-"]) == 0
    Path("columns.json").write_text(capsys.readouterr().out)
    assert run([*LEARN, "-o", "again.tract", "--schema", "columns.json", "-q"]) == 0


def test_a_dash_prints_a_model_and_its_picture(here: Path, capsys: Shell) -> None:
    assert run(["convert", "m.tract", "-"]) == 0
    printed = capsys.readouterr().out
    json.loads(printed)
    Path("printed.json").write_text(printed)
    assert tr.load("printed.json").prob("left=on") == tr.load("m.tract").prob("left=on")
    assert run(["plot", "m.tract", "-"]) == 0
    assert capsys.readouterr().out.startswith("<svg")
    assert run(["convert", "m.tract", "-", "--json"]) == 2


@pytest.mark.parametrize("call", [LEARN, ["learn", "gssl", "lamps.csv"], TUNE])
def test_a_learned_model_goes_to_a_file(here: Path, capsys: Shell, call: list[str]) -> None:
    assert run([*call, "-o", "-"]) == 2
    assert "name a file" in capsys.readouterr().err
    assert not Path("-").exists()
