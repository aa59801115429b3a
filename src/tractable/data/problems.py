"""Collection of the problems of all unusable columns of a table."""

import warnings
from collections.abc import Callable, Collection
from typing import Any

from tractable.data.table import Table

# ---- warnings about tables, each in one line with a suggested remedy ------------------------------------


class TableWarning(UserWarning):
    """A warning that a table may not mean what it seems to mean."""


def caution(text: str) -> None:
    """Warn about a table in one line."""
    warnings.warn(" ".join(text.split()), TableWarning, stacklevel=2)


class ColumnError(ValueError):
    """The problem of a column because of which a file cannot be read."""

    def __init__(self, column: str, text: str) -> None:
        super().__init__(text)
        self.column = column


def find_problems(
    read: Callable[[Collection[str]], Any], code: Callable[[Any, str], Table | None]
) -> dict[str, str]:
    """The problem of each unusable column, by name; empty if no single column is at fault.

    `read` returns an arrow table of a file without some columns, and `code` a table of one column.
    """
    problems: dict[str, str] = {}
    frame = None
    while frame is None:
        try:
            frame = read(list(problems))
        except ColumnError as fault:
            problems[fault.column] = str(fault)
    names = frame.column_names
    for place, name in enumerate(names):
        problem = _problem(lambda place=place, name=name: code(frame.select([place]), name))  # type: ignore[misc]
        if names.count(name) > 1:
            problem = f"two columns are called '{name}'"
        if problem is not None:
            problems[name] = problem
    return problems


def _problem(code: Callable[[], object]) -> str | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        try:
            code()
        except ValueError as fault:
            return str(fault)
    return None
