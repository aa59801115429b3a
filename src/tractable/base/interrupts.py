"""Reliable handling of Ctrl-C.

Python's own handler raises KeyboardInterrupt wherever the program happens to be. In some places that
exception is printed and dropped: in `__del__`, in callbacks of weak references, and in Python functions that
C code calls, such as those by which numba's compiled functions are loaded from its cache. A program that
calls `note_interrupts` at its start remembers the signal, so that the first watch that is entered afterwards
raises what was dropped. Other C code turns the exception into one of its own: `was_interrupted` tells.
"""

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], Any]


class _NotingHandler:
    """Raises KeyboardInterrupt as Python's handler does, and remembers that."""

    def __init__(self) -> None:
        self.came = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        raise KeyboardInterrupt

    def is_set(self) -> bool:
        """Whether this is the handler of the process."""
        return bool(signal.getsignal(signal.SIGINT) == self)


_noting = _NotingHandler()


def note_interrupts() -> None:
    """Record every Ctrl-C from now on, if Python's own handler is installed."""
    if _is_main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        _noting.came = False
        signal.signal(signal.SIGINT, _noting)
        sys.unraisablehook = _be_silent_once_interrupted


def was_interrupted() -> bool:
    """Whether a Ctrl-C was recorded that has not been handled yet."""
    return _noting.is_set() and _noting.came


def raise_if_interrupted() -> None:
    """Raise the interrupt that was noted and dropped, if there is one.

    Raises:
        KeyboardInterrupt: once for all that came.
    """
    if _is_main_thread() and _noting.is_set() and _noting.came:
        _noting.came = False
        raise KeyboardInterrupt


def begin_handling(handler: Handler) -> bool:
    """Install a handler of Ctrl-C; false if there is another handler, or in a side thread.

    Raises:
        KeyboardInterrupt: if one came before and was dropped.
    """
    if not _is_main_thread() or signal.getsignal(signal.SIGINT) not in (_noting, signal.default_int_handler):
        return False
    global _replaced  # noqa: PLW0603 - the handlers of a process are global state
    _replaced = signal.signal(signal.SIGINT, handler)
    if _replaced == _noting and _noting.came:  # looked at only now: from here on the new handler is called
        end_handling(handler)
        raise_if_interrupted()
    return True


def end_handling(handler: Handler) -> None:
    """Restore the handler that `begin_handling` replaced."""
    if _is_main_thread() and signal.getsignal(signal.SIGINT) == handler:
        signal.signal(signal.SIGINT, _replaced)


_replaced: Any = signal.default_int_handler


def _be_silent_once_interrupted(fault: Any) -> None:
    """Print what goes wrong in `__del__` and the like, but for objects that an interrupt left half made."""
    if not was_interrupted():
        sys.__unraisablehook__(fault)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
