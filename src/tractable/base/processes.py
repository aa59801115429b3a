"""Parallel execution of tasks by processes that report to one watch, or by threads."""

from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures.process import BrokenProcessPool
from math import ceil
from typing import TypeVar

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from tractable.base.progress import InnerWatch, SharedWatch, Watch, share
from tractable.base.threads import default_threads, use_threads

Task = TypeVar("Task")
Result = TypeVar("Result")


class ProcessKilledError(MemoryError):
    """The error that a worker process was killed, usually for lack of memory."""


def run_in_processes(
    work: Callable[[Task, Watch], Result],
    tasks: Iterable[Task],
    watch: Watch,
    workers: int | None,
    *,
    most: int,
    part: Callable[[Task], str] | None = None,
) -> Generator[Result, None, None]:
    """The results of tasks as soon as they are there; if the watch is interrupted, not of all of them.

    `workers` are as many as joblib is configured to have, unless given; of threads each has its share, where
    there are `most` tasks. A process is sent what was saved of the `part` of its task alone.

    Raises:
        ProcessKilledError: if a process was killed.
    """
    threads = max(1, default_threads() // min(effective_n_jobs(workers), most))
    streams = get_active_backend()[0].supports_return_generator
    # Arrays go as they are: shared ones are read-only, and kernels would be compiled anew for those.
    parallel = Parallel(
        n_jobs=workers, return_as="generator_unordered" if streams else "list", pre_dispatch="n_jobs",
        batch_size=1, max_nbytes=None,
    )  # fmt: skip
    try:
        with share(watch) as shared:
            calls = (
                delayed(_run)(work, task, threads, shared.part_only(part(task)) if part else shared)
                for task in tasks
            )
            yield from parallel(calls)
    except BrokenProcessPool:
        if not watch.interrupted:  # Ctrl-C ends idle processes, too
            raise ProcessKilledError("a worker process was killed; fewer jobs need less memory") from None


def _run(work: Callable[[Task, Watch], Result], task: Task, threads: int, shared: SharedWatch) -> Result:
    with use_threads(threads), shared.connect() as watch:
        return work(task, watch)


def rounds_of(works: int) -> int:
    """How many works each thread does, one after the other."""
    return ceil(works / default_threads())


def side_by_side(
    works: Sequence[Callable[[Watch], Result]], watch: Watch, seconds: float | None = None
) -> list[Result]:
    """The result of each work, which has an even share of the time that is left, and at most `seconds`."""
    threads, rounds = default_threads(), rounds_of(len(works))

    def run(place: int) -> Result:
        left = watch.left
        if left is not None:
            left /= rounds - place // threads
            left = left if seconds is None else min(left, seconds)
        return works[place](InnerWatch(watch, seconds=left))

    parallel = Parallel(min(threads, max(1, len(works))), prefer="threads")
    return list(parallel(delayed(run)(place) for place in range(len(works))))
