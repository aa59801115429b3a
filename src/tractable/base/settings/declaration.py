"""A setting, declared once: its default, its meaning, the values it may take and those worth searching.

    @dataclass(frozen=True, kw_only=True)
    class ChowLiuLearner(Learner):
        smoothing: float = setting(1.0, "Pseudo-counts added to ...", at_least=0, search=Between(0.1, 10))

Constructors, `--set name=value`, `help()`, the tuner's search space and the reference page all read this
declaration.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from math import exp, inf, log
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, final, get_args, get_origin, get_type_hints

import numpy as np

# ---- the values of a setting that a tuner tries: one of several, or a number of a range -----------------


DIGITS = 4  # significant digits of a drawn number, so that people can read and type it


@final
@dataclass(frozen=True, init=False)
class OneOf:
    """One of several values, all equally likely."""

    options: tuple[Any, ...]

    def __init__(self, *options: Any) -> None:
        if len(options) < 2:
            raise ValueError(f"a choice needs at least two values, not {options}")
        object.__setattr__(self, "options", options)

    def holds(self, value: object) -> bool:
        """Whether the value is one of them."""
        return value in self.options

    def draw(self, rng: np.random.Generator) -> Any:
        """One of them at random."""
        return self.options[int(rng.integers(len(self.options)))]


@final
@dataclass(frozen=True)
class Between:
    """A number of a range, `whole` or real; with `log` it is drawn uniformly on the logarithmic scale."""

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(
                f"the lower end of a range must be below its upper end, not {self.low} and {self.high}"
            )
        if self.log and not self.low > 0:
            raise ValueError(f"a range on a logarithmic scale must begin above zero, not at {self.low}")

    def holds(self, value: object) -> bool:
        """Whether the value is a number of the range."""
        return isinstance(value, int | float) and self.low <= value <= self.high

    def draw(self, rng: np.random.Generator) -> float:
        """A number of the range at random; all whole numbers are equally likely."""
        reach = 0.5 if self.whole else 0.0
        low, high = self.low - reach, self.high + reach
        drawn = exp(rng.uniform(log(low), log(high))) if self.log else rng.uniform(low, high)
        return self.round_to_range(drawn)

    def round_to_range(self, number: float) -> float:
        """The nearest whole number, or number of few digits, within the range."""
        near = round(number) if self.whole else float(f"{number:.{DIGITS}g}")
        return min(max(near, self.low), self.high)


Choice: TypeAlias = OneOf | Between
Space: TypeAlias = Mapping[str, Choice]


def draw_settings(space: Space, rng: np.random.Generator) -> dict[str, Any]:
    """Settings at random, one value for each name."""
    return {name: choice.draw(rng) for name, choice in space.items()}


_KEY = "setting"  # in a dataclass field's metadata


class Constraint(NamedTuple):
    """What a declaration says beside the default."""

    text: str
    at_least: float | None
    at_most: float | None
    optional: bool
    search: Choice | None


class Setting(NamedTuple):
    """A declared setting with its name and type, for those who list settings."""

    name: str
    type: Any
    default: Any
    text: str
    at_least: float | None
    at_most: float | None
    search: Choice | None


def setting(
    default: Any,
    text: str,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    optional: bool = False,
    search: Choice | None = None,
) -> Any:
    """A dataclass field that declares a setting.

    `text` is a whole sentence for users. The bounds hold for each item of a tuple, and a tuple without items
    is refused unless it is `optional`. `at_most=inf` lets items be infinite. `search` are the values that a
    tuner tries; None keeps it from trying.
    """
    return field(default=default, metadata={_KEY: Constraint(text, at_least, at_most, optional, search)})


def redeclare(base: type["Configurable"], name: str, default: Any, **changes: Any) -> Any:
    """The setting that a base class declares, with another default and, if given, other bounds or text."""
    inherited: Constraint = base.__dataclass_fields__[name].metadata[_KEY]
    return setting(default, **(inherited._asdict() | changes))


@dataclass(frozen=True, kw_only=True)
class Configurable:
    """A named thing whose settings are the fields of a frozen dataclass, each declared by `setting`.

    Raises:
        ValueError: naming the setting, its value and what is allowed, when it is made.
    """

    name: ClassVar[str]  # as typed on the command line
    title: ClassVar[str]  # as shown to a reader

    def __post_init__(self) -> None:
        types = get_type_hints(type(self))
        for name, constraint in _constraints(type(self)):
            if get_origin(types[name]) is tuple:
                self._store_tuple(name)
            self._check(name, types[name], constraint)

    def _store_tuple(self, name: str) -> None:
        """Let one number stand for a tuple of itself."""
        value = getattr(self, name)
        items = (value,) if isinstance(value, int | float | str) else tuple(value)
        object.__setattr__(self, name, items)  # settings are frozen for everybody else

    def _check(self, name: str, kind: Any, constraint: Constraint) -> None:
        value = getattr(self, name)
        if get_origin(kind) is tuple:
            self._check_tuple(name, constraint)
        elif get_origin(kind) is Literal and value not in get_args(kind):
            options = ", ".join(map(str, get_args(kind)))
            raise ValueError(f"setting {name} of {self.name} must be one of {options}, not {value}")
        elif value is not None:
            self._check_number(name, value, constraint)

    def _check_number(self, name: str, value: Any, constraint: Constraint) -> None:
        """Refuse a number outside its bounds, NaN and infinity."""
        start = f"setting {name} of {self.name} must be"
        if constraint.at_least is not None and not value >= constraint.at_least:
            raise ValueError(f"{start} at least {constraint.at_least:g}, not {value}")
        if constraint.at_most is not None and not value <= constraint.at_most:
            raise ValueError(f"{start} at most {constraint.at_most:g}, not {value}")
        if isinstance(value, float) and value == inf:
            raise ValueError(f"{start} finite, not {value}")

    def _check_tuple(self, name: str, constraint: Constraint) -> None:
        items, bound = getattr(self, name), constraint.at_least
        values = items[0] if len(items) == 1 else items
        start = f"setting {name} of {self.name} must be"
        missing = not items and not constraint.optional
        if missing or (bound is not None and not all(item >= bound for item in items)):
            raise ValueError(f"{start} a list of numbers of at least {bound or 0:g}, not {values}")
        if constraint.at_most is not None and not all(item <= constraint.at_most for item in items):
            raise ValueError(f"{start} a list of numbers of at most {constraint.at_most:g}, not {values}")
        if constraint.at_most is None and inf in items:
            raise ValueError(f"{start} a list of finite numbers, not {values}")


def _constraints(kind: type[Configurable]) -> Iterator[tuple[str, Constraint]]:
    for declared in fields(kind):
        if _KEY not in declared.metadata:
            raise TypeError(f"field {declared.name} of {kind.__name__} is not declared by setting(...)")
        yield declared.name, declared.metadata[_KEY]


def settings_of(kind: type[Configurable]) -> tuple[Setting, ...]:
    """All settings that a class declares, in order."""
    types, defaults = get_type_hints(kind), {f.name: f.default for f in fields(kind)}
    return tuple(
        Setting(name, types[name], defaults[name], c.text, c.at_least, _finite(c.at_most), c.search)
        for name, c in _constraints(kind)
    )


def _finite(bound: float | None) -> float | None:
    return None if bound == inf else bound


def search_space(kind: type[Configurable]) -> Space:
    """The settings that a tuner searches, and the values it tries."""
    return {s.name: s.search for s in settings_of(kind) if s.search is not None}


def plain_settings(thing: Configurable) -> dict[str, Any]:
    """The settings of something as JSON can hold them: lists for tuples, Python numbers for numpy's."""
    return {s.name: plain_value(getattr(thing, s.name)) for s in settings_of(type(thing))}


def plain_value(value: Any) -> Any:
    """A value of a setting as JSON can hold it."""
    if isinstance(value, tuple | list):
        return [plain_value(item) for item in value]
    return value.item() if hasattr(value, "item") else value
