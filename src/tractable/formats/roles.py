"""Roles of columns, which file formats of other programs do not support."""

from tractable.data.caution import caution
from tractable.data.schema import Schema


def warn_of_lost_roles(schema: Schema, suffix: str) -> None:
    """Warn that a file does not record the inputs of a circuit."""
    given = [v.name for v in schema if v.role != "target"]
    if given:
        some = ", ".join(f"'{name}'" for name in given[:4]) + (", ..." if len(given) > 4 else "")
        caution(
            f"a {suffix} file does not record that {some} are inputs: specify them again when it is read"
            " (Circuit.conditional_on, tractable convert --inputs)"
        )
