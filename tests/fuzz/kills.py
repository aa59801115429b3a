"""Processes that are killed at random moments: no half-written file, and the same call goes on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from fuzz.cases import Case
from tractable.data import clinic, to_frame
from tractable.model import load

# Checkpoints every moment, so that kills meet them.
START = (
    "import sys, tractable.base.progress.checkpoints as store; store.CHECKPOINT_SECONDS = 0.05;"
    "from tractable.__main__ import main; main()"
)
CALLS = {
    "learn": [
        *("learn", "acmn", "train.csv", "-o", "m.tract", "--resume", "--jobs", "1"),
        *("--set", "max_edges=4000"),
    ],
    "spn": ["learn", "independent", "train.csv", "-o", "m.spn", "--drop", "age,cough"],
    "tune": [
        *("tune", "independent", "train.csv", "--valid", "valid.csv", "--trials", "6", "--storage", "study"),
        *("-o", "m.tract"),
    ],
}  # fmt: skip
LONGEST = 4.0  # seconds before a kill
STARTING = 1.0  # seconds in which Python may not listen to signals yet, on a busy machine


def run_kills(case: Case) -> str:
    """Kill one process once or twice, then let it end."""
    rows = int(case.rng.integers(200, 1500))
    to_frame(clinic(rows, 0), like="pandas").to_csv("train.csv", index=False)
    to_frame(clinic(200, 1), like="pandas").to_csv("valid.csv", index=False)
    name = str(case.rng.choice(list(CALLS)))
    call = [*CALLS[name], "-q"]
    place = Path(call[call.index("-o") + 1])
    for _ in range(int(case.rng.integers(1, 3))):
        how = signal.SIGKILL if case.rng.random() < 0.6 else signal.SIGINT
        _kill_once(case.rng, call, how)
        if place.exists():
            load(place)  # whole, or it raises
        if how == signal.SIGINT:
            assert not list(case.folder.glob(".*.part")), "an interrupted process left a half-written file"
    done = subprocess.run(_process(call), capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr
    about = load(place).about
    assert about.get("finished", True) is True, "the last run did not finish"
    assert not list(case.folder.glob("*.checkpoint")), "a checkpoint is left of work that is done"
    return name


def _kill_once(rng: np.random.Generator, call: list[str], how: signal.Signals) -> None:
    with subprocess.Popen(
        _process(call), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        delay = float(rng.uniform(0.05, LONGEST))
        time.sleep(delay)
        if process.poll() is None:
            os.killpg(process.pid, how)
        _, err = process.communicate(timeout=280)
    assert "Traceback" not in err, err
    if how == signal.SIGINT:
        # Before Python listens, and when it is about to exit, the signal kills it without a word.
        silent = delay < STARTING or Path(call[call.index("-o") + 1]).exists()
        allowed = (0, 130, -signal.SIGINT) if silent else (0, 130)
        assert process.returncode in allowed, (process.returncode, delay, err)
        assert process.returncode != 130 or err.rstrip().endswith("tractable: interrupted"), err


def _process(call: list[str]) -> list[str]:
    return [sys.executable, "-c", START, *call]
