"""Two versions of the library beside each other: one process each, which take turns at every question.

A child process imports one version, and answers each line of its input, the name of a question, with the CPU
seconds of one call. Both stay alive, so that their turns meet the same noise of a busy machine.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

LEAST = 0.02  # seconds that one turn takes: a short question is asked several times


def serve(question: Callable[[str], Callable[[], object]]) -> None:
    """Answer the names of questions on standard input by the CPU seconds of a call."""
    for line in sys.stdin:
        call = question(line.strip())
        call()
        print(_seconds(call), flush=True)


def _seconds(call: Callable[[], object]) -> float:
    calls, began, used = 0, time.process_time(), 0.0
    while used < LEAST:
        call()
        calls += 1
        used = time.process_time() - began
    return used / calls


def ratios(script: str, other: Path, names: Iterable[str], turns: int) -> dict[str, float]:
    """The time of this version over that of another one, whose source is in `other`, for each question.

    The best of several turns of each version counts.
    """
    here = Path(__file__).parents[1] / "src"
    children = [_child(script, source) for source in (here, other)]
    answer = {}
    for name in names:
        best = [min(times) for times in zip(*([_ask(c, name) for c in children] for _ in range(turns)))]  # noqa: B905
        answer[name] = best[0] / best[1]
        print(f"{name:<60}{1e3 * best[0]:10.2f}{1e3 * best[1]:10.2f}{answer[name]:8.2f}", flush=True)
    for child in children:
        child.communicate()
    return answer


def _child(script: str, source: Path) -> "subprocess.Popen[str]":
    settings = {**os.environ, "PYTHONPATH": str(source), "TRACTABLE_THREADS": "1"}
    command = [sys.executable, script, "--serve"]
    return subprocess.Popen(command, env=settings, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _ask(child: "subprocess.Popen[str]", name: str) -> float:
    if child.stdin is None or child.stdout is None:
        raise RuntimeError("the process has no input or output")
    child.stdin.write(f"{name}\n")
    child.stdin.flush()
    return float(child.stdout.readline())
