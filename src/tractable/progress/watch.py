"""The progress of long work, the time that it may take, and the wish that it stops."""

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import NamedTuple, Protocol, Self

CHECKPOINT_SECONDS = 20.0  # that pass between two checkpoints, at least


class Progress(NamedTuple):
    """How far a learner has come."""

    stage: str  # what is being done, in a few words
    done: int  # steps finished
    total: int | None = None  # steps there will be; None when nobody knows
    score: float | None = None  # mean log-likelihood of the best model so far


class CheckpointStore(Protocol):
    """A place that holds the last checkpoint of long work, from which a later run goes on."""

    def read(self) -> bytes | None:
        """The last checkpoint; None if there is none."""

    def write(self, checkpoint: bytes) -> None:
        """Replace the last checkpoint."""


class Watch:
    """A watch carries reports out of a learner, and the wish to stop into it.

    A learner calls `report` after each step and asks `should_stop` before the next one; when the answer is
    yes it returns its best model so far. The wish to stop has three sources. The first is the time budget of
    `seconds`, which runs from the making of the watch. The second is Ctrl-C while the watch is entered with
    `with`; a second Ctrl-C raises KeyboardInterrupt at once. The third is a KeyboardInterrupt that
    `on_progress` raises.

    Several threads may report to one watch: `on_progress` is called by one of them at a time.
    """

    def __init__(
        self,
        on_progress: Callable[[Progress], None] | None = None,
        *,
        seconds: float | None = None,
        checkpoints: CheckpointStore | None = None,
    ) -> None:
        self._on_progress = on_progress
        self._reporting = threading.RLock()
        self._checkpoints = checkpoints
        self._saved_at = time.monotonic()
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._entered = 0
        self._replaced: Callable[[int, FrameType | None], object] | None = None
        self._interrupted = False

    def report(self, stage: str, done: int, total: int | None = None, score: float | None = None) -> None:
        """Pass on how far the work has come."""
        if self._on_progress is None:
            return
        try:
            with self._reporting:
                self._on_progress(Progress(stage, done, total, score))
        except KeyboardInterrupt:
            self.interrupted = True

    def checkpoint(self) -> bytes | None:
        """The last checkpoint of an earlier run that did not end; None if there is none."""
        return None if self._checkpoints is None else self._checkpoints.read()

    def save_checkpoint(self, make: Callable[[], bytes]) -> None:
        """Save the checkpoint that `make` returns, if there is a store and the last one is old enough."""
        if self._checkpoints is not None and time.monotonic() - self._saved_at >= CHECKPOINT_SECONDS:
            self._checkpoints.write(make())
            self._saved_at = time.monotonic()

    def out_of_time(self) -> bool:
        """Whether the time budget is used up."""
        return self._deadline is not None and time.monotonic() >= self._deadline

    @property
    def left(self) -> float | None:
        """The seconds of the time budget that are left; None without a budget."""
        return None if self._deadline is None else self._deadline - time.monotonic()

    @property
    def interrupted(self) -> bool:
        """Whether somebody has interrupted the work; may be set."""
        return self._interrupted or self.is_interrupted_elsewhere()

    @interrupted.setter
    def interrupted(self, value: bool) -> None:
        self._interrupted = value

    def is_interrupted_elsewhere(self) -> bool:
        """Whether an interrupt comes from where this watch comes from; a watch of its own says no."""
        return False

    def gives_up(self) -> bool:
        """Whether the work has a reason of its own to stop, such as that it cannot win any more."""
        return False

    def should_stop(self) -> bool:
        """Whether the work should end with its best model so far."""
        return self.interrupted or self.out_of_time() or self.gives_up()

    def __enter__(self) -> Self:
        """Handle Ctrl-C, unless somebody else does, or this watch does already, or in a side thread."""
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
        if self._interrupted:  # by Ctrl-C: the same one may come by other ways, too
            raise KeyboardInterrupt
        self.interrupted = True
