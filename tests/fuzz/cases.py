"""How cases are made, counted, kept when they fail and run again."""

import os
import shutil
import signal
import tempfile
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import NoReturn, TypeAlias

import numpy as np

SECONDS_A_CASE = 300  # after which a case counts as a hang; the first may have to compile kernels
MORE_MEMORY = 1 << 32  # bytes of addresses that a small file may take; threads and libraries take some

Run: TypeAlias = Callable[["Case"], str]  # runs a case; returns in a few words what came of it


@dataclass(frozen=True)
class Case:
    """One random case: a stream of random numbers, and a folder of its own, which is the current one."""

    rng: np.random.Generator
    folder: Path


@dataclass
class Tally:
    """What came of the cases of one kind."""

    kind: str
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[Path] = field(default_factory=list)

    def __str__(self) -> str:
        told = ", ".join(f"{number:,} {outcome}" for outcome, number in sorted(self.outcomes.items()))
        total = sum(self.outcomes.values()) + len(self.failures)
        return f"{self.kind}: {total:,} cases, {len(self.failures)} failed ({told})"


def run_one(run: Run, tally: Tally, seed: int, number: int, keep: Path) -> None:
    """Run the case of a number, and count it."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as made, _inside(Path(made)) as folder:
        try:
            with _time_limit():
                tally.outcomes[run(Case(np.random.default_rng([seed, number]), folder))] += 1
        except KeyboardInterrupt:
            raise
        except BaseException:  # whatever it is, it is a failure of the case
            tally.failures.append(_keep(folder, keep, tally.kind, seed, number))


def _keep(folder: Path, keep: Path, kind: str, seed: int, number: int) -> Path:
    """Keep the files of a case that failed, what went wrong, and how to run it again."""
    place = keep / f"{kind}-{seed}-{number}"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder, place, ignore=_what_cannot_be_copied)
    again = f"make fuzz REPLAY={kind}:{seed}:{number}"
    (place / "failure.txt").write_text(
        f"{again}\n\n{traceback.format_exc()}", encoding="utf-8", errors="replace"
    )
    return place


def _what_cannot_be_copied(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if not (Path(folder, name).is_file() or Path(folder, name).is_dir())]


@contextmanager
def _inside(folder: Path) -> Iterator[Path]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield folder
    finally:
        os.chdir(before)


@contextmanager
def memory_limit() -> Iterator[None]:
    """Let a block take some more memory than there is in use, and no more, where the system can tell."""
    status = Path("/proc/self/statm")
    if not status.exists():
        yield
        return
    import resource

    used = int(status.read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MORE_MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextmanager
def _time_limit() -> Iterator[None]:
    """Raise TimeoutError in a block that takes too long, where signals can be had."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGALRM"):
        yield
        return

    def give_up(number: int, frame: FrameType | None) -> NoReturn:
        raise TimeoutError(f"the case takes more than {SECONDS_A_CASE} seconds")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS_A_CASE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
