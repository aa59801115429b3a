"""What every learner of conditional models is: frozen settings, and a way from a table to a circuit."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from tractable.data import Schema, Table
from tractable.learning.learner import CircuitLearner


@dataclass(frozen=True, kw_only=True)
class ConditionalLearner(CircuitLearner):
    """A learner of P(targets | inputs).

    The roles of the columns in the schema say which are targets and which inputs. Rows may be weighted.
    Targets may be missing, inputs may not.
    """

    single_target: ClassVar[bool] = False  # whether it learns one target only

    @final
    def _check_tables(self, table: Table, valid: Table | None) -> None:
        check_conditional_tables(table, valid)
        if self.single_target:
            _check_single_target(table.schema, self.name)


def check_conditional_tables(table: Table, valid: Table | None) -> None:
    """Refuse tables that no learner of conditional distributions takes.

    Raises:
        ValueError: if there are no targets, no inputs, potentials or missing inputs, or the schemas differ.
    """
    schema = table.schema
    for variable in schema:
        if variable.role == "potential":
            raise ValueError(f"column '{variable.name}' has the role 'potential': inputs hold values")
    for role, columns in (("target", schema.targets), ("input", schema.inputs)):
        if not columns.size:
            raise ValueError(
                f"no column has the role '{role}': a conditional model is of targets given inputs, and a"
                " joint learner such as eacmn or idspn needs no roles"
            )
    if valid is not None and valid.schema != schema:
        raise ValueError("the validation table has another schema than the training table")
    for name, some in (("training", table), ("validation", valid)):
        if some is not None:
            _check_inputs(some, name)


def _check_single_target(schema: Schema, learner: str) -> None:
    if schema.targets.size > 1:
        names = ", ".join(f"'{schema[c].name}'" for c in schema.targets.tolist())
        raise ValueError(
            f"{learner} learns a single target, not {names}: learn a model of each, or take mctbn, daclearn"
            " or gaclearn, which learn several targets together"
        )


def _check_inputs(table: Table, name: str) -> None:
    missing = np.argwhere(table.missing[:, table.schema.inputs])
    if missing.size:
        row, column = int(missing[0, 0]), int(table.schema.inputs[missing[0, 1]])
        raise ValueError(
            f"column '{table.schema[column].name}', row {row} of the {name} table is missing: inputs must"
            " have values; a joint learner such as eacmn or idspn takes missing cells everywhere"
        )
