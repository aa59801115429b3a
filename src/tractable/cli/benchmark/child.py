"""The program of a child process: it reads a job from standard input, measures it and writes the result.

    python -m tractable.cli.benchmark.child

The result goes to the standard output that the process was started with; whatever else is printed goes to
standard error. The process ends when its standard input does, so that it never outlives its parent.
"""

import os
import sys
import threading

from joblib import parallel_config

from tractable.base.threads import use_threads
from tractable.cli.benchmark.measure import measure
from tractable.cli.benchmark.runs import Job, Run


def outcome(job: Job) -> Run:
    """The result of a job that is measured in this process, or why there is none."""
    try:
        with use_threads(1), parallel_config(n_jobs=1):
            return job.result(measure(job))
    except MemoryError:
        return job.result(None, "out of memory")
    except Exception as fault:  # whatever goes wrong in a learner is a result of the benchmark
        return job.result(None, f"{type(fault).__name__}: {' '.join(str(fault).split())}")


def main() -> None:
    """Measure the job on the first line of standard input."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        job = Job.from_json(sys.stdin.readline())
        threading.Thread(target=_end_with_parent, daemon=True).start()
        out.write(outcome(job).to_json())


def _end_with_parent() -> None:
    while os.read(0, 1):  # not sys.stdin, whose lock must be free when the process ends
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
