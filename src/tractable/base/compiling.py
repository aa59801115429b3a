"""Notification of listeners when functions are compiled.

This module does not import numba, so listening costs nothing if nothing is compiled.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

OnCompile = Callable[[str | None], None]

_listeners: list[OnCompile] = []


@contextmanager
def on_compile(listener: OnCompile) -> Iterator[None]:
    """Call `listener` with the name of each function that is compiled in this context, when it begins.

    After the last of several functions that call each other it is called with None. Functions that come from
    the cache on disk are not compiled.
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def announce(name: str | None) -> None:
    """Notify all listeners that a function is compiled, or with None that compilation is over."""
    for listener in tuple(_listeners):
        listener(name)
