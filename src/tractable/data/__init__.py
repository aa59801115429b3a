"""Tables: schemas, readers, coding of cells, and evidence about rows."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tractable.data.convert import Names, Unseen, as_table, names_of
from tractable.data.evidence import Evidence, Interval, Region, States, parse_evidence
from tractable.data.output import frame_kind, to_frame
from tractable.data.problems import TableWarning, caution
from tractable.data.question import parse_conditions, parse_question
from tractable.data.schema import Kind, Role, Schema, Variable, discrete_schema
from tractable.data.states import State
from tractable.data.table import Table, collapse
from tractable.data.unseen import unseen_share, useful_validation, warn_of_unseen

if TYPE_CHECKING:
    from tractable.data.builtin import BUILTIN, breast_cancer, clinic, digits
    from tractable.data.filling import fill_cells
    from tractable.data.grid import Grid, grid_of, parse_grid, with_grid
    from tractable.data.parts import date_parts
    from tractable.data.readers import read, read_frame
    from tractable.data.schema_files import describe_columns, read_schema, schema_text

# A query reads no file and needs no built-in table: these are loaded when first asked for.
_HOME = {
    **dict.fromkeys(("BUILTIN", "breast_cancer", "clinic", "digits"), "builtin"),
    **dict.fromkeys(("Grid", "grid_of", "parse_grid", "with_grid"), "grid"),
    "date_parts": "parts",
    "fill_cells": "filling",
    **dict.fromkeys(("read", "read_frame"), "readers"),
    **dict.fromkeys(("describe_columns", "read_schema", "schema_text"), "schema_files"),
}

__all__ = [
    "BUILTIN",
    "Evidence",
    "Grid",
    "Interval",
    "Kind",
    "Names",
    "Region",
    "Role",
    "Schema",
    "State",
    "States",
    "Table",
    "TableWarning",
    "Unseen",
    "Variable",
    "as_table",
    "breast_cancer",
    "caution",
    "clinic",
    "collapse",
    "date_parts",
    "describe_columns",
    "digits",
    "discrete_schema",
    "fill_cells",
    "frame_kind",
    "grid_of",
    "names_of",
    "parse_conditions",
    "parse_evidence",
    "parse_grid",
    "parse_question",
    "read",
    "read_frame",
    "read_schema",
    "schema_text",
    "to_frame",
    "unseen_share",
    "useful_validation",
    "warn_of_unseen",
    "with_grid",
]


def __getattr__(name: str) -> Any:
    """A name of this package that is imported on first access."""
    if name not in _HOME:
        raise AttributeError(f"module 'tractable.data' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(f"tractable.data.{_HOME[name]}"), name)
    return value
