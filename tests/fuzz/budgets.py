"""Any learner, and whatever learns with one, on a random table, with a random time budget."""

import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import tractable as tr
from fuzz.cases import Case
from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.base.progress.wish import StopWish
from tractable.base.threads import use_threads
from tractable.data import Schema, Table, Variable, discrete_schema
from tractable.learning.conditional import CONDITIONAL
from tractable.learning.joint import LEARNERS
from tractable.learning.networks import NETWORK_LEARNERS
from tractable.learning.tuning import tune

FACES: dict[str, Callable[..., Any]] = {
    "classifier": partial(tr.TractableClassifier, target="c0"),
    "imputer": tr.TractableImputer,
}
KINDS = [*LEARNERS, *CONDITIONAL, *NETWORK_LEARNERS, *FACES, "tune", "bag"]
TIMES, GRACE = 1.5, 5.0  # a run with a budget takes so many times that, and so many seconds more, at most
QUICK = ("chow-liu", "naive-bayes", "learnspn", "mixture-of-trees")


class AskedWatch(Watch):
    """A watch that knows the longest time in which nobody asked whether to stop, and who asked then."""

    def __init__(self, seconds: float | None = None) -> None:
        super().__init__()
        self.wish = StopWish(seconds, listen=self._listen)
        self._asked_at = time.process_time()
        self.longest, self.where = 0.0, ""

    def _listen(self) -> bool:
        """Nobody is interrupted; but this is asked whenever the work asks whether to stop."""
        self.note()
        return False

    def note(self) -> None:
        """Note how much CPU time the work has taken since it asked last."""
        now = time.process_time()
        if now - self._asked_at > self.longest:
            self.longest, self.where = now - self._asked_at, _caller()
        self._asked_at = now


def _caller() -> str:
    """The innermost line that belongs to no watch."""
    frames = [f for f in traceback.extract_stack()[:-3] if "progress" not in Path(f.filename).parts]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"


def numeric_table(rng: np.random.Generator, rows: int, columns: int) -> Table:
    """Numeric columns that depend on each other, in five clusters, after one categorical column."""
    label = rng.integers(5, size=rows)
    values = 2 * rng.normal(size=(5, columns))[label]
    for group in range(5):
        mine = label == group
        values[mine] += rng.normal(size=(int(mine.sum()), columns)) @ rng.normal(size=(columns, columns))
    names = [Variable(f"x{c}", "real") for c in range(columns)]
    schema = Schema((Variable("c0", "categorical", tuple("abcde")), *names))
    return Table(schema, np.column_stack([label, values]))


def categorical_table(rng: np.random.Generator, rows: int, columns: int) -> Table:
    """Columns of two to six states, which depend on ten classes."""
    sizes = rng.integers(2, 7, size=columns).tolist()
    label = rng.integers(10, size=rows)
    values = [_draws(rng, label, k) for k in sizes]
    schema = Schema(
        tuple(Variable(f"c{c}", "categorical", v.states) for c, v in enumerate(discrete_schema(sizes)))
    )
    return Table(schema, np.column_stack(values).astype(np.float64))


def _draws(rng: np.random.Generator, label: Any, states: int) -> Floats:
    """A state for each row, by the class that it belongs to."""
    below = rng.dirichlet(np.full(states, 0.5), size=10).cumsum(axis=1)[:, :-1]
    return (rng.random(label.size)[:, None] > below[label]).sum(axis=1).astype(np.float64)


def learn(name: str, table: Table, watch: Watch, rng: np.random.Generator) -> None:
    """Learn whatever a kind learns, with that watch.

    Raises:
        ValueError: if it takes no such table.
    """
    if name in FACES:
        FACES[name](tr.AutoTractable(), random_state=0).fit(table, watch=watch)
    elif name == "tune":
        tune(str(rng.choice(QUICK)), table, table.take(slice(0, 300)), trials=5, budget=watch.left)
    elif name == "bag":
        tr.bag(str(rng.choice(QUICK)), table, watch=watch)
    elif name in CONDITIONAL:
        few = [0] if CONDITIONAL[name].single_target else list(range(0, len(table.schema), 10))
        rows = Table(table.schema.with_targets(few), table.values)
        CONDITIONAL.make(name).learn(rows, rng, watch=watch)
    else:
        known: Any = NETWORK_LEARNERS if name in NETWORK_LEARNERS else LEARNERS
        known.make(name).learn(table, rng, watch=watch)


def overshoot(name: str, table: Table, budget: float, rng: np.random.Generator) -> tuple[float, str]:
    """The CPU seconds that a run takes beyond what its budget allows, and what there is to tell of it.

    It is CPU time of one thread, so that other work on the machine does not count.
    """
    with use_threads(1):
        watch = AskedWatch(budget)
        begin = time.process_time()
        learn(name, table, watch, rng)
        took = time.process_time() - begin
        watch.note()
    told = f"{name}, {len(table)} x {len(table.schema)}, budget {budget:.2f} s: {took:.2f} s of CPU time;"
    return took - TIMES * budget, f"{told} nobody asked for {watch.longest:.2f} s before {watch.where}"


def run_budgets(case: Case) -> str:
    """Learn once with a budget of a few seconds."""
    rng = case.rng
    name = str(rng.choice(KINDS))
    rows, columns = int(rng.integers(500, 6000)), int(rng.integers(10, 120))
    table = (
        numeric_table(rng, rows, columns) if rng.random() < 0.5 else categorical_table(rng, rows, 2 * columns)
    )
    try:
        learn(name, table.take(slice(0, 200)), Watch(seconds=1.0), rng)  # what is compiled and imported
        beyond, told = overshoot(name, table, float(rng.uniform(1, 4)), rng)
    except ValueError:
        return f"{name} (refused)"
    assert beyond < GRACE, told
    return name
