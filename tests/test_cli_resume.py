"""`learn --resume` goes on where the same call was broken off."""

import json
from pathlib import Path

import pytest

from tractable.cli import run
from tractable.data import clinic, to_frame
from tractable.growing.search import SplitSearch
from tractable.training import CheckpointFile

ABOUT = {"learner": "acmn", "seed": 0}


def test_a_checkpoint_is_that_of_the_same_call_and_whole(tmp_path: Path) -> None:
    model = tmp_path / "m.tract"
    checkpoints = CheckpointFile(model, ABOUT)
    assert checkpoints.read() is None
    checkpoints.write(b"where we are")
    assert checkpoints.read() == b"where we are"
    assert CheckpointFile(model, ABOUT | {"seed": 1}).read() is None
    file = tmp_path / "m.tract.checkpoint"
    file.write_bytes(file.read_bytes()[:-1])
    assert checkpoints.read() is None
    checkpoints.remove()
    checkpoints.remove()
    assert not file.exists()


def test_what_a_checkpoint_holds_is_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tractable.progress.watch.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.chdir(tmp_path)
    to_frame(clinic(400, 0), like="pandas").to_csv("train.csv", index=False)
    call = ["learn", "acmn", "train.csv", "-o", "m.tract", "--resume", "--json", "--quiet"]
    advance = SplitSearch.advance
    began: list[int] = []

    def counted(search: SplitSearch) -> bool:
        began.append(search.splits)
        search.watch.interrupted = stop and len(began) > 3
        return advance(search)

    monkeypatch.setattr(SplitSearch, "advance", counted)
    stop = True
    assert run(call) == 0
    last = began[-1]
    began.clear()
    stop = False
    assert run(call) == 0
    assert began[0] == last  # three splits are there already
    assert not Path("m.tract.checkpoint").exists()
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["finished"]


def test_checkpoints_of_another_call_and_damaged_ones_are_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    to_frame(clinic(200, 0), like="pandas").to_csv("train.csv", index=False)
    call = ["learn", "acmn", "train.csv", "-o", "m.tract", "--resume", "--json", "--quiet"]
    Path("m.tract.checkpoint").write_bytes(b"something else altogether")
    assert run(call) == 0
    assert json.loads(capsys.readouterr().out)["finished"]
