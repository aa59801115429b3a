"""What a table's columns are called and which values they take."""

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
    """One column: its name, its kind and, when it is categorical, its states in the order of their codes.

    Its kind says which values there are. A `categorical` column has named states, an `ordinal` one has states
    in an order that means something. A `real` column holds numbers that have a density; an `integer` column
    holds whole numbers, each of which has a probability; a `count` is a whole number from zero up. A `date`
    is a whole number of days since 1970, a `datetime` a number of seconds since then.

    Its role says what a model does with it. A `target` is a random variable. A model is conditional on an
    `input`, which always has a value. A `potential` holds the logarithm of a factor that comes with each row.
    A joint model is one in which every column is a target.

    A frame may call its columns by something else than text. The name is that label as text, and `heading` is
    the label itself; files keep the name alone. A column may have a place in a grid, as pixels have in an
    image (`data/grid.py`); it says how answers are drawn, and two columns are the same wherever they are.
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
                    f"column '{self.name}' has the state {told}: a state is text or a finite number"
                )

    @property
    def heading(self) -> Any:
        """What the column is called in the frame that it came from: its name, or a label that is no text."""
        return self.label_in_frame[0] if self.label_in_frame else self.name

    @property
    def is_categorical(self) -> bool:
        """Whether the column takes one of a few states, ordered (ordinal) or not."""
        return self.kind in ("categorical", "ordinal")

    @property
    def is_numeric(self) -> bool:
        """Whether the column takes numbers that are not listed one by one."""
        return not self.is_categorical

    @property
    def is_whole(self) -> bool:
        """Whether the column takes whole numbers, each of which has a probability and not a density."""
        return self.kind in ("integer", "count", "date")

    @property
    def is_time(self) -> bool:
        """Whether the column takes dates or times."""
        return self.kind in ("date", "datetime")

    @property
    def has_text_states(self) -> bool:
        """Whether a state is text, so that the states are no numbers."""
        return any(isinstance(state, str) for state in self.states)

    @property
    def cardinality(self) -> int:
        """The number of states; zero for a numeric column."""
        return len(self.states)

    def code(self, value: object) -> float:
        """The number that stands for `value` in a table.

        Raises:
            ValueError: if the column cannot take that value.
        """
        if self.is_categorical:
            return float(_state_code(self, value))
        number = self.bound(value)
        if not isfinite(number):
            raise ValueError(f"column '{self.name}': {value!r} is not a finite number")
        if self.kind == "count" and (number < 0 or number != int(number)):
            raise ValueError(f"column '{self.name}' counts: {value!r} is not a whole number from 0 up")
        if self.is_whole and number != int(number):
            what = "holds whole days" if self.kind == "date" else "holds whole numbers"
            raise ValueError(f"column '{self.name}' {what}: {value!r} is none")
        return number

    def bound(self, value: object) -> float:
        """The number that stands for an end of an interval, which the column need not be able to take.

        Raises:
            ValueError: if the value is no number, or no date where the column holds dates.
        """
        moment = moment_of(value) if self.is_time else None
        if moment is not None:
            return moment / DAY if self.kind == "date" else moment
        return _number(self, value)

    def label(self, code: float) -> State | date:
        """The value that a table's number stands for; a date where the column holds dates."""
        if self.is_categorical:
            return self.states[int(code)]
        if self.is_time:
            return label_of(code, cast(Time, self.kind))
        return round(code) if self.is_whole else float(code)


def _twice(name: str, one: State, other: State) -> str:
    """The complaint about two states of a column that are one to Python."""
    if type(one) is type(other):
        return f"column '{name}' has the same state twice"
    return f"column '{name}' has the states {one!r} and {other!r}, which Python takes for one: make them text"


def _is_number(state: float) -> bool:
    """Whether a state is a finite number that a double can hold."""
    try:
        return isfinite(state)
    except OverflowError:  # a whole number of more than 308 digits
        return False


def _state_code(variable: Variable, value: object) -> int:
    """The position of the state that a value is, as `find_state` says."""
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
    """The columns of a table, in order; names are unique."""

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
        """Which columns hold factors and no values. Shape (columns,)."""
        return np.array([v.role == "potential" for v in self.variables], dtype=np.bool_)

    @cached_property
    def is_whole(self) -> Bools:
        """Which columns hold whole numbers. Shape (columns,)."""
        return np.array([v.is_whole for v in self.variables], dtype=np.bool_)

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """The least and the greatest number a table may hold in each column. Shapes (columns,)."""
        finite = np.finfo(np.float64).max
        low = [0.0 if v.is_categorical or v.kind == "count" else -finite for v in self.variables]
        high = [v.cardinality - 1.0 if v.is_categorical else finite for v in self.variables]
        return np.array(low), np.array(high)

    @cached_property
    def is_plain(self) -> bool:
        """Whether every state is its own code, so that a user's numbers need no coding."""
        return all(v.states == tuple(range(v.cardinality)) for v in self.variables)

    @cached_property
    def headings(self) -> tuple[Any, ...]:
        """What the columns are called in the frame they came from: names, or labels that are no text."""
        return tuple(v.heading for v in self.variables)

    @cached_property
    def _column(self) -> dict[Hashable, int]:
        return {**_positions(self.headings), **_positions(self.names)}

    def column(self, name: Hashable) -> int:
        """The position of the column called `name`, which is its name, its heading, or reads like its name.

        Raises:
            ValueError: if there is none.
        """
        found = self._column.get(name) if isinstance(name, Hashable) else None
        if found is None:
            found = self._column.get(label_text(name))
        if found is None:
            near = did_you_mean(name, self.names)
            raise ValueError(f"there is no column '{name}' (columns: {_few(self.names)}){near}")
        return found

    def columns(self, names: Iterable[Hashable]) -> list[int]:
        """The positions of several columns."""
        return [self.column(name) for name in names]

    def with_inputs(self, columns: Iterable[int]) -> "Schema":
        """The same columns, of which those given are inputs; the others keep their roles."""
        inputs = {int(c) for c in columns}
        return Schema(
            tuple(replace(v, role="input") if c in inputs else v for c, v in enumerate(self.variables))
        )

    def with_targets(self, columns: Iterable[int]) -> "Schema":
        """The same columns, of which those given are targets and all others inputs; potentials stay."""
        targets = {int(c) for c in columns}
        roles: list[Role] = ["target" if c in targets else "input" for c in range(len(self))]
        return Schema(
            tuple(
                v if v.role == "potential" else replace(v, role=role)
                for v, role in zip(self.variables, roles, strict=True)
            )
        )

    def select(self, columns: Iterable[int]) -> "Schema":
        """A schema of the given columns only."""
        return Schema(tuple(self.variables[int(c)] for c in columns))


def label_text(label: object) -> str:
    """The name of a column that a frame calls by any label; numbers of numpy read as those of Python."""
    if isinstance(label, tuple):
        return str(tuple(part.item() if isinstance(part, np.generic) else part for part in label))
    return str(label)


def _positions(labels: tuple[Hashable, ...]) -> dict[Hashable, int]:
    return {label: i for i, label in enumerate(labels)}


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{n}'" for n in names[:8]) + (", ..." if len(names) > 8 else "")


def discrete_schema(cardinalities: Iterable[int]) -> Schema:
    """A schema of nameless categorical columns `x0`, `x1`, ... with states 0, 1, ..."""
    return Schema(
        tuple(Variable(f"x{i}", "categorical", tuple(range(int(k)))) for i, k in enumerate(cardinalities))
    )
