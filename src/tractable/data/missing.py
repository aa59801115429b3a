"""Markers of missing cells in columns of text, and the types of their other cells."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from math import isnan
from typing import Any, TypeAlias

import numpy as np

from tractable.data.codes import holds_codes
from tractable.data.columns import Column, LabelColumn, NumericColumn
from tractable.data.states import state_text

# ---- user-defined markers of missing cells --------------------------------------------------------------


Na: TypeAlias = str | float | Iterable[str | float]


@dataclass(frozen=True, slots=True)
class Marks:
    """Texts and numbers (possibly infinite) that mark missing cells."""

    texts: frozenset[str] = frozenset()
    numbers: tuple[float, ...] = ()

    def clear(self, column: Column) -> Column:
        """The column without cells, and states, that are markers."""
        if isinstance(column, LabelColumn):
            return self._clear_labels(column) if self.texts else column
        if not self.numbers or column.time is not None:
            return column
        marked = np.isin(column.values, self.numbers)
        return NumericColumn(np.where(marked, np.nan, column.values)) if marked.any() else column

    def _clear_labels(self, column: LabelColumn) -> LabelColumn:
        kept = np.array([state_text(state) not in self.texts for state in column.states], dtype=np.bool_)
        if kept.all():
            return column
        new = np.append(np.where(kept, np.cumsum(kept) - 1.0, np.nan), np.nan)
        at = np.where(column.seen, column.values, len(kept)).astype(np.int64)
        states = tuple(state for state, keep in zip(column.states, kept, strict=True) if keep)
        return replace(column, values=new[at], states=states)


NO_MARKS = Marks()


def read_marks(na: Na) -> Marks:
    """The markers in one or several texts and numbers; a numeric text stands for both."""
    every = [na] if isinstance(na, str | int | float) else list(na)
    numbers = [number for number in map(_number, every) if number is not None]
    return Marks(frozenset(map(state_text, every)), tuple(numbers))


def _number(mark: object) -> float | None:
    try:
        number = float(mark)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return None if isnan(number) else number


WEAK_MISSING = ("-", "--", ".")  # missing in a column of numbers or dates, which may be categories elsewhere


def text_array(texts: Iterable[str]) -> Any:
    """An arrow array of texts, created without `pa.array`, which would import pandas."""
    import pyarrow as pa

    raw = [text.encode("utf-8", "replace") for text in texts]
    ends = np.cumsum([0, *map(len, raw)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(raw), pa.py_buffer(ends), pa.py_buffer(b"".join(raw)))


def without_marks(frame: Any, marks: Iterable[str], texts_stay: Collection[str]) -> Any:
    """The arrow table in which texts that are markers are missing; numbers are compared later.

    A column of text with only numbers or dates besides markers is converted, unless it is declared as text.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    texts = text_array(marks)
    for i, field in enumerate(frame.schema):
        column, kind = frame.column(i), field.type
        if types.is_string(kind) or types.is_large_string(kind):
            known = pc.is_in(column.cast(pa.string()), texts)
            if pc.any(known).as_py():
                rest = pc.if_else(known, None, column)
                is_open = types.is_string(kind) and field.name not in texts_stay
                frame = frame.set_column(i, field.name, typed(rest, rest) if is_open else rest)
    return frame


def typed(texts: Any, otherwise: Any) -> Any:
    """A column of text as numbers or dates if all its cells are and none is a code; otherwise `otherwise`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    distinct = pc.unique(texts).drop_null()
    if len(distinct) and not holds_codes(distinct):
        for kind in (pa.int64(), pa.float64(), pa.timestamp("us")):
            if _is_castable(distinct, kind):
                return texts.cast(kind)
    return otherwise


def _is_castable(texts: Any, kind: Any) -> bool:
    import pyarrow as pa

    try:
        texts.cast(kind)
    except pa.ArrowInvalid:
        return False
    return True
