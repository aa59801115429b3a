"""What every learner of conditional models is: frozen settings, and a way from a table to a circuit."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np

from tractable.base.progress import Watch
from tractable.circuit import Graph
from tractable.data import Schema, Table
from tractable.learning.learner import CircuitLearner, Learned


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


@dataclass(frozen=True, kw_only=True)
class CompleteTargetsLearner(ConditionalLearner):
    """A learner of categorical targets that sees rows without missing targets.

    Sums of floating-point numbers do not depend on the number of threads: BLAS has one.
    """

    @final
    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        require_categorical_targets(table.schema, self.name)
        whole, held = complete_targets(table, valid, rng)
        held = held if held is not None and held.total_weight else None
        with threadpool_limits(1, user_api="blas"):
            return self._learn_complete(whole, rng, held, watch)

    @abstractmethod
    def _learn_complete(
        self, table: Table, rng: np.random.Generator, held: Table | None, watch: Watch
    ) -> Learned:
        """The circuit of weighted rows without missing cells; the best so far when `watch` says to stop."""


def check_conditional_tables(table: Table, valid: Table | None) -> None:
    """Refuse tables that conditional learners do not support.

    Raises:
        ValueError: if there are no targets, no inputs, potentials or missing inputs, or the schemas differ.
    """
    schema = table.schema
    for variable in schema:
        if variable.role == "potential":
            raise ValueError(
                f"column '{variable.name}' has the role 'potential', but inputs must hold values"
            )
    for role, columns in (("target", schema.targets), ("input", schema.inputs)):
        if not columns.size:
            raise ValueError(
                f"no column has the role '{role}': a conditional model predicts targets from inputs; a joint"
                " learner such as eacmn or idspn needs no roles"
            )
    if valid is not None and valid.schema != schema:
        raise ValueError("the schemas of the training table and the validation table differ")
    for name, some in (("training", table), ("validation", valid)):
        if some is not None:
            _check_inputs(some, name)


def _check_single_target(schema: Schema, learner: str) -> None:
    if schema.targets.size > 1:
        names = ", ".join(f"'{schema[c].name}'" for c in schema.targets.tolist())
        raise ValueError(
            f"{learner} supports a single target, not {names}: learn a model for each, or use mctbn,"
            " daclearn or gaclearn, which support several targets"
        )


def _check_inputs(table: Table, name: str) -> None:
    missing = np.argwhere(table.missing[:, table.schema.inputs])
    if missing.size:
        row, column = int(missing[0, 0]), int(table.schema.inputs[missing[0, 1]])
        raise ValueError(
            f"column '{table.schema[column].name}', row {row} of the {name} table is missing: inputs must"
            " have values; a joint learner such as eacmn or idspn accepts missing cells everywhere"
        )


def with_roles(graph: Graph, schema: Schema) -> Graph:
    """The circuit over the same columns with the roles of a schema."""
    return replace(graph, schema=schema)


def as_joint_table(table: Table) -> Table:
    """The rows with all columns as targets."""
    schema = table.schema.with_targets(range(len(table.schema)))
    return Table(schema, table.values, table.weights, table.unseen)


def require_categorical_targets(schema: Schema, learner: str) -> None:
    """Refuse targets that are numbers.

    Raises:
        ValueError: naming the first of them.
    """
    for column in schema.targets.tolist():
        if schema[column].is_numeric:
            raise ValueError(
                f"column '{schema[column].name}' is {schema[column].kind}: {learner} supports only"
                " categorical targets; cacmn and joint learners support numeric ones"
            )


def complete_targets(
    table: Table, valid: Table | None, rng: np.random.Generator
) -> tuple[Table, Table | None]:
    """The tables without missing targets: some weighted rows, drawn from a tree, stand for a row with any."""
    from tractable.learning.joint.completion import complete

    tables = complete(as_joint_table(table), None if valid is None else as_joint_table(valid), rng)
    whole, held = (None if t is None else Table(table.schema, t.values, t.row_weights) for t in tables)
    assert whole is not None
    return whole, held
