"""Warnings about tables, each in one line with a suggested remedy."""

import warnings


class TableWarning(UserWarning):
    """A warning that a table may not mean what it seems to mean."""


def caution(text: str) -> None:
    """Warn about a table in one line."""
    warnings.warn(" ".join(text.split()), TableWarning, stacklevel=2)
