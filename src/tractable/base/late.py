"""Modules of scipy that are imported on first use, because importing them takes longer than a query."""

from importlib import import_module
from typing import Any

__all__ = ["linalg", "sparse", "special"]


class LateModule:
    """A module that is imported on first access of an attribute."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._name), name)
        setattr(self, name, value)
        return value


linalg: Any = LateModule("scipy.linalg")
sparse: Any = LateModule("scipy.sparse")
special: Any = LateModule("scipy.special")
