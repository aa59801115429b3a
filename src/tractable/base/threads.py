"""The number of threads that compiled code may use.

Functions take it as an argument. Where that is None the innermost running `use_threads` decides, then the
environment variable TRACTABLE_THREADS, which is read and never changed, and else every core has a thread.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLE = "TRACTABLE_THREADS"


class _Choice:
    """A chosen number of threads; two choices of one number are different objects."""

    def __init__(self, count: int) -> None:
        self.count = count


_choices: list[_Choice] = []  # of the blocks that are running, the last one entered at the end


def available_cores() -> int:
    """The number of cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):  # macOS and Windows cannot say which cores are the process's own
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_threads() -> int:
    """The default number of threads.

    Raises:
        ValueError: if TRACTABLE_THREADS is not a whole number.
    """
    if chosen := _choices[-1:]:
        return chosen[0].count
    text = os.environ.get(VARIABLE)
    if not text:
        return available_cores()
    try:
        return max(1, int(text))
    except ValueError:
        raise ValueError(f"{VARIABLE} must be a number of threads, not '{text}'") from None


@contextmanager
def use_threads(count: int | None) -> Iterator[None]:
    """Make `count` the default number of threads while the block runs; None leaves it as it is.

    The choice holds for all threads of this process, not only for the one that made it: the worker threads
    of a pool must see it. Blocks may be nested, and the end of one restores what was chosen around it. Where
    several threads have overlapping blocks, the one entered last decides. Other processes do not see it.
    """
    if count is None:
        yield
        return
    choice = _Choice(max(1, count))
    _choices.append(choice)
    try:
        yield
    finally:
        _choices.remove(choice)
