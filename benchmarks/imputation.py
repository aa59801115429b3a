"""Missing cells filled: how far numbers are off, and how many categories are right, beside scikit-learn.

In every column 20 % of the cells are hidden at random. Each method learns from the table with holes and fills
it. A number's error is the root of its mean square, divided by the column's standard deviation (nRMSE: 1 is
as good as the mean); of a category it is the accuracy. Categories are given to scikit-learn's imputers as one
column of zeros and ones for each state but the first, and the largest is taken; numbers are standardised.

    python benchmarks/imputation.py [--tables penguins,wine,breast-cancer,cars] [--learner fast]
                                    [--set name=value] [--method mean] [--seeds 3] [--json]
"""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from ordinary_tables import (
    OrdinaryTable,
    chosen_learner,
    chosen_tables,
    markdown,
    table_options,
)
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 - it makes the next import possible
from sklearn.impute import IterativeImputer, KNNImputer

import tractable as tr
from tractable.data import as_table

HOLES = 0.2
OURS = "tractable"
Fill: TypeAlias = Callable[[OrdinaryTable, pd.DataFrame, int], pd.DataFrame]
Errors: TypeAlias = dict[str, dict[str, float]]  # of each column, by method


def with_holes(table: OrdinaryTable, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table with cells hidden, and which of those had a value."""
    rng = np.random.default_rng(seed)
    hidden = pd.DataFrame(
        rng.random(table.frame.shape) < HOLES, columns=table.frame.columns, index=table.frame.index
    )
    return table.frame.mask(hidden), hidden & table.frame.notna()


def by_tractable(learner: Any, method: Any) -> Fill:
    """Fills by a joint model."""

    def fill(table: OrdinaryTable, frame: pd.DataFrame, seed: int) -> pd.DataFrame:
        numbers = frame.astype({c: float for c in table.numbers})
        schema = as_table(numbers, kinds=dict.fromkeys(table.numbers, "real")).schema  # also few-valued ones
        imputer = tr.TractableImputer(learner, method=method, random_state=seed).fit(numbers, schema=schema)
        filled: pd.DataFrame = imputer.transform(numbers)
        return filled

    return fill


def by_scikit_learn(make: Callable[[int], Any]) -> Fill:
    """Fills by an imputer of numbers, through indicators of states."""

    def fill(table: OrdinaryTable, frame: pd.DataFrame, seed: int) -> pd.DataFrame:
        numbers = frame[table.numbers].astype(float)
        centre, spread = numbers.mean(), numbers.std().replace(0.0, 1.0)
        states = [_indicators(frame[c]) for c in table.categories]
        whole = pd.concat([(numbers - centre) / spread, *states], axis=1)
        done = pd.DataFrame(make(seed).fit_transform(whole), columns=whole.columns, index=frame.index)
        filled = done[table.numbers] * spread + centre
        for c, indicators in zip(table.categories, states, strict=True):
            rest = done[indicators.columns].to_numpy()
            scores = np.column_stack([1.0 - rest.sum(axis=1), rest])
            states_of = sorted(frame[c].dropna().astype(str).unique())
            filled[c] = [states_of[i] for i in scores.argmax(axis=1)]
        return filled[list(frame.columns)]

    return fill


def _indicators(column: pd.Series) -> pd.DataFrame:
    """A column for each state but the first: all together add up to one, which regressions would repeat."""
    text = column.astype(str)
    states = sorted(text[column.notna()].unique())
    made = pd.DataFrame({f"{column.name}={state}": (text == state).astype(float) for state in states[1:]})
    made[column.isna()] = np.nan
    return made


def column_errors(table: OrdinaryTable, filled: pd.DataFrame, hidden: pd.DataFrame) -> dict[str, float]:
    """The nRMSE of each numeric column and the accuracy of each other one, over its hidden cells."""
    found = {}
    for c in table.frame.columns:
        cells, guessed = table.frame.loc[hidden[c], c], filled.loc[hidden[c], c]
        if c in table.numbers:
            error = np.sqrt(np.mean((cells.astype(float) - guessed.astype(float)) ** 2))
            found[str(c)] = float(error / table.frame[c].std())
        else:
            found[str(c)] = float(np.mean(cells.astype(str) == guessed.astype(str)))
    return found


def measure(table: OrdinaryTable, methods: dict[str, Fill], seeds: int) -> tuple[Errors, dict[str, float]]:
    """Mean errors over several choices of holes, and the seconds that each method took."""
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in methods}
    seconds = dict.fromkeys(methods, 0.0)
    for seed in range(seeds):
        frame, hidden = with_holes(table, seed)
        for name, fill in methods.items():
            started = time.perf_counter()
            runs[name].append(column_errors(table, fill(table, frame, seed), hidden))
            seconds[name] += (time.perf_counter() - started) / seeds
    columns = [str(c) for c in table.frame.columns]
    errors = {c: {name: float(np.mean([run[c] for run in runs[name]])) for name in methods} for c in columns}
    return errors, seconds


def is_ahead(table: OrdinaryTable, column: str, errors: dict[str, float]) -> bool:
    """Whether our error of a column is the smallest one, or our accuracy the largest."""
    others = [error for name, error in errors.items() if name != OURS]
    return errors[OURS] <= min(others) if column in table.numbers else errors[OURS] >= max(others)


def report(table: OrdinaryTable, errors: Errors, seconds: dict[str, float]) -> str:
    """A Markdown table of all columns, the best of each in bold."""
    rows = []
    for column, by_method in errors.items():
        is_number = column in table.numbers
        best = min(by_method.values()) if is_number else max(by_method.values())
        cells = [f"**{e:.3f}**" if e == best else f"{e:.3f}" for e in by_method.values()]
        rows.append([f"{column}", "nRMSE" if is_number else "accuracy", *cells])
    ahead = sum(is_ahead(table, c, e) for c, e in errors.items())
    took = ", ".join(f"{name} {s:.1f} s" for name, s in seconds.items())
    names = list(next(iter(errors.values())))
    return (
        f"### {table.name}\n\n{markdown(['Column', 'Measure', *names], rows)}\n\n"
        f"Ahead of both on {ahead} of {len(errors)} columns. Time of one run: {took}."
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    table_options(parser)
    parser.add_argument("--method", default="mean", choices=["mean", "mpe", "sample"])
    parser.add_argument("--seeds", type=int, default=3, help="choices of holes to take the mean over")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # IterativeImputer warns where it has not converged
    methods = {
        "IterativeImputer": by_scikit_learn(lambda seed: IterativeImputer(random_state=seed, max_iter=20)),
        "KNNImputer": by_scikit_learn(lambda _: KNNImputer()),
        OURS: by_tractable(chosen_learner(options.learner, options.set), options.method),
    }
    facts, ahead, columns = {}, 0, 0
    for table in chosen_tables(options.tables):
        errors, seconds = measure(table, methods, options.seeds)
        facts[table.name] = {"columns": errors, "seconds": seconds}
        ahead += sum(is_ahead(table, c, e) for c, e in errors.items())
        columns += len(errors)
        if not options.json:
            sys.stdout.write(report(table, errors, seconds) + "\n\n")
            sys.stdout.flush()
    if options.json:
        sys.stdout.write(json.dumps({"tables": facts, "ahead": ahead, "columns": columns}) + "\n")
    else:
        sys.stdout.write(f"Ahead of both on {ahead} of {columns} columns in all.\n")


if __name__ == "__main__":
    main()
