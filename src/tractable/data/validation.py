"""A check of validation tables."""

from tractable.data.caution import caution
from tractable.data.table import Table


def useful_validation(valid: Table | None) -> Table | None:
    """The validation table, or None, with a warning, if no row of it is informative."""
    if valid is None or len(valid.useful_rows()):
        return valid
    columns = "cell" if valid.schema.targets.size == len(valid.schema) else "target"
    caution(f"the validation table is not used: none of its rows has both a weight and a known {columns}")
    return None
