"""Functions of modules that are imported when they are first called."""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def late(module: str, name: str) -> Callable[..., Any]:
    """The function of that name in a module of this room; a file of one format imports no other format."""

    def call(*arguments: Any) -> Any:
        return getattr(import_module(f"tractable.formats.{module}"), name)(*arguments)

    return call
