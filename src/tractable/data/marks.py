"""User-defined markers of missing cells."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import isnan
from typing import TypeAlias

import numpy as np

from tractable.data.columns import Column, LabelColumn, NumericColumn
from tractable.data.states import state_text

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
