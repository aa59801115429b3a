"""Reading and writing of models and tables by commands."""

import os
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tractable.cli.output import answer, count, note, print_data

if TYPE_CHECKING:
    from tractable.base.arrays import Floats
    from tractable.data import Schema
    from tractable.model import Circuit

STANDARD_OUTPUT = "-"


def is_standard_output(path: Path) -> bool:
    """Whether a path stands for standard output."""
    return str(path) == STANDARD_OUTPUT


def check_place(path: Path) -> None:
    """Check that a file can be written before any work is done.

    Raises:
        ValueError: naming a folder that does not exist or is not writable.
        FileExistsError: if the path is a folder, a device or a named pipe.
    """
    from tractable.formats.atomic import require_replaceable

    _check_folder_of(path)
    require_replaceable(path)


def _check_folder_of(path: Path) -> None:
    folder = path.parent
    if not folder.is_dir():
        raise ValueError(f"there is no folder '{folder}' to write '{path.name}' in")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"the folder '{folder}' is not writable")


def check_model_place(path: Path) -> None:
    """Check that a model file can be written and that its suffix is known.

    Raises:
        ValueError: otherwise.
    """
    from tractable.formats import FORMATS

    if is_standard_output(path):
        raise ValueError("standard output is used for the answer: name a file for the model")
    known = [suffix for suffix, format in FORMATS.items() if format.write is not None]
    if path.suffix.lower() == ".spn" and path.is_dir():  # a model that is a folder
        from tractable.formats.spn import require_own_folder

        _check_folder_of(path)
        require_own_folder(path)
        return
    check_place(path)
    if path.suffix.lower() not in known:
        raise ValueError(f"'{path}': the suffix of a model must be one of {', '.join(known)}")


def check_network_place(path: Path, algorithm: str) -> None:
    """Check that a network file can be written and that its suffix is that of a Markov network.

    Raises:
        ValueError: otherwise.
    """
    from tractable.formats.network_files import MARKOV_SUFFIXES

    if is_standard_output(path):
        raise ValueError("standard output is used for the answer: name a file for the network")
    check_place(path)
    if path.suffix.lower() not in MARKOV_SUFFIXES:
        raise ValueError(
            f"'{path}': {algorithm} learns a Markov network without a circuit, which is written as"
            f" {' or '.join(MARKOV_SUFFIXES)}"
        )


def find_table_place(path: Path | None) -> Path | None:
    """The file to which a table is written; None (as for `-`) is standard output.

    Raises:
        ValueError: if the file cannot be written, or its suffix is not that of a table.
    """
    if path is None or is_standard_output(path):
        return None
    check_place(path)
    if path.suffix.lower() not in TABLE_WRITERS:
        raise ValueError(f"'{path}': the suffix of a table must be one of {', '.join(TABLE_WRITERS)}")
    return path


def print_model(circuit: "Circuit", suffix: str) -> None:
    """Write a model to standard output in a text format."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        file = Path(folder) / f"model{suffix}"
        circuit.save(file)
        print_data(file.read_text(encoding="utf-8"))


def frame_of(rows: "Floats", schema: "Schema") -> Any:
    """Coded rows as an arrow table with their states."""
    from tractable.data import to_frame

    return to_frame(rows, schema, like="pyarrow")


def put_table(frame: Any, path: Path | None) -> None:
    """Write an arrow table to a file, or to standard output as CSV if there is no file."""
    if path is None:
        print_data(csv_bytes(frame).decode())
        return
    from tractable.formats.atomic import write_bytes

    write_bytes(path, TABLE_WRITERS[path.suffix.lower()](frame))


def leave_table(frame: Any, output: Path | None, as_json: bool, quiet: bool) -> None:
    """Write rows to a file, to standard output, or into the JSON answer."""
    facts: dict[str, Any] = {"rows": frame.num_rows, "columns": frame.column_names, "output": output}
    if output is not None or not as_json:
        put_table(frame, output)
    if as_json:
        values = [] if output is not None else [list(row.values()) for row in frame.to_pylist()]
        answer(facts if output is not None else facts | {"values": values}, "", as_json)
    elif output is not None:
        note(f"wrote {count(frame.num_rows, 'row')} to {output}", quiet)


def csv_bytes(frame: Any) -> bytes:
    """An arrow table as CSV; text is quoted, so that the text `NA` is not read as a missing cell."""
    from pyarrow import csv

    buffer = BytesIO()
    csv.write_csv(frame, buffer)
    return buffer.getvalue()


def _parquet_bytes(frame: Any) -> bytes:
    from pyarrow import parquet

    buffer = BytesIO()
    parquet.write_table(frame, buffer)
    return buffer.getvalue()


TABLE_WRITERS: dict[str, Callable[[Any], bytes]] = {".csv": csv_bytes, ".parquet": _parquet_bytes}
