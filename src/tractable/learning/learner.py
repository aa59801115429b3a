"""The base classes of learners: frozen settings, and a method that learns a circuit from a table."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from tractable.base.progress import Watch
from tractable.base.settings import Configurable, setting
from tractable.circuit import Graph
from tractable.data import Table, useful_validation
from tractable.learning.statistics.pooled_states import pool_states


class Learned(NamedTuple):
    """The result of a learner: the circuit and, by name, additional results."""

    graph: Graph
    extras: Mapping[str, Any] = {}  # an estimator shows the extra `network` as its attribute `network_`


@dataclass(frozen=True, kw_only=True)
class CircuitLearner(Configurable, ABC):
    """A learner of circuits. Settings, table and seed determine the circuit."""

    extra_texts: ClassVar[Mapping[str, str]] = {}  # what the extras are that it finds, by name
    recorded: ClassVar[tuple[str, ...]] = ()  # extras that a model's record keeps; they are plain values

    @final
    def learn(
        self,
        table: Table,
        rng: np.random.Generator,
        *,
        valid: Table | None = None,
        watch: Watch | None = None,
    ) -> Graph:
        """A circuit over the table's columns; `valid` are rows for model selection and early stopping.

        A `watch` reports progress and can end learning early with the best model so far.

        Raises:
            ValueError: if the schemas of the tables differ, or the learner does not support a column.
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
        """The learned circuit with the additional results of the learner.

        Raises:
            ValueError: as in `learn`.
        """
        self._check_tables(table, valid)
        valid = useful_validation(valid)
        if watch is None:  # nobody asked for the best model so far: Ctrl-C interrupts as it always does
            return self._learn_as_seen(table, rng, valid, Watch())
        with watch:
            return self._learn_as_seen(table, rng, valid, watch)

    def _learn_as_seen(
        self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch
    ) -> Learned:
        """The result of `_learn`, after a transformation of the tables by the type of learner."""
        return self._learn(table, rng, valid, watch)

    @abstractmethod
    def _check_tables(self, table: Table, valid: Table | None) -> None:
        """Refuse tables that this type of learner does not support.

        Raises:
            ValueError: naming the problem.
        """

    @abstractmethod
    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        """The circuit, or the best one so far when `watch` says to stop."""


@dataclass(frozen=True, kw_only=True)
class Learner(CircuitLearner):
    """A learner of joint distributions. Rows may be weighted and cells may be missing."""

    @final
    def _check_tables(self, table: Table, valid: Table | None) -> None:
        check_tables(table, valid)


@dataclass(frozen=True, kw_only=True)
class PoolingLearner(Learner):
    """A learner whose memory grows with the states of columns, limited to `max_states` per column."""

    max_states: int = setting(
        256,
        "Maximum number of states of a column with separate parameters. In columns with more states, the"
        " rarest states share parameters in proportion to their frequency. Larger values take more memory.",
        at_least=2,
    )

    @final
    def _learn_as_seen(
        self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch
    ) -> Learned:
        """The result on tables in which the rarest states of large columns are pooled."""
        pools = pool_states(table, self.max_states)
        if pools is None:
            return self._learn(table, rng, valid, watch)
        learned = self._learn(pools.code(table), rng, None if valid is None else pools.code(valid), watch)
        return learned._replace(graph=pools.decode(learned.graph))


def check_tables(table: Table, valid: Table | None) -> None:
    """Refuse tables that no learner supports.

    Raises:
        ValueError: if there are no columns, a column is a potential, or the schemas differ.
    """
    if not len(table.schema):
        raise ValueError("the table has no columns")
    for variable in table.schema:
        if variable.role != "target":
            role = f"column '{variable.name}' has the role '{variable.role}'"
            raise ValueError(f"{role}: a joint distribution is over targets only")
    if valid is not None and valid.schema != table.schema:
        raise ValueError("the schemas of the training table and the validation table differ")
