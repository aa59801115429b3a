"""`learn --resume` goes on where the same call was broken off."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tractable as tr
from tractable.base.progress import StoredCheckpoints, Watch
from tractable.base.progress.codec import state_to_bytes
from tractable.circuit.states import graph_state
from tractable.cli import run
from tractable.data import clinic, to_frame
from tractable.learning.growing.search import SplitSearch
from tractable.learning.joint import LEARNERS
from tractable.learning.training import CheckpointFile, CheckpointWarning

ABOUT: dict[str, Any] = {
    "learner": "acmn",
    "settings": {"l1": 1.0, "variance": 1.0},
    "seed": 0,
    "version": "1",
}


def test_a_checkpoint_is_that_of_the_same_call_and_whole(tmp_path: Path) -> None:
    model = tmp_path / "m.tract"
    checkpoints = CheckpointFile(model, ABOUT)
    assert checkpoints.read() is None
    checkpoints.write(b"where we\nare")
    assert checkpoints.read() == b"where we\nare"
    with pytest.raises(ValueError, match=r"m\.tract\.checkpoint belongs to another call, with the seed 0: "):
        CheckpointFile(model, ABOUT | {"seed": 1}).read()
    other = ABOUT | {"settings": {"l1": 2.0, "variance": 1.0}, "version": "0"}
    with pytest.raises(ValueError, match=r"with other settings: l1=1\.0, version 1 of this library: "):
        CheckpointFile(model, other).read()
    assert CheckpointFile(model, other, is_wanted=False).read() is None
    file = tmp_path / "m.tract.checkpoint"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ValueError, match="is damaged: remove it to start over"):
        checkpoints.read()
    checkpoints.remove()
    checkpoints.remove()
    assert not file.exists()


def test_a_run_that_does_not_resume_leaves_the_checkpoint_of_another_call(tmp_path: Path) -> None:
    model = tmp_path / "m.tract"
    CheckpointFile(model, ABOUT).write(b"hours of work")
    other = CheckpointFile(model, ABOUT | {"seed": 1}, is_wanted=False)
    other.remove()  # it was finished before it had anything to write
    assert CheckpointFile(model, ABOUT).read() == b"hours of work"
    other.write(b"more")
    other.remove()
    assert CheckpointFile(model, ABOUT).read() is None


def test_a_full_disk_is_told_once_and_learning_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("tractable.learning.training.checkpoint.write_bytes", fail)
    checkpoints = CheckpointFile(tmp_path / "m.tract", ABOUT)
    watch = Watch(checkpoints=StoredCheckpoints(checkpoints, 0.0))
    with pytest.warns(CheckpointWarning, match=r"No space left on device\); learning goes on") as told:
        graph = LEARNERS["naive-bayes"]().learn(clinic(50, 0), np.random.default_rng(0), watch=watch)
    assert len(told) == 1
    assert graph.nodes > 0


def test_what_a_checkpoint_holds_is_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tractable.base.progress.checkpoints.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.chdir(tmp_path)
    to_frame(clinic(400, 0), like="pandas").to_csv("train.csv", index=False)
    call = ["learn", "acmn", "train.csv", "-o", "m.tract", "--resume", "--json", "--quiet"]
    advance = SplitSearch.advance
    began: list[int] = []

    def counted(search: SplitSearch) -> bool:
        began.append(search.splits)
        if stop and len(began) > 3:
            os.kill(os.getpid(), signal.SIGINT)
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


def test_checkpoints_of_another_call_and_damaged_ones_are_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    to_frame(clinic(200, 0), like="pandas").to_csv("train.csv", index=False)
    call = ["learn", "acmn", "train.csv", "-o", "m.tract", "--json", "--quiet"]
    for bad in (b"something else altogether", b"", b"{}\n"):
        Path("m.tract.checkpoint").write_bytes(bad)
        assert run([*call, "--resume"]) == 2
        said = capsys.readouterr().err
        assert said == "tractable: m.tract.checkpoint is damaged: remove it to start over\n"
    CheckpointFile(Path("m.tract"), ABOUT).write(b"of another call")
    assert run([*call, "--resume"]) == 2
    assert ", version 1 of this library, another table: repeat that call" in capsys.readouterr().err
    assert run(call) == 0  # who does not resume begins anew
    assert json.loads(capsys.readouterr().out)["finished"]


def test_a_checkpoint_of_another_layout_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tractable.base.progress.checkpoints.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.chdir(tmp_path)
    to_frame(clinic(200, 0), like="pandas").to_csv("train.csv", index=False)
    call = ["learn", "acmn", "train.csv", "-o", "m.tract", "--keep-checkpoint", "--quiet"]
    with monkeypatch.context() as patch:
        patch.setattr("tractable.learning.training.checkpoint.LAYOUT", 1)
        assert run(call) == 0
    Path("m.tract").unlink()
    capsys.readouterr()
    assert run([*call, "--resume"]) == 2
    assert capsys.readouterr().err == (
        "tractable: m.tract.checkpoint belongs to another call, with a layout of another version of this"
        " library: repeat that call, or remove the file to start over\n"
    )


KILLED = """
import os, sys
import tractable.base.progress.checkpoints as checkpoints
from tractable.cli import run
from tractable.learning.training import CheckpointFile

checkpoints.CHECKPOINT_SECONDS = 0.0
write, left = CheckpointFile.write, int(sys.argv.pop(1))

def killed(file, state):
    global left
    write(file, state)
    left -= 1
    if left == 0:
        os.kill(os.getpid(), 9)

CheckpointFile.write = killed
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.parametrize("learner", ["acmn", "learnspn"])
def test_a_killed_process_goes_on_to_the_same_model(learner: str, tmp_path: Path) -> None:
    to_frame(clinic(300, 0), like="pandas").to_csv(tmp_path / "train.csv", index=False)
    to_frame(clinic(100, 1), like="pandas").to_csv(tmp_path / "valid.csv", index=False)
    tables = ["learn", learner, "train.csv", "--valid", "valid.csv", "--quiet", "--json"]

    def call(kill_at: int, *more: str) -> int:
        done = [sys.executable, "-c", KILLED, str(kill_at), *tables, *more]
        return subprocess.run(done, cwd=tmp_path, capture_output=True, check=False).returncode

    assert call(0, "-o", "whole.tract") == 0
    assert not (tmp_path / "whole.tract.checkpoint").exists()
    assert call(3, "-o", "m.tract") == -signal.SIGKILL  # checkpoints are there without --resume, too
    assert call(4, "-o", "m.tract", "--resume") == -signal.SIGKILL
    assert not (tmp_path / "m.tract").exists()
    assert call(0, "-o", "m.tract", "--resume") == 0
    whole, resumed = (tr.load(tmp_path / name) for name in ("whole.tract", "m.tract"))
    assert state_to_bytes(graph_state(resumed.graph)) == state_to_bytes(graph_state(whole.graph))
    assert resumed.about == whole.about
    assert not (tmp_path / "m.tract.checkpoint").exists()
