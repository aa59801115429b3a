"""What the commands that learn share: where models go, and how many cores they use."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tractable.cli.reading import Reading
    from tractable.data import Table


def default_place(train: Path, algorithm: str, suffix: str = ".tract") -> Path:
    """Where a model goes when nobody says so: in this folder, named after its table and its learner."""
    stem = "table" if str(train) == "-" else train.name.removesuffix(".gz")
    return Path(f"{Path(stem).stem}.{algorithm}{suffix}")


def read_tables(
    train: Path, valid: Path | None, weight: str | None, reading: "Reading"
) -> "tuple[Table, Table | None]":
    """The training table and, coded by the same schema, the validation table."""
    table = reading.table(train, weight)
    return table, None if valid is None else reading.table(valid, weight, schema=table.schema)


@contextmanager
def cores(jobs: int | None) -> Iterator[None]:
    """Use `jobs` cores (None: all) for sweeps over circuits and for learners' own parallel work."""
    from joblib import parallel_config

    from tractable.threads import use_threads

    with use_threads(jobs), parallel_config(n_jobs=-1 if jobs is None else jobs):
        yield
