"""Reading of JSON: a list of records, a dictionary of columns, or one record per line."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tractable.data.cells import table_of_cells
from tractable.data.encodings import as_utf8
from tractable.data.layout import Layout
from tractable.data.source import Source


def read_json(source: Source, layout: Layout) -> Any:
    """The table in a JSON file: `[{...}, ...]`, `{"a": [...], ...}` or what pandas writes.

    Raises:
        ValueError: if the JSON is not well formed, or not a table.
    """
    text = as_utf8(source.read(), source.name, layout.encoding).decode()
    try:
        content = json.loads(text)
    except json.JSONDecodeError as fault:
        if fault.msg == "Extra data" and text.lstrip().startswith("{"):  # one record a line
            return _table(source, _records_of_lines(source, text), layout)
        raise ValueError(_not_well_formed(source, fault, fault.lineno)) from None
    except (RecursionError, ValueError) as fault:  # numbers of too many digits are a ValueError
        raise ValueError(f"{source}: the JSON is not well formed: {_first_line(fault)}") from None
    return _table(source, content, layout)


def read_json_lines(source: Source, layout: Layout) -> Any:
    """The table in a file with one JSON record per line.

    Raises:
        ValueError: naming the line that is not a record.
    """
    import pyarrow as pa
    from pyarrow import json as arrow

    raw = as_utf8(source.read(), source.name, layout.encoding)
    if not layout.na:
        try:
            frame = arrow.read_json(pa.BufferReader(raw), arrow.ReadOptions(block_size=1 << 26))
            frame.validate(full=True)
            frame.column_names  # noqa: B018 - which are decoded here
            return frame
        except (pa.ArrowException, UnicodeDecodeError, OSError):
            pass  # cells of several types in one column, or the line at fault is found below
    return _table(source, _records_of_lines(source, raw.decode()), layout)


def _records_of_lines(source: Source, text: str) -> list[Any]:
    records = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                records.append(json.loads(line))
            except json.JSONDecodeError as fault:
                raise ValueError(_not_well_formed(source, fault, number)) from None
            except (RecursionError, ValueError) as fault:
                raise ValueError(f"{source}, line {number}: {_first_line(fault)}") from None
    return records


def _not_well_formed(source: Source, fault: json.JSONDecodeError, line: int) -> str:
    return f"{source}, line {line}: the JSON is not well formed: {fault.msg} at character {fault.colno}"


def _first_line(fault: Exception) -> str:
    return (str(fault).splitlines() or [type(fault).__name__])[0]


def _table(source: Source, content: Any, layout: Layout) -> Any:
    try:
        names, columns = _columns(content, layout)
        return table_of_cells(names, columns, layout.na)
    except ValueError as fault:
        raise ValueError(f"{source}: {fault}") from None
    except (OverflowError, UnicodeEncodeError):  # a number beyond all doubles, or half of a pair of letters
        raise ValueError(
            f"{source}: a cell is a number that is too large, or text that is not valid UTF-8"
        ) from None


def _columns(content: Any, layout: Layout) -> tuple[list[str], list[Sequence[Any]]]:
    """The names and the cells of the columns."""
    if isinstance(content, Mapping) and isinstance(content.get("data"), list):  # of pandas: split or table
        rows, names = content["data"], content.get("columns")
        return _columns_of_rows(rows, names, layout) if names is not None else _columns(rows, layout)
    if isinstance(content, Mapping):
        content = list(content.values()) if _are_rows(content) else content
    if isinstance(content, Mapping):
        return _columns_by_name(content)
    if not isinstance(content, list):
        raise ValueError("a table in JSON must be a list of records or a dictionary of columns")
    if content and all(isinstance(row, list) for row in content):
        return _columns_of_rows(content, None, layout)
    for number, row in enumerate(content):
        if not isinstance(row, Mapping):
            raise ValueError(f"row {number} of the list is not a record with names and cells")
    names = list(dict.fromkeys(name for row in content for name in row))
    return names, [[row.get(name) for row in content] for name in names]


def _are_rows(content: Mapping[str, Any]) -> bool:
    """Whether a dictionary holds rows by number rather than columns by name."""
    if not all(isinstance(row, Mapping) for row in content.values()):
        return False
    names = [name for row in content.values() for name in row]
    return all(key.isdecimal() for key in content) and not all(name.isdecimal() for name in names)


def _columns_by_name(content: Mapping[str, Any]) -> tuple[list[str], list[Sequence[Any]]]:
    """The columns of a dictionary of lists, or of dictionaries by row, as pandas writes it."""
    rows: Any = None
    for name, cells in content.items():
        if not isinstance(cells, list | Mapping):
            raise ValueError(
                f"'{name}' is not a list of cells: a table must be a list of records or a dictionary of"
                " columns"
            )
        keys = list(cells) if isinstance(cells, Mapping) else len(cells)
        rows = keys if rows is None else rows
        if keys != rows:
            raise ValueError(f"column '{name}' does not have the rows of the columns before it")
    return list(content), [c if isinstance(c, list) else list(c.values()) for c in content.values()]


def _columns_of_rows(rows: list[Any], names: Any, layout: Layout) -> tuple[list[str], list[Sequence[Any]]]:
    width = len(names) if isinstance(names, list) else len(rows[0])
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != width:
            raise ValueError(f"row {number} of the list does not have {width} cells")
    named = list(map(str, names)) if isinstance(names, list) else layout.names_for(width)
    if len(set(named)) < width:
        raise ValueError("two columns have the same name")
    return named, [[row[i] for row in rows] for i in range(width)]
