"""Warnings about tables: one line each, which says what was seen and what to do."""

import warnings


class TableWarning(UserWarning):
    """Something about a table that may not be what its owner means."""


def caution(text: str) -> None:
    """Warn about a table in one line."""
    warnings.warn(" ".join(text.split()), TableWarning, stacklevel=2)
