"""Tables and views of SQLite and DuckDB databases -> arrow tables."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tractable.data.cells import table_of_cells
from tractable.data.layout import Layout
from tractable.data.source import Source, choose_part, in_a_file

if TYPE_CHECKING:
    from sqlite3 import Connection


# ---- reading of tables and views of SQLite databases ----------------------------------------------------


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
    except UnicodeError:
        raise ValueError(f"{source}: a name or a text in the database is not UTF-8") from None
    except (sqlite3.Error, OSError, OverflowError) as fault:
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


# ---- reading of tables and views of DuckDB databases ----------------------------------------------------


_DUCKDB_TABLES = (
    "SELECT table_schema, table_name FROM information_schema.tables ORDER BY table_schema, table_name"
)


def read_duckdb(source: Source, layout: Layout) -> Any:
    """The named table of a database, or its only one; `schema.table` outside the main schema.

    Raises:
        ValueError: if there is no such table, or the database cannot be read.
    """
    try:
        import duckdb
    except ImportError:
        raise ValueError(
            f"{source}: reading this database requires duckdb, which is installed by: pip install"
            " 'tractable[duckdb]'"
        ) from None
    try:
        with in_a_file(source) as path, duckdb.connect(str(path), read_only=True) as database:
            places = {
                name if schema == "main" else f"{schema}.{name}": (schema, name)
                for schema, name in database.execute(_DUCKDB_TABLES).fetchall()
            }
            chosen = places[choose_part(source, "table", list(places))]
            quoted = ".".join(f'"{part}"' for part in (part.replace('"', '""') for part in chosen))
            return _with_clocks_as_text(database.sql(f"SELECT * FROM {quoted}").to_arrow_table())
    except (duckdb.Error, OSError) as fault:
        words = (str(fault).splitlines() or [type(fault).__name__])[0]
        raise ValueError(f"{source}: {words}") from None


def _with_clocks_as_text(frame: Any) -> Any:
    """The table with times of day as text, as in text files."""
    import pyarrow as pa

    for i, field in enumerate(frame.schema):
        if pa.types.is_time(field.type):
            frame = frame.set_column(i, field.name, frame.column(i).cast(pa.string()))
    return frame
