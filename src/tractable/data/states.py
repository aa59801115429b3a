"""States of categorical columns: equality, text form and lookup.

The states of a column are keys of dictionaries, so they must be distinct in Python, where True, 1 and 1.0 are
equal. A column with values of one type keeps them; mixed text, numbers and Booleans are converted to text
(decision 67).
"""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from datetime import date
from decimal import Decimal
from functools import cached_property
from math import isfinite
from typing import Any, TypeAlias

import numpy as np

State: TypeAlias = str | int | float | bool

_WHOLE = re.compile(r"(-?(?:0|[1-9]\d*))(?:\.0+)?")  # without a leading zero or a plus sign, which codes have
_LARGEST_SHORT = 2.0**53  # above this a whole double has more digits than it knows


def state_text(value: object) -> str:
    """A value as the text of a state; whole numbers have no decimal point, so 1 and 1.0 are equal.

    A time at midnight is written as a date.
    """
    plain = plain_value(value)
    if isinstance(plain, float) and plain.is_integer() and abs(plain) <= _LARGEST_SHORT:
        return str(int(plain))
    if isinstance(plain, date):
        return plain.isoformat().removesuffix("T00:00:00")
    return str(plain)


def plain_value(value: object) -> object:
    """A value of numpy, or a decimal number, as a Python value."""
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[us]").item()
    if isinstance(value, np.generic):
        return value.item()
    return float(value) if isinstance(value, Decimal) else value


def type_names(states: Iterable[object]) -> list[str]:
    """The types of values in words; integers and floats are both numbers."""
    return list(dict.fromkeys(map(_type_name, states)))


def _type_name(value: object) -> str:
    if isinstance(value, bool):
        return "Booleans"
    if isinstance(value, int | float):
        return "numbers"
    return "text" if isinstance(value, str) else "dates"


def equal_states(states: Sequence[State]) -> tuple[State, State] | None:
    """The first two states that are equal dictionary keys, or None."""
    seen: dict[State, State] = {}
    for state in states:
        if state in seen:
            return seen[state], state
        seen[state] = state
    return None


def separate_states(states: Sequence[State]) -> tuple[State, ...]:
    """The states unchanged or, if two of them are equal in Python, as texts.

    Old model files may have such a column.
    """
    texts = tuple(map(state_text, states))
    if equal_states(states) is None or len(set(texts)) < len(texts):
        return tuple(states)
    return texts


def find_state(states: Sequence[State], value: object) -> int | None:
    """The position of a value among states, as `StateIndex` finds it, or None."""
    plain = plain_value(value)
    for code, state in enumerate(states):
        if type(state) is type(plain) and state == plain:
            return code
    return StateIndex(states).find(plain)


class StateIndex:
    """An index for looking up the positions of many values among states.

    An identical state has priority, then one that is equal or has an equal text (`1`, `"1"`), then one that
    is an equal number: 12.0 and "12.0" are 12. Texts are equal numbers only if both are whole and have no
    leading zero or plus sign, so `007` is not 7 and `1.10` is not `1.1`.
    """

    def __init__(self, states: Sequence[State]) -> None:
        self._states = states
        self._typed: dict[Any, int] = {(type(state), state): code for code, state in enumerate(states)}

    def find(self, value: Any) -> int | None:
        """The position of a value, or None if it is not a state."""
        plain = plain_value(value)
        plain = state_text(plain) if isinstance(plain, date) else plain
        for known, key in (
            (self._typed, (type(plain), plain)),
            (self._equal, plain),
            (self._text, str(plain)),
        ):
            position = known.get(key) if isinstance(key, Hashable) else None
            if position is not None:
                return position
        position = self._number.get(_number_in(plain))
        return self._whole.get(_whole_in(plain)) if position is None else position

    @cached_property
    def _equal(self) -> dict[Any, int]:
        return {state: code for code, state in enumerate(self._states)}

    @cached_property
    def _text(self) -> dict[Any, int]:
        return {str(state): code for code, state in reversed([*enumerate(self._states)])}

    @cached_property
    def _number(self) -> dict[Any, int]:
        """The positions of numeric states."""
        return _unique((None if isinstance(s, str) else _number_in(s)) for s in self._states)

    @cached_property
    def _whole(self) -> dict[Any, int]:
        """The positions of texts that are whole numbers."""
        return _unique((_whole_in(s) if isinstance(s, str) else None) for s in self._states)


def _unique(keys: Iterable[object]) -> dict[Any, int]:
    """The positions of keys that occur only once."""
    every = list(keys)
    often = Counter(every)
    return {key: code for code, key in enumerate(every) if key is not None and often[key] == 1}


def _number_in(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float) or "_" in str(value):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if isfinite(number) else None


def _whole_in(value: object) -> str | None:
    """The digits of a whole number, written `12` or `12.0`."""
    match = None if isinstance(value, bool) else _WHOLE.fullmatch(state_text(value).strip())
    return None if match is None else "0" if match[1] == "-0" else match[1]


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """A suffix for error messages with the most similar known name, if there is one."""
    from difflib import get_close_matches

    texts = {state_text(one).casefold(): state_text(one) for one in known}
    near = get_close_matches(state_text(name).casefold(), texts, n=1)
    return f"; did you mean '{texts[near[0]]}'?" if near else ""
