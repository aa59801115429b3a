"""Tables: what their columns are, how they are read and coded, and what is known of a row."""

from tractable.data.builtin import BUILTIN, breast_cancer, clinic, digits
from tractable.data.caution import TableWarning, caution
from tractable.data.collapse import collapse
from tractable.data.convert import as_table
from tractable.data.evidence import Evidence, parse_evidence
from tractable.data.infer import infer_schema
from tractable.data.output import frame_kind, to_frame
from tractable.data.question import parse_conditions, parse_question
from tractable.data.readers import read
from tractable.data.regions import Interval, Region, States
from tractable.data.schema import Kind, Role, Schema, State, Variable, discrete_schema
from tractable.data.table import Table

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
    "Variable",
    "as_table",
    "breast_cancer",
    "caution",
    "clinic",
    "collapse",
    "digits",
    "discrete_schema",
    "frame_kind",
    "infer_schema",
    "parse_conditions",
    "parse_evidence",
    "parse_question",
    "read",
    "to_frame",
]
