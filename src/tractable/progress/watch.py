"""How long work tells where it is, and is told to stop."""

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import NamedTuple, Protocol, Self

NOTE_EVERY = 20.0  # seconds


class Progress(NamedTuple):
    """Where a learner is."""

    stage: str  # what is being done, in a few words
    done: int  # steps finished
    total: int | None = None  # steps there will be; None when nobody knows
    score: float | None = None  # mean log-likelihood of the best model so far


class Notebook(Protocol):
    """Where long work leaves notes from which a later run goes on."""

    def read(self) -> bytes | None:
        """The last notes; None if there are none."""

    def write(self, notes: bytes) -> None:
        """Put notes in the place of the last."""


class Watch:
    """Carries reports out of a learner, and the wish to stop into it.

    A learner asks `should_stop` between steps and then answers with its best model so far. The wish comes
    from a time budget, from Ctrl-C while the watch is entered, or from a KeyboardInterrupt that `tell`
    raises. A second Ctrl-C interrupts at once.
    """

    def __init__(
        self,
        tell: Callable[[Progress], None] | None = None,
        *,
        seconds: float | None = None,
        notebook: Notebook | None = None,
    ) -> None:
        self._tell = tell
        self._notebook = notebook
        self._noted = time.monotonic()
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._entered = 0
        self._replaced: Callable[[int, FrameType | None], object] | None = None
        self.interrupted = False

    def report(self, stage: str, done: int, total: int | None = None, score: float | None = None) -> None:
        """Tell where the work is."""
        if self._tell is None:
            return
        try:
            self._tell(Progress(stage, done, total, score))
        except KeyboardInterrupt:
            self.interrupted = True

    def notes(self) -> bytes | None:
        """What an earlier run that did not end has noted."""
        return None if self._notebook is None else self._notebook.read()

    def note(self, make: Callable[[], bytes]) -> None:
        """Note where the work is, now and then, if anyone keeps notes."""
        if self._notebook is not None and time.monotonic() - self._noted >= NOTE_EVERY:
            self._notebook.write(make())
            self._noted = time.monotonic()

    def out_of_time(self) -> bool:
        """Whether the time budget is used up; the clock runs from the making of the watch."""
        return self._deadline is not None and time.monotonic() >= self._deadline

    @property
    def left(self) -> float | None:
        """Seconds of the time budget that are left; None without one."""
        return None if self._deadline is None else self._deadline - time.monotonic()

    def should_stop(self) -> bool:
        """Whether to end with the best model so far."""
        return self.interrupted or self.out_of_time()

    def __enter__(self) -> Self:
        """Listen for Ctrl-C, unless someone else does, or we do already, or this is not the main thread."""
        self._entered += 1
        in_main = threading.current_thread() is threading.main_thread()
        if self._entered == 1 and in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._replaced = signal.default_int_handler
            signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered -= 1
        if self._entered == 0 and self._replaced is not None:
            signal.signal(signal.SIGINT, self._replaced)
            self._replaced = None

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True
