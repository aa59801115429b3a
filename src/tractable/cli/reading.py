"""The options for reading tables, declared once for all commands."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tractable.cli import options

if TYPE_CHECKING:
    from tractable.data import Schema, Table
    from tractable.data.source import Source
    from tractable.model import Circuit

SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The options of a command for reading tables; each field is an option."""

    kinds: options.Kinds = None
    drop: options.Drop = None
    text: options.Text = None
    table_name: options.TableName = None
    sep: options.Sep = None
    na: options.Marks = None
    encoding: options.Encoding = None
    no_header: options.NoHeader = False
    skip: options.Skip = 0
    decimal: options.Decimal = None
    parts: options.Parts = None
    schema: options.SchemaFile = None
    unseen: options.Unseen = "share"
    grid: options.Grid = None

    def table(
        self,
        path: "Path | Source",
        weight: str | None = None,
        *,
        schema: "Schema | None" = None,
        without: Collection[str] = (),
    ) -> "Table":
        """The table in a file; with the schema of training rows, unknown states are treated as missing.

        A schema that is given as a file is taken to list all states.
        """
        from tractable.data import parse_grid, read

        lenient = schema is not None and self.unseen == "share"
        return read(
            path,
            schema=schema or self.schema,
            weight=weight,
            kinds=self._kinds(without),
            drop=[*_columns(self.drop), *without],
            text=_columns(self.text),
            table=self.table_name,
            **self._layout,
            parts=_parts(self.parts),
            unseen="missing" if lenient else "error",
            grid=None if self.grid is None or schema is not None else parse_grid(self.grid),
        )

    def frame(self, source: "Source", schema: "Schema | None" = None, without: Collection[str] = ()) -> Any:
        """The uncoded table in a file, as an arrow table."""
        from tractable.data import read_frame, read_schema

        return read_frame(
            source,
            schema=schema or (None if self.schema is None else read_schema(self.schema)),
            kinds=self._kinds(without),
            drop=[*_columns(self.drop), *without],
            text=_columns(self.text),
            parts=_parts(self.parts),
            **self._layout,
        )

    def source(self, path: Path) -> "Source":
        """The source of a file, which can be read several times."""
        from tractable.data.source import find_source

        return find_source(path, self.table_name)

    @property
    def _layout(self) -> dict[str, Any]:
        """The layout options of a file, as `read` takes them."""
        return {
            "sep": None if self.sep is None else SEPARATORS.get(self.sep, self.sep),
            "na": self.na or (),
            "encoding": self.encoding,
            "header": not self.no_header,
            "skip": self.skip,
            "decimal": self.decimal,
        }

    def _kinds(self, without: Collection[str] = ()) -> Any:
        """The requested kinds of columns that are not left out, or None."""
        chosen = _pairs(self.kinds, "--kinds")
        return {name: kind for name, kind in chosen.items() if name not in without} or None

    def problems(self, source: "Source") -> dict[str, str]:
        """The problem with each unusable column of a file, by name."""
        from tractable.data import as_table, read_schema
        from tractable.data.problems import find_problems

        known = None if self.schema is None else read_schema(self.schema)
        kinds = self._kinds() or {}

        def code(column: Any, name: str) -> "Table | None":
            if known is not None and name not in known.names:
                return None
            one = None if known is None else known.select([known.column(name)])
            kind: Any = {name: kinds[name]} if name in kinds else None
            text = {name}.intersection(_columns(self.text))
            return as_table(column, one, kinds=kind, text=text, na=self.na or ())

        return find_problems(lambda without: self.frame(source, without=without), code)

    def rows_for(self, circuit: "Circuit", path: "Path | Source", weight: str | None = None) -> "Table":
        """The table in a file, coded for a model, which may reserve no probability for unknown states."""
        from dataclasses import replace

        strict = self if circuit.unseen_share is not None else replace(self, unseen="error")
        return strict.table(path, weight, schema=circuit.schema)


def reads_tables(command: Callable[..., None]) -> Callable[..., None]:
    """A command with one option for each field of `Reading`, passed as its parameter `reading`."""

    @wraps(command)
    def run(**given: Any) -> None:
        chosen = {field.name: given.pop(field.name) for field in fields(Reading)}
        command(reading=Reading(**chosen), **given)

    own = [p for p in signature(command).parameters.values() if p.name != "reading"]
    added = [
        Parameter(f.name, Parameter.KEYWORD_ONLY, default=f.default, annotation=f.type)
        for f in fields(Reading)
    ]
    last = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in own]
    run.__signature__ = signature(command).replace(parameters=[*last, *added])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in (*own, *added)}
    return run


def _columns(lists: list[str] | None) -> list[str]:
    """The column names in comma-separated lists; an empty list is the column without a name."""
    return [name for text in lists or [] for name in options.names(text) or [""]]


def _pairs(texts: list[str] | None, option: str) -> dict[str, str]:
    """The names and values in texts such as `a=real,b=count`."""
    pairs: dict[str, str] = {}
    for text in texts or []:
        for part in filter(None, text.split(",")):
            name, equals, value = part.rpartition("=")
            if not equals or not name.strip():
                raise ValueError(f"{option}: {part!r} is not of the form NAME=VALUE")
            pairs[name.strip()] = value.strip()
    return pairs


def _parts(texts: list[str] | None) -> dict[str, list[str]]:
    """The parts of each date column in texts such as `when=month,weekday`."""
    date_parts: dict[str, list[str]] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"--parts: {text!r} is not of the form NAME=PART,PART")
        date_parts[name.strip()] = options.names(value)
    return date_parts
