"""Members learned one after the other in this process, or side by side in others."""

from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing

from joblib import Parallel, delayed, effective_n_jobs

from tractable.base.progress import Watch, share
from tractable.base.threads import default_threads
from tractable.learning.ensembles.auto.members import Member, Task


def worker_count() -> int:
    """The number of members that are learned side by side: as many as there are threads."""
    return 1 if effective_n_jobs(-1) == 1 else default_threads()


def run_tasks(tasks: Sequence[Task], workers: int, watch: Watch) -> Iterator[Member]:
    """The members as soon as they are there.

    Those that do not begin before the end are left out, and those whose process was killed.
    """
    waiting = (task for task in tasks if not watch.should_stop())
    if workers == 1 or len(tasks) == 1:
        yield from (task.run(watch) for task in waiting)
        return
    # Arrays go as they are: shared ones are read-only, and kernels would be compiled anew for those.
    parallel = Parallel(
        n_jobs=min(workers, len(tasks)), return_as="generator_unordered", pre_dispatch="n_jobs",
        batch_size=1, max_nbytes=None,
    )  # fmt: skip
    threads = max(1, default_threads() // min(workers, len(tasks)))
    try:
        with share(watch) as shared:
            work = (
                delayed(Task.run_elsewhere)(task, threads, shared.part_only(task.candidate.name))
                for task in waiting
            )
            with closing(parallel(work)) as members:
                yield from members
    except BrokenProcessPool:  # Ctrl-C ends idle processes; else the memory was not enough, and others remain
        return
