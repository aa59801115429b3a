"""The tables of the comparison of densities, read from the packages that bundle them."""

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn import datasets

from tractable.base.arrays import Floats
from tractable.data import Schema, Table, Variable

DIGITS = 9  # two values that agree in so many digits of their column's sd are one value, written twice


class MissingPackageError(Exception):
    """The package that bundles a table is not installed."""


def _bundled(package: str, path: str) -> Path:
    found = find_spec(package)
    if found is None or found.origin is None:
        raise MissingPackageError(f"pip install {package}")
    return Path(found.origin).parent / path


def _sklearn(load: Callable[[], object]) -> Callable[[], pd.DataFrame]:
    return lambda: pd.DataFrame(load().data, columns=load().feature_names)  # type: ignore[attr-defined]


def _penguins() -> pd.DataFrame:
    frame = pd.read_csv(_bundled("palmerpenguins", "data/penguins.csv")).dropna()
    return frame.drop(columns=["year"])


def _cars() -> pd.DataFrame:
    rows = json.loads(_bundled("vega_datasets", "_data/cars.json").read_text())
    frame = pd.DataFrame(rows).dropna().drop(columns=["Name"])
    return frame.assign(Cylinders=frame["Cylinders"].astype(str), Year=frame["Year"].str[:4].astype(float))


def _diamonds() -> pd.DataFrame:
    return pd.read_csv(_bundled("plotnine", "data/diamonds.csv"))


TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    "iris": _sklearn(datasets.load_iris),
    "wine": _sklearn(datasets.load_wine),
    "diabetes": _sklearn(datasets.load_diabetes),
    "breast cancer": _sklearn(datasets.load_breast_cancer),
    "penguins": _penguins,
    "cars": _cars,
    "diamonds": _diamonds,
}


class Numbers(NamedTuple):
    """A table as numbers: numeric columns first, then codes of states."""

    schema: Schema
    values: Floats  # (rows, columns)
    numeric: int  # columns

    def fold(self, train: Floats, test: Floats) -> tuple[Table, Table]:
        """Training and test rows, with numeric columns standardised by the training rows."""
        mean, sd = train[:, : self.numeric].mean(axis=0), train[:, : self.numeric].std(axis=0)
        answer = []
        for rows in (train, test):
            scaled = rows.copy()
            scaled[:, : self.numeric] = (rows[:, : self.numeric] - mean) / sd
            answer.append(Table(self.schema, scaled))
        return answer[0], answer[1]


def numbers(name: str, rng: np.random.Generator) -> Numbers:
    """A table with numbers spread evenly over their rounding steps, so that repeated values cannot win.

    Raises:
        MissingPackageError: if its package is not installed.
    """
    frame = TABLES[name]()
    numeric = [c for c in frame if pd.api.types.is_numeric_dtype(frame[c])]
    others = [c for c in frame if c not in numeric]
    columns = [_jitter(frame[c].to_numpy(np.float64), rng) for c in numeric]
    variables = [Variable(str(c), "real") for c in numeric]
    for c in others:
        codes, states = pd.factorize(frame[c], sort=True)
        columns.append(codes.astype(np.float64))
        variables.append(Variable(str(c), "categorical", tuple(map(str, states))))
    return Numbers(Schema(tuple(variables)), np.column_stack(columns), len(numeric))


def _jitter(x: Floats, rng: np.random.Generator) -> Floats:
    """The values, each moved evenly within the smallest gap between two of the column."""
    sd = x.std()
    step = np.diff(np.unique(np.round(x / sd, DIGITS))).min() * sd
    return x + step * (rng.random(x.size) - 0.5)
