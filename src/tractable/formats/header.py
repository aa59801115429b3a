"""Conversion of schemas and metadata to plain JSON values and back, with validation."""

import json
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple, cast, get_args

import numpy as np

from tractable.data.schema import Kind, Role, Schema, Variable
from tractable.data.states import separate_states

VERSION = 1
FARTHEST = 100_000  # rows and columns of a grid are fewer
FORMAT = "tractable circuit"


def plain_schema(schema: Schema) -> list[dict[str, Any]]:
    """A schema as JSON values; a state keeps its type: 1 and "1" are two."""
    return [
        {"name": v.name, "kind": v.kind, "role": v.role, "states": [plain(s) for s in v.states]}
        | ({} if v.place is None else {"place": list(v.place)})
        for v in schema
    ]


def schema_from_plain(value: object) -> Schema:
    """The schema that `plain_schema` described; the role of a target was called a feature once.

    Raises:
        ValueError: naming the column that is wrong.
    """
    if not isinstance(value, list):
        raise ValueError("the schema is not a list of columns")
    return Schema(tuple(_variable(number, column) for number, column in enumerate(value)))


def _variable(number: int, column: object) -> Variable:
    if not isinstance(column, dict) or set(column) - {"place"} != {"name", "kind", "role", "states"}:
        raise ValueError(f"column {number} of the schema is not name, kind, role and states")
    name, kind, role, states = (column[key] for key in ("name", "kind", "role", "states"))
    if not isinstance(name, str):
        raise ValueError(f"the name of column {number} is not text")
    if kind not in get_args(Kind):
        raise ValueError(f"column '{name}' is of the unknown kind {kind!r}")
    role = "target" if role == "feature" else role
    if role not in get_args(Role):
        raise ValueError(f"column '{name}' has the unknown role {role!r}")
    if not isinstance(states, list) or not all(isinstance(s, str | int | float) for s in states):
        raise ValueError(f"the states of column '{name}' are not a list of strings and numbers")
    place = _place(name, column.get("place"))
    parts = cast(Kind, kind), separate_states(states), cast(Role, role)
    return Variable(name, *parts, place=place)


def _place(name: str, place: object) -> tuple[int, int] | None:
    """The place of a column in a grid, if it has one."""
    if place is None:
        return None
    fine = (
        isinstance(place, list)
        and len(place) == 2
        and all(type(p) is int and 0 <= p < FARTHEST for p in place)
    )
    if not fine:
        raise ValueError(f"the place of column '{name}' is not a row and a column of a grid")
    row, column = cast("list[int]", place)
    return row, column


def plain(value: Any) -> Any:
    """A number of numpy as a number of Python; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def to_json(value: object) -> str:
    """The value as JSON on one line; text that UTF-8 cannot hold (half a surrogate pair) is escaped.

    Raises:
        ValueError: if it holds something that JSON cannot.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, default=_numpy_value)
        return text if _is_utf8(text) else json.dumps(value, default=_numpy_value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the provenance of the circuit cannot be written as JSON: {error}") from None


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _numpy_value(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{value!r} is not text, a number, a list or a dictionary")


def from_json(text: str | bytes) -> dict[str, Any]:
    """The JSON object of a text.

    Raises:
        ValueError: if it is not well formed, or nested beyond reason.
    """
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    except UnicodeDecodeError:
        raise ValueError("the text is not UTF-8") from None
    except ValueError as error:
        raise ValueError(f"the JSON is not well formed: {error}") from None
    if not isinstance(value, dict):
        raise ValueError("the JSON is not an object")
    return value


def check_version(header: dict[str, Any], wanted: str = FORMAT) -> None:
    """Refuse a file of another format or of a later version.

    Raises:
        ValueError: saying which.
    """
    if header.get("format") != wanted:
        raise ValueError(f"the file is not a {wanted}")
    if header.get("version") != VERSION:
        raise ValueError(
            f"the file has format version {header.get('version')!r}; this package reads {VERSION}"
        )


class Header(NamedTuple):
    """What every file of this package begins with, and its other entries."""

    schema: Schema
    about: dict[str, Any]
    entries: dict[str, Any]


def read_header(text: str | bytes, wanted: str = FORMAT) -> Header:
    """The header in a JSON text.

    Raises:
        ValueError: if the file is of another format or version, or naming what is wrong.
    """
    entries = from_json(text)
    check_version(entries, wanted)
    schema = schema_from_plain(entries.get("schema"))
    about = entries.get("about")
    if not isinstance(about, dict):
        raise ValueError("the provenance of the circuit is not a dictionary")
    return Header(schema, about, entries)


def package_version() -> str:
    """The version of this package, which files carry."""
    try:
        return version("tractable")
    except PackageNotFoundError:
        return "unknown"
