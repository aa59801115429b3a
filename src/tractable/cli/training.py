"""Output files and numbers of cores of the commands that learn."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tractable.cli import options

if TYPE_CHECKING:
    from tractable.cli.reading import Reading
    from tractable.data import Table
    from tractable.learning.conditional import ConditionalLearner
    from tractable.learning.joint import Learner
    from tractable.learning.networks import NetworkLearner


def default_place(train: Path, algorithm: str, suffix: str = ".tract") -> Path:
    """The default path of a model: in the current folder, named after the table and the learner."""
    from tractable.data.source import table_stem

    return Path(f"{table_stem(train)}.{algorithm}{suffix}")


def read_tables(
    train: Path, valid: Path | None, weight: str | None, reading: "Reading"
) -> "tuple[Table, Table | None]":
    """The training table and, coded with its schema, the validation table.

    Raises:
        ValueError: if the weights of the training rows are all zero.
    """
    table = reading.table(train, weight)
    if not table.total_weight:
        raise ValueError(f"{train}: the weights of the rows are all zero")
    return table, None if valid is None else reading.table(valid, weight, schema=table.schema)


def give_roles(
    tables: "tuple[Table, Table | None]",
    learner: "Learner | ConditionalLearner | NetworkLearner",
    targets: str | None,
) -> "tuple[Table, Table | None]":
    """The tables with targets and inputs for a conditional learner; all other columns are inputs.

    Raises:
        ValueError: if targets are given for a joint model, or none for a conditional one.
    """
    from tractable.learning.conditional import ConditionalLearner

    table, valid = tables
    if not isinstance(learner, ConditionalLearner):
        if targets is not None:
            raise ValueError(
                f"{learner.name} learns a joint model of all columns, so --targets does not apply"
            )
        return tables
    if targets is None:
        if table.schema.inputs.size:  # a schema file has said it
            return tables
        raise ValueError(
            f"{learner.name} learns a conditional model: name the columns to predict with --targets A,B"
        )
    schema = table.schema.with_targets(table.schema.columns(options.names(targets)))
    return replace(table, schema=schema), None if valid is None else replace(valid, schema=schema)


@contextmanager
def cores(jobs: int | None) -> Iterator[None]:
    """Use `jobs` cores (None: all) for sweeps and for parallel learners."""
    from joblib import parallel_config

    from tractable.base.threads import use_threads

    with use_threads(jobs), parallel_config(n_jobs=-1 if jobs is None else jobs):
        yield
