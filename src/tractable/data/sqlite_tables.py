"""Reading of tables and views of SQLite databases."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tractable.data.cells import table_of_cells
from tractable.data.layout import Layout
from tractable.data.source import Source, choose_part, in_a_file

if TYPE_CHECKING:
    from sqlite3 import Connection

_TABLES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND substr(name, 1, 7) != 'sqlite_'"


def read_sqlite(source: Source, layout: Layout) -> Any:
    """The named table of a database, or its only one.

    Raises:
        ValueError: if there is no such table, or the database cannot be read.
    """
    import sqlite3

    try:
        with in_a_file(source) as path, closing(_open(path)) as database:
            names = [name for (name,) in database.execute(_TABLES)]
            name = choose_part(source, "table", names)
            quoted = name.replace('"', '""')
            cursor = database.execute(f'SELECT * FROM "{quoted}"')
            rows = cursor.fetchall()
    except (sqlite3.Error, OSError, OverflowError, UnicodeError) as fault:
        words = (str(fault).splitlines() or [type(fault).__name__])[0]
        raise ValueError(f"{source}: {words}") from None
    columns = [str(column[0]) for column in cursor.description]
    cells = list(zip(*rows, strict=True)) if rows else [() for _ in columns]
    try:
        return table_of_cells(columns, cells, {"", *layout.na})
    except ValueError as fault:
        raise ValueError(f"{source}, table '{name}': {fault}") from None


def _open(path: Path) -> "Connection":
    import sqlite3

    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
