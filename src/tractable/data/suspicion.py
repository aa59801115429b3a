"""Detection of suspicious columns, with a suggested remedy for each."""

import numpy as np

from tractable.data.columns import LARGEST_EXACT, Column, LabelColumn, NumericColumn
from tractable.data.dates import looks_like_date
from tractable.data.schema import Variable

MIN_ROWS = 20  # a smaller table is no ground for suspicion
NEARLY_EMPTY = 0.95
MANY_STATES = 100
SOME_STATES = 20  # of text: fewer are a category, even if every row has another one
FEW_WORDS = 3  # among numbers
SENTINELS = {-9.0, *(sign * (10.0**digits - 1) for digits in range(2, 10) for sign in (1, -1))}


def suspicion(variable: Variable, column: Column) -> str | None:
    """A one-line warning about a column, or None if it is not suspicious."""
    name, seen = variable.name, int(column.seen.sum())
    if np.abs(column.values[column.seen]).max(initial=0.0) > LARGEST_EXACT:
        return f"column '{name}' holds whole numbers too large to be kept exactly: {_drop(name, 'an id')}"
    if len(column.values) < MIN_ROWS:
        return None
    share = 1.0 - seen / len(column.values)
    if share > NEARLY_EMPTY:
        return f"column '{name}' is missing in {share:.1%} of the rows: {_drop(name, 'not useful')}"
    if isinstance(column, LabelColumn):
        return _label_suspicion(variable, column, seen)
    mark = _sentinel(column) if column.time is None else None
    if mark is not None:
        return _mark(name, f"holds {mark:.0f} apart from all its other numbers", f"{mark:.0f}")
    if variable.is_categorical:
        return _constant(name) if variable.cardinality == 1 else None
    return _number_suspicion(variable, column)


def mixed_types(variable: Variable, column: Column) -> str | None:
    """A one-line warning about a column with values of several types, or None."""
    if not isinstance(column, LabelColumn) or not column.mixed:
        return None
    types = f"{', '.join(column.mixed[:-1])} and {column.mixed[-1]}"
    return f"column '{variable.name}' mixes {types}: all of its values are treated as text"


def _label_suspicion(variable: Variable, column: LabelColumn, seen: int) -> str | None:
    name, states = variable.name, variable.states
    if not variable.is_categorical or column.declared:
        return _constant(name) if variable.cardinality == 1 else None
    if len(states) == 1:
        return _constant(name)
    texts = [state for state in states if isinstance(state, str)]
    if len(texts) == len(states) and sum(map(looks_like_date, texts)) > 0.8 * len(texts):
        return (
            f"column '{name}' seems to hold dates that cannot be read, such as {texts[0]!r}: write them as"
            " 2020-12-31, otherwise they are unordered states"
        )
    words = [text for text in texts if not any(map(str.isdigit, text))]
    if 0 < len(words) <= FEW_WORDS and _are_numbers_but_for(words, column):
        listed = ", ".join(map(repr, words))
        return _mark(name, f"holds numbers and {listed}, so all of its values are text", words[0])
    if len(states) > SOME_STATES and all(map(_is_number, texts)) and len(texts) == len(states):
        return (
            f"column '{name}' holds numbers as text; if they are numbers, declare them as such"
            f" (kinds={{'{name}': 'real'}}, --kinds {name}=real)"
        )
    if len(states) > SOME_STATES and len(states) >= 0.95 * seen:
        return f"column '{name}' has a different value in almost every row: {_drop(name, 'an id')}"
    if len(states) > MANY_STATES:
        return f"column '{name}' has {len(states):,} states: group them, or {_drop(name, 'an id')}"
    return None


def _are_numbers_but_for(words: list[str], column: LabelColumn) -> bool:
    """Whether most cells, and all states except some words, are numbers, possibly with a unit."""
    from tractable.data.missing import text_array
    from tractable.data.numerals import read_numeral

    places = [i for i, state in enumerate(column.states) if state in words]
    texts = [state for state in column.states if isinstance(state, str) and state not in words]
    if (
        len(column.states) < len(words) + FEW_WORDS
        or np.isin(column.values[column.seen], places).mean() > 0.5
    ):
        return False
    return not texts or read_numeral(text_array(texts)) is not None


def _sentinel(column: NumericColumn) -> float | None:
    """A sentinel such as -999 in several cells, isolated from all other numbers, or None."""
    values = column.values[column.seen]
    for end in (values.min(), values.max()):
        rest = values[values != end]
        if float(end) not in SENTINELS or not rest.size or len(values) < rest.size + 2:
            continue
        is_far = np.abs(rest - end).min() > max(np.ptp(rest), abs(end) / 2)
        if is_far or (end < 0 <= rest.min()):
            return float(end)
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number_suspicion(variable: Variable, column: NumericColumn) -> str | None:
    values = column.values[column.seen]
    if (values == values[0]).all():
        return _constant(variable.name)
    steps = np.diff(values)
    if variable.kind in ("integer", "count") and ((steps > 0).all() or (steps < 0).all()):
        name = variable.name
        return f"column '{name}' numbers the rows: {_drop(name, 'an id')}"
    return None


def _constant(name: str) -> str:
    return f"column '{name}' has the same value in every row: {_drop(name, 'not useful')}"


def _drop(name: str, what: str) -> str:
    return f"if it is {what}, leave it out (drop=['{name}'], --drop '{name}')"


def _mark(name: str, what: str, mark: str) -> str:
    return (
        f"column '{name}' {what}: if it marks missing cells, declare it as such (na=['{mark}'], --na {mark})"
    )
