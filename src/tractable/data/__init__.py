"""Tables: what their columns are, how they are read and coded, and what is known of a row."""

from tractable.data.builtin import BUILTIN, breast_cancer, clinic, digits
from tractable.data.caution import TableWarning, caution
from tractable.data.collapse import collapse
from tractable.data.convert import Unseen, as_table
from tractable.data.evidence import Evidence, parse_evidence
from tractable.data.infer import infer_schema
from tractable.data.output import frame_kind, to_frame
from tractable.data.parts import date_parts
from tractable.data.question import parse_conditions, parse_question
from tractable.data.readers import read
from tractable.data.regions import Interval, Region, States
from tractable.data.schema import Kind, Role, Schema, State, Variable, discrete_schema
from tractable.data.schema_files import describe_columns, read_schema, schema_text
from tractable.data.table import Table
from tractable.data.unseen import unseen_share, warn_of_unseen

__all__ = [
    "BUILTIN",
    "Evidence",
    "Interval",
    "Kind",
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
    "frame_kind",
    "infer_schema",
    "parse_conditions",
    "parse_evidence",
    "parse_question",
    "read",
    "read_schema",
    "schema_text",
    "to_frame",
    "unseen_share",
    "warn_of_unseen",
]
