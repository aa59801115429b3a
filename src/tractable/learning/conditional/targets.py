"""What learners of categorical targets ask of their tables."""

import numpy as np

from tractable.data import Schema, Table
from tractable.learning.conditional.roles import as_joint_table
from tractable.learning.joint.completion import complete


def require_categorical_targets(schema: Schema, learner: str) -> None:
    """Refuse targets that are numbers.

    Raises:
        ValueError: naming the first of them.
    """
    for column in schema.targets.tolist():
        if schema[column].is_numeric:
            raise ValueError(
                f"column '{schema[column].name}' is {schema[column].kind}: {learner} learns categorical"
                " targets; cacmn and joint learners take numbers"
            )


def complete_targets(
    table: Table, valid: Table | None, rng: np.random.Generator
) -> tuple[Table, Table | None]:
    """The tables without missing targets: some weighted rows, drawn from a tree, stand for a row with any."""
    tables = complete(as_joint_table(table), None if valid is None else as_joint_table(valid), rng)
    whole, held = (None if t is None else Table(table.schema, t.values, t.row_weights) for t in tables)
    assert whole is not None
    return whole, held
