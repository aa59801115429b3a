"""Ordinary public tables, as data scientists have them: numbers and categories, some cells missing.

wine and breast cancer come with scikit-learn. penguins and cars need the packages `palmerpenguins` and
`vega_datasets`, which bundle them: `pip install palmerpenguins vega_datasets`. They are read from the files
of the packages, which are not imported.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from sklearn.datasets import load_breast_cancer, load_wine

from tractable.base.settings import settings_from_text
from tractable.estimators import TableEstimator, estimator_class
from tractable.learning.joint import LEARNERS


class OrdinaryTable(NamedTuple):
    """A table and the column that is to be predicted."""

    name: str
    frame: pd.DataFrame
    target: str

    @property
    def categories(self) -> list[str]:
        """The columns that hold no numbers."""
        return [str(c) for c in self.frame if not pd.api.types.is_numeric_dtype(self.frame[c])]

    @property
    def numbers(self) -> list[str]:
        """The columns that hold numbers."""
        return [str(c) for c in self.frame if c not in self.categories]


def penguins() -> OrdinaryTable:
    """344 penguins of three species: four measures, island, sex."""
    frame = pd.read_csv(_package_folder("palmerpenguins") / "data" / "penguins.csv")
    return OrdinaryTable("penguins", frame.drop(columns=["year", "rowid"], errors="ignore"), "species")


def cars() -> OrdinaryTable:
    """406 cars of the seventies from three parts of the world."""
    cells = json.loads((_package_folder("vega_datasets") / "_data" / "cars.json").read_text())
    frame = pd.DataFrame(cells).drop(columns="Name")
    frame["Year"] = pd.to_datetime(frame["Year"]).dt.year
    return OrdinaryTable("cars", frame, "Origin")


def wine() -> OrdinaryTable:
    """178 wines of three growers: thirteen measures."""
    return _of_scikit_learn("wine", load_wine(as_frame=True), "grower")


def breast_cancer() -> OrdinaryTable:
    """569 tumours: thirty measures, benign or malignant."""
    return _of_scikit_learn("breast cancer", load_breast_cancer(as_frame=True), "diagnosis")


TABLES: dict[str, Callable[[], OrdinaryTable]] = {
    "penguins": penguins, "wine": wine, "breast-cancer": breast_cancer, "cars": cars,
}  # fmt: skip


def table_options(parser: argparse.ArgumentParser) -> None:
    """Options that choose tables and the learner."""
    parser.add_argument("--tables", default=",".join(TABLES), help="names with commas between them")
    parser.add_argument("--learner", default="fast", help="fast, or the name of a learner")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of it")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of Markdown")


def chosen_learner(name: str, settings: Sequence[str]) -> str | TableEstimator:
    """The learner that the options name, with its settings."""
    if not settings:
        return name
    kind = LEARNERS.find(name)
    estimator = next(e for e, n in LEARNERS.estimators.items() if n == name)
    return estimator_class(estimator, kind)(**settings_from_text(kind, settings))


def chosen_tables(names: str) -> list[OrdinaryTable]:
    """The tables that the options name."""
    return [TABLES[name.strip()]() for name in names.split(",")]


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _of_scikit_learn(name: str, data: Any, target: str) -> OrdinaryTable:
    classes = pd.Series(data.target_names[data.target], index=data.data.index).astype(str)
    return OrdinaryTable(name, data.data.assign(**{target: classes}), target)


def _package_folder(package: str) -> Path:
    found = find_spec(package)
    if found is None or found.origin is None:
        raise SystemExit(f"this table comes with a package: pip install {package}")
    return Path(found.origin).parent
