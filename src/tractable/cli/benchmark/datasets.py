"""The tables of a benchmark: three parts of each, in files or drawn here."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tractable.cli.benchmark.published import titles
from tractable.data import Schema, Table, clinic, discrete_schema, read

PARTS = ("train", "valid", "test")
SUFFIXES = (".data.gz", ".data")
DEMO = "clinic"
DEMO_ROWS = {"train": 2000, "valid": 1000, "test": 1000}


class Tables(NamedTuple):
    """What is learned from, what settings are chosen by, and what is measured on."""

    train: Table
    valid: Table
    test: Table


@dataclass(frozen=True)
class DataSet:
    """A name and, unless the table is built in, the files of its three parts."""

    name: str
    files: tuple[Path, ...] = ()

    def digest(self) -> str:
        """A short text that tells tables of the same name apart."""
        if not self.files:
            return "built-in"
        digest = blake2b(digest_size=6)
        for file in self.files:
            digest.update(file.read_bytes())
        return digest.hexdigest()

    def tables(self) -> Tables:
        """The three parts under one schema.

        Raises:
            ValueError: naming the file that cannot be read, has another number of columns, or has weights
                on rows that are measured one by one.
        """
        if not self.files:
            return Tables(*(clinic(rows, seed) for seed, rows in enumerate(DEMO_ROWS.values())))
        parts = [read(file) for file in self.files]
        for file, part in zip(self.files, parts, strict=True):
            if len(part.schema) != len(parts[0].schema):
                raise ValueError(
                    f"{file}: {len(part.schema)} columns, but {self.files[0].name} has {len(parts[0].schema)}"
                )
        if parts[2].weights is not None:
            raise ValueError(f"{self.files[2]}: the test rows of a benchmark must not have weights")
        # A state that only one of the parts shows is a state in all of them.
        schema = discrete_schema(np.maximum.reduce([part.schema.cardinalities for part in parts]))
        return Tables(*(_under(part, schema) for part in parts))


def _under(part: Table, schema: Schema) -> Table:
    return Table(schema, part.values, part.weights)


def demo() -> DataSet:
    """The built-in table, for those who have no folder of data."""
    return DataSet(DEMO)


def find(folder: Path, names: Sequence[str] = ()) -> list[DataSet]:
    """The data sets whose files NAME.train.data.gz, NAME.valid... and NAME.test... lie in a folder.

    They may lie in its folder `binary`, too, and need not be gzipped. All are taken unless some are named;
    published ones come first.

    Raises:
        ValueError: if there is no such folder or data set, or a part of one is missing.
    """
    if not folder.is_dir():
        raise ValueError(f"there is no folder '{folder}'")
    files: dict[str, Path] = {}
    for place in (folder, folder / "binary"):
        for suffix in SUFFIXES:
            for file in sorted(place.glob(f"*.train{suffix}")):
                files.setdefault(file.name.removesuffix(f".train{suffix}"), file)
    if not files:
        raise ValueError(f"there is no data set (NAME.train.data.gz) in the folder '{folder}'")
    for name in names:
        if name not in files:
            raise ValueError(f"there is no data set '{name}' in '{folder}' (data sets: {', '.join(files)})")
    chosen = names or sorted(files, key=published_first)
    return [DataSet(name, _parts(files[name], name)) for name in chosen]


def published_first(name: str) -> tuple[int, str]:
    """What to sort data sets by: the order of the published table, then the alphabet."""
    order = list(titles())
    return (order.index(name) if name in order else len(order), name)


def _parts(train: Path, name: str) -> tuple[Path, ...]:
    files = []
    for part in PARTS:
        choices = [train.with_name(f"{name}.{part}{suffix}") for suffix in SUFFIXES]
        there = [file for file in choices if file.is_file()]
        if not there:
            raise ValueError(f"data set '{name}' has no file '{choices[0]}'")
        files.append(there[0])
    return tuple(files)
