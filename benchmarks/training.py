"""The tables and structures that the benchmarks of parameter learning begin with."""

import os
from pathlib import Path

import numpy as np

from tractable.circuit import Graph
from tractable.data import Schema, Table, read
from tractable.learners import LEARNERS


def data_folder(given: str | None) -> Path | None:
    """The folder of the benchmark tables: as given, or as the environment says; None when neither does."""
    place = given or os.environ.get("TRACTABLE_DATA")
    return Path(place) if place else None


def training_table(folder: Path, name: str, most_rows: int | None, schema: Schema | None = None) -> Table:
    """The training rows of a binary benchmark table, at most so many."""
    table = read(folder / "binary" / f"{name}.train.data.gz", schema=schema)
    return Table(table.schema, table.values[:most_rows], table.row_weights[:most_rows])


def learned_structure(table: Table, seed: int) -> Graph:
    """What LearnSPN makes of a table."""
    return LEARNERS["learnspn"]().learn(table, np.random.default_rng(seed))
