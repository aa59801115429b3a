"""The wish that some work stops: for want of time, or because it was interrupted."""

import re
import time
from collections.abc import Callable
from math import inf

GRACE_SECONDS = 1.0  # that work may go on, after it was told to stop, to round its model off
SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd]?)")


class StopWish:
    """The time budget of some work and its interrupts, which may come from the work around it."""

    def __init__(
        self, seconds: float | None, outer: "StopWish | None" = None, listen: Callable[[], bool] | None = None
    ) -> None:
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._outer = outer
        self._listen = listen  # tells whether another process was interrupted
        self._told_at: float | None = None  # when it was noticed that the work was told to stop
        self.was_interrupted = False  # this work itself
        self.hurried = False  # whether the work ended for want of time before its time was over

    @property
    def interrupted(self) -> bool:
        """Whether this work, or that around it, was interrupted."""
        if self.was_interrupted or (self._listen is not None and self._listen()):
            return True
        return self._outer is not None and self._outer.interrupted

    @property
    def left(self) -> float | None:
        """The seconds of the time budget that are left; None without a budget."""
        return None if self._deadline is None else self._deadline - time.monotonic()

    def out_of_time(self) -> bool:
        """Whether the time budget is used up."""
        return self._deadline is not None and time.monotonic() >= self._deadline

    def is_there(self) -> bool:
        """Whether the work was interrupted, or its time is over."""
        if not (self.interrupted or self.out_of_time()):
            return False
        if self._told_at is None:
            self._told_at = time.monotonic()
        return True

    def is_urgent(self) -> bool:
        """Whether this work, or that around it, was told to stop some time ago."""
        return self.is_there() and time.monotonic() - self._told_since() >= GRACE_SECONDS

    def _told_since(self) -> float:
        outer = inf if self._outer is None or not self._outer.is_there() else self._outer._told_since()
        return min(inf if self._told_at is None else self._told_at, outer)

    def note_hurry(self) -> None:
        """Take note that this work, and so that around it, ends before its time for want of time."""
        self.hurried = True
        if self._outer is not None:
            self._outer.note_hurry()


def seconds_in(text: str) -> float:
    """The seconds in a text such as `90s`, `10m` or `1.5h`; a bare number counts seconds.

    Raises:
        ValueError: if the text is not such a duration.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None or float(match[1]) == 0:
        raise ValueError(f"'{text}' is not a duration such as 90s, 10m or 1h")
    return float(match[1]) * SECONDS[match[2] or "s"]
