"""Densities of numeric and mixed tables: our learners beside the Gaussian mixture of scikit-learn.

Five-fold cross-validation. Numeric columns are standardised by the training rows, and their values spread
evenly within their rounding steps, so that repeated values cannot win. The baseline's number of components
(1 to 6) and covariance type are chosen by BIC; on mixed tables its components have distributions of the
categorical columns too. "best" is the learner of ours that has the highest likelihood on a sixth of the
training rows when it learns from the others; it then learns from all of them. A cell is the mean log-density
of test rows less that of the baseline, with the standard error of the mean over rows. On diamonds, where two
rows would otherwise cost the baseline thousands of nats, the baseline and every learner without a background
of its own get one percent of an independent one. Tables of numbers alone also have the kernel density
estimate of scikit-learn, whose bandwidth is chosen by five-fold cross-validation.

    python benchmarks/densities.py [--tables iris,wine] [--learners gaussian-mixture,naive-bayes] [--folds 5]
                                   [--budget 60] [--seed 0] [--json]

Penguins, cars and diamonds come from the packages palmerpenguins, vega_datasets and plotnine.
"""

import argparse
import json
import sys
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from density_baseline import background, baseline, kernel_density
from density_tables import TABLES, MissingPackageError, Numbers, numbers

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.data import Table
from tractable.engine import log_values
from tractable.learning.joint import LEARNERS

LEARNERS_SHOWN = "gaussian-mixture,naive-bayes,hidden-chow-liu,learnspn"
WITH_BACKGROUND = ("diamonds",)  # tables on which everybody has a background
HAVE_BACKGROUND = ("gaussian-mixture",)  # learners that have one anyway
SHARE = 0.01  # of the background
FEW_ROWS = 5_000  # of tables on which the kernel's bandwidth is searched for
HELD_OUT = 6  # one row of so many chooses the best learner
BEST, KERNEL = "best", "kernel density"


class Row(NamedTuple):
    """One table's results."""

    table: str
    rows: int
    baseline: float  # mean log-density
    gain: dict[str, tuple[float, float]]  # by learner: mean difference and standard error
    chosen: list[str]  # the best learner of each fold
    seconds: dict[str, float]  # by learner, a fit


class Contest:
    """One table's folds, and the log-densities of everybody on them."""

    def __init__(self, name: str, table: Numbers, learners: list[str], budget: float) -> None:
        self.name, self.table, self.learners, self.budget = name, table, learners, budget
        kernel = [KERNEL] if table.numeric == len(table.schema) and len(table.values) < FEW_ROWS else []
        self.others = [*kernel, BEST, *learners]
        self.logs: dict[str, list[Floats]] = {who: [] for who in ("baseline", *self.others)}
        self.chosen: list[str] = []
        self.seconds: dict[str, list[float]] = {who: [] for who in learners}

    def run_fold(self, train: Table, test: Table, seed: int) -> None:
        """Fit everybody to the training rows and score the test rows."""
        wide = background(train, test, self.table.numeric)
        found = {"baseline": baseline(train, test, self.table.numeric)}
        if KERNEL in self.logs:
            found[KERNEL] = kernel_density(train, test)
        for who in self.learners:
            start = time.perf_counter()
            found[who] = self._log_density(who, train, test, seed)
            self.seconds[who].append(time.perf_counter() - start)
        if self.name in WITH_BACKGROUND:
            for who in set(found) - set(HAVE_BACKGROUND):
                found[who] = np.logaddexp(np.log1p(-SHARE) + found[who], np.log(SHARE) + wide)
        best = self._choose(train, seed)
        self.chosen.append(best)
        for who, logs in {**found, BEST: found[best]}.items():
            self.logs[who].append(logs)

    def _choose(self, train: Table, seed: int) -> str:
        """The learner that does best on a sixth of the training rows."""
        if len(self.learners) == 1:
            return self.learners[0]
        order = np.random.default_rng(seed).permutation(len(train))
        held = len(train) // HELD_OUT
        fit, check = train.take(order[held:]), train.take(order[:held])
        scores = {who: self._log_density(who, fit, check, seed).mean() for who in self.learners}
        return max(scores, key=lambda who: scores[who])

    def _log_density(self, who: str, train: Table, test: Table, seed: int) -> Floats:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rng = np.random.default_rng(seed)
            graph = LEARNERS[who]().learn(train, rng, watch=Watch(seconds=self.budget))
        return np.asarray(log_values(graph, test.values))

    def result(self) -> Row:
        """Means over all test rows."""
        base = np.concatenate(self.logs["baseline"])
        gain = {}
        for who in self.others:
            difference = np.concatenate(self.logs[who]) - base
            gain[who] = float(difference.mean()), float(difference.std() / np.sqrt(difference.size))
        seconds = {who: float(np.mean(times)) for who, times in self.seconds.items()}
        return Row(self.name, base.size, float(base.mean()), gain, self.chosen, seconds)


def run_table(name: str, learners: list[str], folds: int, budget: float, seed: int) -> Row:
    """The comparison on one table."""
    table = numbers(name, np.random.default_rng(seed))
    order = np.random.default_rng(seed).permutation(len(table.values))
    contest = Contest(name, table, learners, budget)
    for fold, test in enumerate(np.array_split(order, folds)):
        train = np.setdiff1d(order, test)
        contest.run_fold(*table.fold(table.values[train], table.values[test]), seed + fold)
    return contest.result()


def markdown(rows: list[Row]) -> str:
    """The results as a table, and what they come to."""
    who = list(dict.fromkeys(one for row in rows for one in row.gain))
    lines = [f"| | rows | baseline | {' | '.join(who)} |", "|---|--:|--:|" + "--:|" * len(who)]
    for row in rows:
        cells = (_cell(row.gain.get(one)) for one in who)
        lines.append(f"| {row.table} | {row.rows} | {row.baseline:.2f} | {' | '.join(cells)} |")
    best = [row.gain[BEST] for row in rows]
    level = sum(mean >= -error for mean, error in best)
    ahead = sum(mean > error for mean, error in best)
    lines.append("")
    lines.append(f"The best of ours is at least level on {level} of {len(rows)} tables, ahead on {ahead}.")
    return "\n".join(lines)


def _cell(gain: tuple[float, float] | None) -> str:
    return "" if gain is None else f"{gain[0]:+.2f} ± {gain[1]:.2f}"


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--learners", default=LEARNERS_SHOWN)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--budget", type=float, default=60.0, help="seconds for each fit")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args()


def main() -> None:
    given = options()
    rows: list[Row] = []
    for name in given.tables.split(","):
        try:
            row = run_table(name, given.learners.split(","), given.folds, given.budget, given.seed)
        except MissingPackageError as missing:
            print(f"{name} is left out: {missing}", file=sys.stderr)
            continue
        rows.append(row)
        print(f"{name}: {row.gain[BEST][0]:+.3f} ± {row.gain[BEST][1]:.3f}", file=sys.stderr)
    answer: dict[str, Any] = {row.table: row._asdict() for row in rows}
    print(json.dumps(answer) if given.json else markdown(rows))


if __name__ == "__main__":
    main()
