"""What every learner of conditional models is: frozen settings, and a way from a table to a circuit."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from tractable.circuit import Graph
from tractable.data import Table
from tractable.learners.learner import Learned
from tractable.progress import Watch
from tractable.settings import Configurable


@dataclass(frozen=True, kw_only=True)
class ConditionalLearner(Configurable, ABC):
    """A learner of P(targets | inputs). The same settings, table and seed give the same circuit.

    The roles of the columns in the schema say which are targets and which inputs. Rows may be weighted.
    Targets may be missing, inputs may not.
    """

    extra_texts: ClassVar[Mapping[str, str]] = {}  # what the extras are that it finds, by name

    @final
    def learn(
        self,
        table: Table,
        rng: np.random.Generator,
        *,
        valid: Table | None = None,
        watch: Watch | None = None,
    ) -> Graph:
        """A circuit over the table's columns; `valid` are rows by which learners choose between models.

        With a `watch` the work can be followed, and ended early with the best model so far.

        Raises:
            ValueError: if the tables do not fit together, have no targets or no inputs, or miss an input.
        """
        return self.learn_with_extras(table, rng, valid=valid, watch=watch).graph

    @final
    def learn_with_extras(
        self,
        table: Table,
        rng: np.random.Generator,
        *,
        valid: Table | None = None,
        watch: Watch | None = None,
    ) -> Learned:
        """The same circuit with what else the learner found.

        Raises:
            ValueError: as `learn` does.
        """
        check_conditional_tables(table, valid)
        if watch is None:  # nobody asked for the best model so far: Ctrl-C interrupts as it always does
            return self._learn(table, rng, valid, Watch())
        with watch:
            return self._learn(table, rng, valid, watch)

    @abstractmethod
    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        """The circuit; the best so far when `watch` says to stop."""


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


def _check_inputs(table: Table, name: str) -> None:
    missing = np.argwhere(table.missing[:, table.schema.inputs])
    if missing.size:
        row, column = int(missing[0, 0]), int(table.schema.inputs[missing[0, 1]])
        raise ValueError(
            f"column '{table.schema[column].name}', row {row} of the {name} table is missing: inputs must"
            " have values; a joint learner such as eacmn or idspn takes missing cells everywhere"
        )
