"""Conversion of columns of Python values of any types to arrow tables."""

from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime, time, timedelta
from math import isnan
from typing import Any

from tractable.data.missing import WEAK_MISSING


def table_of_cells(names: Sequence[str], columns: Iterable[Sequence[Any]], missing: Collection[str]) -> Any:
    """The arrow table of columns of Python values; texts in `missing` are missing cells.

    Raises:
        ValueError: naming the column and the row of an invalid cell.
    """
    import pyarrow as pa

    marks = frozenset(missing)
    arrays = [_array(name, cells, marks) for name, cells in zip(names, columns, strict=True)]
    return pa.table(arrays, names=list(names))


def _array(name: str, cells: Sequence[Any], missing: frozenset[str]) -> Any:
    import pyarrow as pa

    plain = _without_marks([_plain(cell) for cell in cells], missing)
    kinds = {type(cell) for cell in plain if cell is not None}
    for row, cell in enumerate(plain):
        if isinstance(cell, dict | list | tuple | bytes):
            raise ValueError(
                f"column '{name}', row {row}: {repr(cell)[:60]} is not text, a number or a Boolean"
            )
    if kinds <= {int, float}:
        return pa.array([None if cell is None else float(cell) for cell in plain], pa.float64())
    if kinds <= {date, datetime}:
        return _moments(plain, datetime in kinds)
    if len(kinds) == 1:
        return pa.array(plain)
    return pa.array([None if cell is None else _text(cell) for cell in plain], pa.string())


def _plain(cell: Any) -> Any:
    if isinstance(cell, float) and isnan(cell):
        return None
    return str(cell) if isinstance(cell, time | timedelta) else cell


def _without_marks(cells: list[Any], missing: frozenset[str]) -> list[Any]:
    """The cells without markers of missing values; weak markers count only if nothing else is text."""
    texts = {cell for cell in cells if isinstance(cell, str)}
    if (
        texts
        and texts <= missing | set(WEAK_MISSING)
        and any(not isinstance(cell, str | None) for cell in cells)
    ):
        missing = missing | set(WEAK_MISSING)
    return [None if isinstance(cell, str) and cell in missing else cell for cell in cells]


def _moments(cells: list[Any], have_times: bool) -> Any:
    import pyarrow as pa

    if not have_times:
        return pa.array(cells, pa.date32())
    times = [datetime(*cell.timetuple()[:3]) if type(cell) is date else cell for cell in cells]
    return pa.array(times, pa.timestamp("us"))


def _text(cell: Any) -> str:
    """A cell of a column of mixed types, as it would be written in a text file."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return cell.isoformat() if isinstance(cell, date) else str(cell)
