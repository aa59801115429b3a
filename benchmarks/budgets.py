"""Whether every learner keeps its time budget, and how long it does not listen to Ctrl-C.

    python benchmarks/budgets.py --budget 3 --learners gaussian-mixture,auto

Each learner has two tables that would take it far longer than the budget: one of many correlated numeric columns
and one of many categorical columns. It learns twice: until the budget is used up, and until it is interrupted after
that time. The table tells by how many seconds each goes on, of wall-clock and of CPU time, and the longest
stretch in which it did not ask whether to stop, with the line that was asked from at its end.
"""

import argparse
import json
import os
import signal
import threading
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

from tractable.approximate import NETWORK_LEARNERS, NetworkLearner
from tractable.conditional import CONDITIONAL, ConditionalLearner
from tractable.data import Schema, Table, Variable, discrete_schema
from tractable.learners import LEARNERS, Learner
from tractable.progress import Watch
from tractable.threads import use_threads

AnyLearner = Learner | ConditionalLearner | NetworkLearner


@dataclass(frozen=True, kw_only=True)
class Overshoot:
    """What one run of a learner took beyond its time."""

    learner: str
    table: str
    how: str  # it ended: by its budget or by an interrupt
    budget: float
    seconds: float
    cpu: float
    stretch: float  # the longest in which nobody asked
    where: str  # the line that asked at the end of that stretch
    finished: bool = False  # before its time was over
    fault: str = ""


class AskedWatch(Watch):
    """A watch that notes the longest time between two questions whether to stop."""

    asked_at = 0.0
    stretch = 0.0
    where = ""

    @property
    def interrupted(self) -> bool:
        """Whether somebody has interrupted the work."""
        self.note()
        return self._interrupted

    @interrupted.setter
    def interrupted(self, value: bool) -> None:
        self._interrupted = value

    def note(self, what: str = "") -> None:
        """Note how long ago the last question was."""
        now = time.monotonic()
        if self.asked_at and now - self.asked_at > self.stretch:
            self.stretch, self.where = now - self.asked_at, what or _caller()
        self.asked_at = now


def _caller() -> str:
    """The innermost line that is no part of the watch."""
    for frame in reversed(traceback.extract_stack()[:-2]):
        if "progress" not in frame.filename and "budgets.py" not in frame.filename:
            return f"{'/'.join(frame.filename.split('/')[-2:])}:{frame.lineno}"
    return ""


def numeric_table(rows: int, columns: int) -> Table:
    """Numeric columns that depend on each other, of five clusters."""
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(5, columns, columns)) / columns**0.5
    centre = 2 * rng.normal(size=(5, columns))
    label = rng.integers(5, size=rows)
    values = centre[label]
    for group, matrix in enumerate(mixing):
        values[label == group] += rng.normal(size=(int((label == group).sum()), columns)) @ matrix
    return Table(Schema(tuple(Variable(f"x{c}", "real") for c in range(columns))), values)


def categorical_table(rows: int, columns: int, states: int = 6) -> Table:
    """Categorical columns of two states and more, which depend on ten classes."""
    rng = np.random.default_rng(0)
    sizes = (2 + np.arange(columns) % (states - 1)).tolist()
    chances = [rng.dirichlet(np.full(k, 0.5), size=10).cumsum(axis=1) for k in sizes]
    label = rng.integers(10, size=rows)
    draws = rng.random((rows, columns))
    values = [
        np.minimum((draws[:, c, None] > p[label]).sum(axis=1), k - 1)
        for c, (p, k) in enumerate(zip(chances, sizes, strict=True))
    ]
    return Table(discrete_schema(sizes), np.stack(values, axis=1).astype(np.float64))


def all_learners() -> dict[str, type[AnyLearner]]:
    """Every registered learner, by its name."""
    return {
        **{n: LEARNERS[n] for n in LEARNERS},
        **{n: CONDITIONAL[n] for n in CONDITIONAL},
        **{n: NETWORK_LEARNERS[n] for n in NETWORK_LEARNERS},
    }


def given_roles(kind: type[AnyLearner], table: Table) -> Table:
    """The table with the roles that a learner wants: the first of ten columns are targets of conditional ones."""
    if not issubclass(kind, ConditionalLearner):
        return table
    targets = [0] if kind.single_target else range(max(1, len(table.schema) // 10))
    return Table(table.schema.with_targets(list(targets)), table.values)


def overshoot(
    kind: type[AnyLearner], name: str, table: Table, budget: float, *, interrupt: bool
) -> Overshoot:
    """How long a learner takes beyond its budget, or beyond an interrupt after that time."""
    watch = AskedWatch(seconds=None if interrupt else budget)
    timer = threading.Timer(budget, os.kill, (os.getpid(), signal.SIGINT))
    begin, cpu, fault = time.monotonic(), time.process_time(), ""
    watch.note()
    if interrupt:
        timer.start()
    try:
        kind().learn(given_roles(kind, table), np.random.default_rng(0), watch=watch)
    except ValueError as error:
        fault = str(error)
    except KeyboardInterrupt:
        fault = "interrupted without a model"
    finally:
        timer.cancel()
    watch.note("end")
    seconds = time.monotonic() - begin
    return Overshoot(
        learner=kind.name, table=name, how="interrupt" if interrupt else "budget", budget=budget,
        seconds=round(seconds, 2), cpu=round(time.process_time() - cpu, 2), stretch=round(watch.stretch, 2),
        where=watch.where, finished=seconds < budget, fault=fault,
    )  # fmt: skip


def runs(options: argparse.Namespace) -> Iterator[Overshoot]:
    """All runs that are asked for."""
    kinds = all_learners()
    tables = {
        "numeric": numeric_table(options.rows, options.columns),
        "categorical": categorical_table(options.rows, 2 * options.columns),
    }
    for name in options.learners.split(",") if options.learners else kinds:
        for label, table in tables.items():
            if options.table in (label, None):
                first = overshoot(kinds[name], label, table, options.budget, interrupt=False)
                yield first
                if not first.finished and not first.fault and not options.no_interrupt:
                    yield overshoot(kinds[name], label, table, options.budget, interrupt=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budget", type=float, default=3.0, help="seconds")
    parser.add_argument("--learners", default="", help="names, separated by commas; all unless given")
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument(
        "--columns", type=int, default=100, help="numeric ones; of categorical ones there are twice as many"
    )
    parser.add_argument("--table", choices=["numeric", "categorical"])
    parser.add_argument("--no-interrupt", action="store_true", help="only use budgets up")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    found = []
    with use_threads(1):
        for run in runs(options):
            found.append(asdict(run))
            if not options.json:
                print(
                    f"{run.learner:20} {run.table:11} {run.how:9} {run.seconds:7.2f} s  cpu {run.cpu:7.2f}  longest {run.stretch:6.2f} before {run.where}  {'finished ' if run.finished else ''}{run.fault}",
                    flush=True,
                )
    if options.json:
        print(json.dumps({"runs": found}))


if __name__ == "__main__":
    main()
