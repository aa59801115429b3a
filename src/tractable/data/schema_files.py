"""Schemas as editable JSON files: one entry per column, with its kind and its states."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from tractable.data.grid import Grid, with_grid
from tractable.data.schema import KINDS, Schema, Variable
from tractable.data.states import separate_states
from tractable.data.table import Table


def describe_columns(table: Table) -> list[dict[str, Any]]:
    """A plain description of each column: name, kind, states or range, and fraction of missing cells."""
    return [_describe(v, x) for v, x in zip(table.schema, table.values.T, strict=True)]


def _describe(variable: Variable, values: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": variable.name, "kind": variable.kind}
    seen = values[~np.isnan(values)]
    if variable.is_categorical:
        facts["states"] = list(variable.states)
    elif seen.size:
        facts["range"] = [_plain(variable.label(float(end))) for end in (seen.min(), seen.max())]
    return facts | {"missing": round(1.0 - seen.size / max(len(values), 1), 6)}


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


def schema_text(columns: list[dict[str, Any]], grid: Grid | None = None) -> str:
    """The text of a schema file; entries beyond the schema, such as the range, are informative only.

    A grid is stored as its height and width; it consists of the first columns, row by row.
    """
    lines = ",\n".join(f"  {json.dumps(column, ensure_ascii=False)}" for column in columns)
    size = "" if grid is None else f'"grid": {list(grid.columns.shape)}, '
    return f'{{{size}"columns": [\n{lines}\n]}}\n'


def read_schema(path: str | Path) -> Schema:
    """The schema in a file that `tractable schema` wrote and users may have edited.

    Raises:
        ValueError: naming the invalid column.
    """
    place = Path(path)
    if not place.is_file():
        raise ValueError(f"there is no file '{place}'")
    try:
        content = json.loads(place.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise ValueError(f"{place}: the text is not UTF-8") from None
    except RecursionError:
        raise ValueError(f"{place}: the JSON is nested too deeply") from None
    except ValueError as fault:
        raise ValueError(f"{place}: the JSON is not well formed: {fault}") from None
    columns = content.get("columns") if isinstance(content, dict) else content
    if not isinstance(columns, list) or not columns:
        raise ValueError(f"{place}: there is no list of columns")
    try:
        schema = Schema(tuple(_variable(number, column) for number, column in enumerate(columns)))
        grid = content.get("grid") if isinstance(content, dict) else None
        return schema if grid is None else with_grid(schema, _size(grid))
    except ValueError as fault:
        raise ValueError(f"{place}: {fault}") from None


def _size(grid: Any) -> list[int]:
    if not isinstance(grid, list) or len(grid) != 2 or not all(type(side) is int for side in grid):
        raise ValueError(f"the grid is not a list of height and width: {grid!r}")
    return grid


def _is_text(value: Any) -> bool:
    """Whether a value is text that can be encoded in UTF-8."""
    try:
        str(value).encode()
    except UnicodeEncodeError:
        return False
    return True


def _variable(number: int, column: Any) -> Variable:
    if not isinstance(column, dict) or not isinstance(column.get("name"), str):
        raise ValueError(f"column {number + 1} has no name, or one that is not text")
    name, kind, states = column["name"], column.get("kind"), column.get("states", [])
    if not all(_is_text(part) for part in (name, *(states if isinstance(states, list) else ()))):
        raise ValueError(
            f"column {number + 1}: its name or a state contains an unpaired surrogate, which is not text"
        )
    if kind not in KINDS:
        raise ValueError(f"column '{name}' cannot be {kind!r}: a kind must be one of {', '.join(KINDS)}")
    if kind not in ("categorical", "ordinal"):
        return Variable(name, kind)  # states that were left when the kind was edited say nothing
    if not isinstance(states, list) or not all(isinstance(s, str | int | float) for s in states):
        raise ValueError(f"the states of column '{name}' are not a list of strings and numbers")
    return Variable(name, kind, separate_states(states))
