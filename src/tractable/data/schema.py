"""Names, kinds and values of the columns of a table."""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from math import inf, isfinite
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.data.dates import DAY, Time, label_of, moment_of
from tractable.data.states import State, did_you_mean, equal_states, find_state, plain_value

Kind: TypeAlias = Literal["categorical", "ordinal", "real", "integer", "count", "date", "datetime"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Role: TypeAlias = Literal["target", "input", "potential"]


@dataclass(frozen=True, slots=True)
class Variable:
    """A column: its name, its kind and, if it is categorical, its states in the order of their codes.

    The kind determines the possible values. A `categorical` column has named states, an `ordinal` column
    ordered states. A `real` column has numbers with a density; an `integer` column has whole numbers, each
    with a probability; a `count` is a non-negative whole number. A `date` is a whole number of days since
    1970, a `datetime` a number of seconds since then.

    The role determines its use in a model. A `target` is a random variable. A model is conditional on an
    `input`, which always has a value. A `potential` holds the logarithm of a factor of each row. In a joint
    model all columns are targets.

    The label of a column in a frame need not be text. The name is that label as text, and `heading` is the
    label itself; files store only the name. A column may have a place in a grid, as pixels in an image
    (`data/grid.py`), which affects only how answers are drawn.
    """

    name: str
    kind: Kind = "categorical"
    states: tuple[State, ...] = ()
    role: Role = "target"
    label_in_frame: tuple[Hashable, ...] = field(default=(), compare=False, repr=False)  # empty: the name
    place: tuple[int, int] | None = field(default=None, compare=False, repr=False)  # in a grid: row, column

    def __post_init__(self) -> None:
        if self.is_categorical and not self.states:
            raise ValueError(f"column '{self.name}' is {self.kind} and has no states")
        if self.is_numeric and self.states:
            raise ValueError(f"column '{self.name}' is {self.kind} and cannot have states")
        if (twice := equal_states(self.states)) is not None:
            raise ValueError(_twice(self.name, *twice))
        for state in self.states:
            if isinstance(state, int | float) and not _is_number(state):
                told = str(state)[:40]
                raise ValueError(
                    f"column '{self.name}' has the state {told}: a state must be text or a finite number"
                )

    @property
    def heading(self) -> Any:
        """The label of the column in its original frame: the name, or a label that is not text."""
        return self.label_in_frame[0] if self.label_in_frame else self.name

    @property
    def is_categorical(self) -> bool:
        """Whether the column has named states, ordered (ordinal) or not."""
        return self.kind in ("categorical", "ordinal")

    @property
    def is_numeric(self) -> bool:
        """Whether the column has numbers rather than states."""
        return not self.is_categorical

    @property
    def is_whole(self) -> bool:
        """Whether the column has whole numbers, which have probabilities rather than densities."""
        return self.kind in ("integer", "count", "date")

    @property
    def is_time(self) -> bool:
        """Whether the column has dates or times."""
        return self.kind in ("date", "datetime")

    @property
    def has_text_states(self) -> bool:
        """Whether a state is text, so the states are not numbers."""
        return any(isinstance(state, str) for state in self.states)

    @property
    def cardinality(self) -> int:
        """The number of states; zero for a numeric column."""
        return len(self.states)

    def code(self, value: object) -> float:
        """The number that represents `value` in a table.

        Raises:
            ValueError: if the value is invalid for the column.
        """
        if self.is_categorical:
            return float(_state_code(self, value))
        number = self.bound(value)
        if not isfinite(number):
            raise ValueError(f"column '{self.name}': {value!r} is not a finite number")
        if self.kind == "count" and (number < 0 or number != int(number)):
            raise ValueError(
                f"column '{self.name}' holds counts, but {value!r} is not a non-negative whole number"
            )
        if self.is_whole and number != int(number):
            what = "dates" if self.kind == "date" else "whole numbers"
            raise ValueError(f"column '{self.name}' holds {what}, but {value!r} is not one")
        return number

    def bound(self, value: object) -> float:
        """The number that represents an end of an interval, which need not be a possible value.

        Raises:
            ValueError: if the value is not a number, or not a date in a column of dates.
        """
        moment = moment_of(value) if self.is_time else None
        if moment is not None:
            return moment / DAY if self.kind == "date" else moment
        return _number(self, value)

    def label(self, code: float) -> State | date:
        """The value that a number of a table represents; a date in a column of dates."""
        if self.is_categorical:
            return self.states[int(code)]
        if self.is_time:
            return label_of(code, cast(Time, self.kind))
        return round(code) if self.is_whole else float(code)


def _twice(name: str, one: State, other: State) -> str:
    """The error message for two states of a column that are equal in Python."""
    if type(one) is type(other):
        return f"column '{name}' has the same state twice"
    return f"column '{name}' has the states {one!r} and {other!r}, which Python takes for one: make them text"


def _is_number(state: float) -> bool:
    """Whether a state is a finite number that a double can represent."""
    try:
        return isfinite(state)
    except OverflowError:  # a whole number of more than 308 digits
        return False


def _state_code(variable: Variable, value: object) -> int:
    """The position of the state that equals a value according to `find_state`."""
    code = find_state(variable.states, value)
    if code is not None:
        return code
    plain = plain_value(value)
    known = ", ".join(repr(s) for s in variable.states[:6]) + (", ..." if variable.cardinality > 6 else "")
    near = did_you_mean(plain, variable.states)
    raise ValueError(f"column '{variable.name}' has no state {plain!r} (its states: {known}){near}")


def _number(variable: Variable, value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:  # a whole number of Python that no double can hold
        return inf if value > 0 else -inf  # type: ignore[operator]
    except (TypeError, ValueError):
        wanted = "a date such as 2020-12-31" if variable.is_time else "a number"
        raise ValueError(f"column '{variable.name}' is {variable.kind}: {value!r} is not {wanted}") from None


@dataclass(frozen=True, eq=True)
class Schema:
    """The columns of a table in order, with unique names."""

    variables: tuple[Variable, ...]

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for variable in self.variables:
            if variable.name in seen:
                raise ValueError(f"two columns are called '{variable.name}'")
            seen.add(variable.name)

    def __len__(self) -> int:
        return len(self.variables)

    def __iter__(self) -> Iterator[Variable]:
        return iter(self.variables)

    def __getitem__(self, column: int) -> Variable:
        return self.variables[column]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(v.name for v in self.variables)

    @cached_property
    def cardinalities(self) -> Ints:
        """The number of states of each column; zero for numeric columns. Shape (columns,)."""
        return np.array([v.cardinality for v in self.variables], dtype=np.int64)

    @cached_property
    def targets(self) -> Ints:
        """The columns that are random variables, ascending."""
        return np.flatnonzero(~self.is_given)

    @cached_property
    def inputs(self) -> Ints:
        """The columns with values that a model is conditional on, ascending."""
        return np.flatnonzero(self.is_given & ~self.is_potential)

    @cached_property
    def is_given(self) -> Bools:
        """Which columns a model is conditional on: inputs and potentials. Shape (columns,)."""
        return np.array([v.role != "target" for v in self.variables], dtype=np.bool_)

    @cached_property
    def is_potential(self) -> Bools:
        """Which columns hold factors instead of values. Shape (columns,)."""
        return np.array([v.role == "potential" for v in self.variables], dtype=np.bool_)

    @cached_property
    def is_whole(self) -> Bools:
        """Which columns hold whole numbers. Shape (columns,)."""
        return np.array([v.is_whole for v in self.variables], dtype=np.bool_)

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """The minimum and maximum number in each column. Shapes (columns,)."""
        finite = np.finfo(np.float64).max
        low = [0.0 if v.is_categorical or v.kind == "count" else -finite for v in self.variables]
        high = [v.cardinality - 1.0 if v.is_categorical else finite for v in self.variables]
        return np.array(low), np.array(high)

    @cached_property
    def is_plain(self) -> bool:
        """Whether every state equals its code, so that numbers need no coding."""
        return all(v.states == tuple(range(v.cardinality)) for v in self.variables)

    @cached_property
    def headings(self) -> tuple[Any, ...]:
        """The labels of the columns in their original frame: names, or labels that are not text."""
        return tuple(v.heading for v in self.variables)

    @cached_property
    def _column(self) -> dict[Hashable, int]:
        return {**_positions(self.headings), **_positions(self.names)}

    def column(self, name: Hashable) -> int:
        """The position of a column, given by its name, its heading, or a label that reads like its name.

        Raises:
            ValueError: if there is no such column.
        """
        position = self._column.get(name) if isinstance(name, Hashable) else None
        if position is None:
            position = self._column.get(label_text(name))
        if position is None:
            near = did_you_mean(name, self.names)
            raise ValueError(f"there is no column '{name}' (columns: {_few(self.names)}){near}")
        return position

    def columns(self, names: Iterable[Hashable]) -> list[int]:
        """The positions of several columns."""
        return [self.column(name) for name in names]

    def with_inputs(self, columns: Iterable[int]) -> "Schema":
        """The schema in which the given columns are inputs; others keep their roles."""
        inputs = {int(c) for c in columns}
        return Schema(
            tuple(replace(v, role="input") if c in inputs else v for c, v in enumerate(self.variables))
        )

    def with_targets(self, columns: Iterable[int]) -> "Schema":
        """The schema in which the given columns are targets and all others inputs, except potentials."""
        targets = {int(c) for c in columns}
        roles: list[Role] = ["target" if c in targets else "input" for c in range(len(self))]
        return Schema(
            tuple(
                v if v.role == "potential" else replace(v, role=role)
                for v, role in zip(self.variables, roles, strict=True)
            )
        )

    def select(self, columns: Iterable[int]) -> "Schema":
        """The schema of the given columns."""
        return Schema(tuple(self.variables[int(c)] for c in columns))


def label_text(label: object) -> str:
    """The name of a column with a label of any type; numpy numbers are written like Python numbers."""
    if isinstance(label, tuple):
        return str(tuple(part.item() if isinstance(part, np.generic) else part for part in label))
    return str(label)


def _positions(labels: tuple[Hashable, ...]) -> dict[Hashable, int]:
    return {label: i for i, label in enumerate(labels)}


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{n}'" for n in names[:8]) + (", ..." if len(names) > 8 else "")


def discrete_schema(cardinalities: Iterable[int]) -> Schema:
    """A schema of categorical columns `x0`, `x1`, ... with states 0, 1, ..."""
    return Schema(
        tuple(Variable(f"x{i}", "categorical", tuple(range(int(k)))) for i, k in enumerate(cardinalities))
    )
