"""Runs in processes of their own, so that memory and seconds are theirs, and a crash is theirs alone."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO, TypeAlias

from tractable.cli.benchmark.runs import Job, Run

COMMAND = (sys.executable, "-P", "-m", "tractable.cli.benchmark.child")
# One core each: CPU seconds then mean the same for every learner, and runs side by side stay out of each
# other's way. These libraries read their variables when they are loaded.
ONE_CORE = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)

Runner: TypeAlias = Callable[[Job], Run]


class Children:
    """The child processes of a benchmark; `stop` ends those that are still alive."""

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        self._command = command
        self._alive: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def run(self, job: Job) -> Run:
        """The result of a job that a child process did, or how the child ended."""
        with TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
            process = self._start(errors)
            try:
                return _result(process, job, errors)
            finally:
                with self._lock:
                    self._alive.discard(process)
                process.kill()  # nothing, where it has ended
                process.wait()

    def stop(self) -> None:
        """End all children, and start no more."""
        with self._lock:
            self._stopped = True
            for process in self._alive:
                process.kill()

    def _start(self, errors: IO[str]) -> subprocess.Popen[str]:
        with self._lock:
            if self._stopped:
                raise KeyboardInterrupt
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                encoding="utf-8",
                env=os.environ | ONE_CORE,
                # Ctrl-C is for the parent, which ends its children. Windows has its own word for that.
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
                start_new_session=os.name == "posix",
            )
            self._alive.add(process)
            return process


def _result(process: subprocess.Popen[str], job: Job, errors: IO[str]) -> Run:
    assert process.stdin is not None
    assert process.stdout is not None
    text, code = "", 0
    # A child that has ended already breaks the pipe, when it is written to and once more when it is closed;
    # Windows has another name for that than BrokenPipeError.
    with suppress(OSError), process.stdin, process.stdout:
        with suppress(OSError):
            process.stdin.write(job.to_json() + "\n")
            process.stdin.flush()
        text = process.stdout.read()  # its standard input stays open: a child whose parent is gone ends
        code = process.wait()
    if code == 0:
        return Run.from_json(text)
    errors.seek(0)
    return job.result(None, _ending(code, errors.read()))


def _ending(code: int, errors: str) -> str:
    """How a process ended, in words."""
    if code < 0:
        name = _signal_name(-code)
        return "killed, most likely for want of memory" if name == "SIGKILL" else f"crashed ({name})"
    last = errors.strip().splitlines()[-1:] or ["no word"]
    return f"ended with exit code {code}: {last[0]}"


def _signal_name(number: int) -> str:
    """The name of a signal on this system, or its number where it has none."""
    names = {int(one): one.name for one in signal.Signals}
    return names.get(number, f"signal {number}")


def run_all(
    jobs: Sequence[Job], at_once: int, runner: Runner | None = None
) -> Generator[tuple[Job, Run], None, None]:
    """Each job with its result, as soon as it is there; `at_once` jobs run at the same time."""
    children = Children()
    with ThreadPoolExecutor(at_once) as pool:
        futures = {pool.submit(runner or children.run, job): job for job in jobs}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:  # also when whoever asks has heard enough, or was interrupted
            pool.shutdown(wait=False, cancel_futures=True)
            children.stop()
