"""The first minute: what a new machine compiles before its first answers, and how fast a command starts.

Every cold figure is measured in a process of its own with an empty cache of compiled functions, in CPU
seconds, so that it holds on a busy machine. «one line of numba» is what numba itself takes to compile a
function of one line in the same process: figures of other machines can be compared by it. Questions are asked
one after the other in one process, so that each is the cost of what it needs beyond those before it. For a
command, «compiling» is the CPU time of a first run less that of a second one. A warm command is run several
times, and the best time counts.

    python benchmarks/startup.py [--only questions,demo,learn,query,help] [--turns 5] [--json]
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

QUESTION = "P(lung_cancer=yes | smoker=yes)"
# Each line is run in one process after those before it: a name, and what is asked.
QUESTIONS = {
    "prob": "circuit.prob('lung_cancer=yes', given='smoker=yes')",
    "marginals": "circuit.marginals(given='smoker=yes')",
    "sample": "circuit.sample(10, given='smoker=yes', random_state=0)",
    "mpe": "circuit.mpe(given='smoker=yes')",
    "log_conditional": "circuit.log_conditional(rows, given=['smoker'])",
    "entropy": "circuit.entropy(method='sample')",
    "expectation": "circuit.expectation('visits', given='smoker=yes')",
    "impute": "circuit.impute(gaps, method='sample', random_state=0)",
}
TABLE = """
def table(rows, gap):
    sick, smoker = [i % 3 for i in range(rows)], [i // 2 % 3 % 2 for i in range(rows)]
    return {
        "lung_cancer": [None if i % gap == 1 else ("yes" if s == 2 else "no") for i, s in enumerate(sick)],
        "smoker": ["yes" if s else "no" for s in smoker],
        "visits": [(s + i // 7) % 4 for i, s in enumerate(smoker)],
        "age": ["old" if i % 5 < s + 1 else "young" for i, s in enumerate(sick)],
    }
"""
CHILD = (
    TABLE
    + """
import json, sys, time
import numba
import tractable as tr

@numba.njit
def one_line(x):
    return x + 1

found = {}
def clock(name, call):
    began = time.process_time()
    call()
    found[name] = time.process_time() - began

clock("one line of numba", lambda: one_line(1))
circuit, rows, gaps = tr.load(sys.argv[1]), table(20, 1000), table(20, 3)
for name, question in json.loads(sys.argv[2]).items():
    clock(name, lambda: eval(question))
print(json.dumps(found))
"""
)
MODEL = f"""
import sys
import tractable as tr
{TABLE}
tr.NaiveBayesMixture(random_state=0).fit(table(200, 1000)).circuit_.save(sys.argv[1])
"""


class Cost(NamedTuple):
    """What a process took."""

    cpu: float
    wall: float


class Place:
    """A folder with an empty cache of compiled functions, in which processes run."""

    def __init__(self, folder: Path, cache: str = "cache") -> None:
        self.folder = folder
        self._environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        self._environment |= {
            "NUMBA_CACHE_DIR": str(folder / cache),
            "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),  # compiled by the first process, as usual
        }

    def output(self, *arguments: str) -> str:
        """What a process of this Python prints."""
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=self._environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout

    def cost(self, *arguments: str) -> Cost:
        """What a command of the command line takes."""
        before, began = _children_seconds(), time.perf_counter()
        self.output("-m", "tractable", *arguments)
        return Cost(_children_seconds() - before, time.perf_counter() - began)


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure_questions(place: Place, turns: int) -> dict[str, float]:
    """CPU seconds of the first question of each kind, one after the other, without a cache."""
    place.output("-c", MODEL, "model.tract")
    empty = Place(place.folder, cache="empty")
    found: dict[str, float] = json.loads(empty.output("-c", CHILD, "model.tract", json.dumps(QUESTIONS)))
    return found


def measure_demo(place: Place, turns: int) -> dict[str, float]:
    """CPU seconds of `tractable demo`."""
    return _cold_and_warm(place, "demo", "--quiet")


def measure_learn(place: Place, turns: int) -> dict[str, float]:
    """CPU seconds of `tractable learn acmn` on a table of 300 rows and six columns."""
    rows = [[(i * (c + 3) // 7 + i // 5) % 2 for c in range(6)] for i in range(300)]
    lines = ["a,b,c,d,e,f", *(",".join("ny"[cell] for cell in row) for row in rows)]
    (place.folder / "table.csv").write_text("\n".join(lines))
    return _cold_and_warm(place, "learn", "acmn", "table.csv", "--quiet")


def _cold_and_warm(place: Place, *command: str) -> dict[str, float]:
    first, second = place.cost(*command), place.cost(*command)
    return {"first run": first.cpu, "second run": second.cpu, "compiling": first.cpu - second.cpu}


def measure_query(place: Place, turns: int) -> dict[str, float]:
    """Seconds of `tractable query` when everything is compiled."""
    place.output("-c", MODEL, "model.tract")
    return _best(place, turns, "query", "model.tract", QUESTION)


def measure_help(place: Place, turns: int) -> dict[str, float]:
    """Seconds of `tractable --help`."""
    return _best(place, turns, "--help")


def _best(place: Place, turns: int, *command: str) -> dict[str, float]:
    place.cost(*command)
    costs = [place.cost(*command) for _ in range(turns)]
    return {"wall": min(cost.wall for cost in costs), "CPU": min(cost.cpu for cost in costs)}


MEASURES: dict[str, tuple[str, Callable[[Place, int], dict[str, float]]]] = {
    "questions": ("first questions, nothing compiled, CPU seconds", measure_questions),
    "demo": ("tractable demo, nothing compiled, CPU seconds", measure_demo),
    "learn": ("tractable learn acmn, nothing compiled, CPU seconds", measure_learn),
    "query": ("tractable query, everything compiled, seconds", measure_query),
    "help": ("tractable --help, seconds", measure_help),
}


def show(report: dict[str, dict[str, float]]) -> str:
    """The figures as text."""
    lines = []
    for heading, figures in report.items():
        lines.append(heading)
        lines.extend(f"  {name:<24}{figure:8.2f}" for name, figure in figures.items())
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", default=",".join(MEASURES), help="what is measured; everything if not given"
    )
    parser.add_argument("--turns", type=int, default=5, help="runs of a warm command; 5 if not given")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    report = {}
    for name in options.only.split(","):
        heading, measure = MEASURES[name]
        with tempfile.TemporaryDirectory() as folder:
            report[heading] = measure(Place(Path(folder)), options.turns)
    print(json.dumps(report) if options.json else show(report))


if __name__ == "__main__":
    main()
