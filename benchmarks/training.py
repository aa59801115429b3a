"""The options, tables and structures that the benchmarks of learning begin with."""

import argparse
import os
from pathlib import Path

import numpy as np

from tractable.circuit import Graph
from tractable.data import Schema, Table, read
from tractable.learning.joint import LEARNERS


def data_options(description: str | None) -> argparse.ArgumentParser:
    """The options of a benchmark that can do with data, before its own."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", help="the folder above binary/NAME.train.data.gz; TRACTABLE_DATA if not given"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


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
