"""What every learner is: frozen settings, and a way from a table to a circuit."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from tractable.circuit import Graph
from tractable.data import Table
from tractable.progress import Watch
from tractable.settings.spaces import Space


@dataclass(frozen=True, kw_only=True)
class Learner(ABC):
    """Settings as fields, each with a comment. The same settings, table and seed give the same circuit.

    Rows may be weighted and cells may be missing.
    """

    name: ClassVar[str]  # as typed on the command line
    title: ClassVar[str]  # as shown to a reader
    space: ClassVar[Space]  # of the settings worth searching; holds their defaults

    @final
    def learn(
        self,
        table: Table,
        rng: np.random.Generator,
        *,
        valid: Table | None = None,
        watch: Watch | None = None,
    ) -> Graph:
        """A circuit over the table's columns; `valid` helps to choose, where there is something to choose.

        With a `watch` the work can be followed, and ended early with the best model so far.

        Raises:
            ValueError: if the tables do not fit together, or hold a column that is no random variable.
        """
        _check(table, valid)
        if watch is None:  # nobody asked for the best model so far: Ctrl-C interrupts as it always does
            return self._learn(table, rng, valid, Watch())
        with watch:
            return self._learn(table, rng, valid, watch)

    @abstractmethod
    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Graph:
        """The circuit; the best so far when `watch` says to stop."""


def require_at_least(learner: Learner, **least: float) -> None:
    """Refuse settings below their least value.

    Raises:
        ValueError: naming the setting and its value.
    """
    for name, bound in least.items():
        value = getattr(learner, name)
        if not value >= bound:
            raise ValueError(f"setting {name} of {learner.name} is at least {bound:g}, not {value}")


def require_numbers(learner: Learner, name: str, *, some: bool = True) -> None:
    """Make a setting of one or several numbers a tuple; refuse those below one and, if `some`, none at all.

    Raises:
        ValueError: naming the setting and its value.
    """
    value = getattr(learner, name)
    numbers = (value,) if isinstance(value, int) else tuple(value)
    object.__setattr__(learner, name, numbers)  # settings are frozen for everybody else
    if min(numbers, default=0 if some else 1) < 1:
        raise ValueError(f"setting {name} of {learner.name} are numbers from 1 up, not {value}")


def _check(table: Table, valid: Table | None) -> None:
    if not len(table.schema):
        raise ValueError("the table has no columns")
    for variable in table.schema:
        if variable.role == "potential":
            raise ValueError(f"column '{variable.name}' holds potentials: it is no variable to learn about")
    if valid is not None and valid.schema != table.schema:
        raise ValueError("the validation table has another schema than the training table")
