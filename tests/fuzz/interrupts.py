"""Every command, interrupted at a random moment: it stops soon, says so, and damages nothing."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import tractable
from fuzz.cases import Case
from tractable.data import clinic, to_frame
from tractable.learning.conditional import CONDITIONAL
from tractable.learning.joint import LEARNERS
from tractable.learning.networks import NETWORK_LEARNERS
from tractable.model import load

START = (sys.executable, "-m", "tractable")
PACKAGE = Path(tractable.__file__).parent
MODEL = "m.tract"
QUESTIONS = {
    "query": ["P(cough=some)", "P(age=40-60 | cough=some)"],
    "marginals": ["--given", "cough=some"],
    "mpe": [],
    "sample": ["20000"],
    "score": ["train.csv"],
    "impute": ["train.csv"],
    "info": [],
    "check": [],
}
LONGEST = 4.0  # seconds before the interrupt
INTERRUPTED = 130  # the exit code
SLOWEST = 15.0  # seconds that stopping may take: three on an idle machine with compiled kernels


def run_interrupts(case: Case) -> str:
    """Interrupt one command once."""
    to_frame(clinic(int(case.rng.integers(50, 3000)), 0), like="pandas").to_csv("train.csv", index=False)
    to_frame(clinic(200, 1), like="pandas").to_csv("valid.csv", index=False)
    name, call = _command(case.rng)
    code, err, seconds = _interrupt(case.rng, call)
    if _is_before_main(err):
        return "(starting)"
    assert "Traceback" not in err, err
    assert code in (0, INTERRUPTED, -signal.SIGINT), (code, err)  # the last: Python was about to exit
    assert code != INTERRUPTED or err.rstrip().endswith("tractable: interrupted"), err
    assert seconds < SLOWEST, f"{' '.join(call)} went on for {seconds:.1f} seconds"
    assert not list(case.folder.glob(".*.part")), "a half-written file is left"
    for made in Path().glob("new.*"):
        if made.suffix in {".tract", ".spn"}:
            load(made)  # whole, or it raises
    return name


def _is_before_main(err: str) -> bool:
    """Whether Python was still loading the package when the interrupt came: nothing else of it is told of."""
    frames = re.findall(r'File "(.+?)", line', err)
    inside = {Path(frame).name for frame in frames if PACKAGE in Path(frame).parents}
    return "Traceback" in err and ", in main\n" not in err and inside <= {"__init__.py", "__main__.py"}


def _command(rng: np.random.Generator) -> tuple[str, list[str]]:
    """A random command, and its words."""
    kind = str(rng.choice(["learn", "conditional", "network", "question", "question", "tune", "bench"]))
    if kind == "learn":
        name = str(rng.choice(list(LEARNERS)))
        return name, ["learn", name, "train.csv", "--valid", "valid.csv", "-o", "new.tract"]
    if kind == "conditional":
        name = str(rng.choice(list(CONDITIONAL)))
        targets = "cough" if CONDITIONAL[name].single_target else "cough,smoker"
        return name, ["learn", name, "train.csv", "--targets", targets, "-o", "new.tract"]
    if kind == "network":
        name = str(rng.choice(list(NETWORK_LEARNERS)))
        return name, ["learn", name, "train.csv", "--drop", "age", "-o", "new.mn"]
    if kind == "tune":
        words = [
            *("tune", "learnspn", "train.csv", "--valid", "valid.csv", "--trials", "4", "--storage", "study"),
        ]  # fmt: skip
        return kind, [*words, "-o", "new.tract"]
    if kind == "bench":
        return kind, ["bench", "--learners", "chow-liu,learnspn", "--queries", "20"]
    learn = [*START, "learn", "chow-liu", "train.csv", "-o", MODEL, "-q"]
    subprocess.run(learn, capture_output=True, check=True, timeout=280)
    name = str(rng.choice(list(QUESTIONS)))
    return name, [name, MODEL, *QUESTIONS[name]]


def _interrupt(rng: np.random.Generator, call: list[str]) -> tuple[int, str, float]:
    """The exit code of a process that is interrupted, its messages, and how long it took to stop."""
    with subprocess.Popen(
        [*START, *call], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        time.sleep(float(rng.uniform(0.02, LONGEST)))
        sent = time.monotonic()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=280)
    return process.returncode, err, time.monotonic() - sent
