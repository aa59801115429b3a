"""Parts of scipy that are imported when they are first used; importing them takes longer than a query."""

from importlib import import_module
from typing import Any

__all__ = ["linalg", "sparse", "special"]


class LateModule:
    """A module that is imported when something of it is first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._name), name)
        setattr(self, name, value)
        return value


linalg: Any = LateModule("scipy.linalg")
sparse: Any = LateModule("scipy.sparse")
special: Any = LateModule("scipy.special")
