"""The progress of long work, the time that it may take, and the wish that it stops."""

import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np

from tractable.base.interrupts import begin_handling, end_handling
from tractable.base.progress.checkpoints import Checkpoints, CheckpointStore, Saved, StoredCheckpoints
from tractable.base.progress.states import State, generator_state, restore_generator

GRACE_SECONDS = 1.0  # that work may go on, after it was told to stop, to round its model off

T = TypeVar("T")


class Progress(NamedTuple):
    """How far a learner has come."""

    stage: str  # what is being done, in a few words
    done: int  # steps finished
    total: int | None = None  # steps there will be; None when nobody knows
    score: float | None = None  # mean log-likelihood of the best model so far


class Stopped(Exception):  # noqa: N818 - it is no error
    """Breaks work off in the middle of a step when it should stop; what came before the step counts."""


class Form(NamedTuple, Generic[T]):
    """How results of one type are saved."""

    to_state: Callable[[T], State]
    from_state: Callable[[State], T]


PLAIN: Form[Any] = Form(lambda result: result, lambda state: state)  # of results that are states themselves


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
        checkpoints: CheckpointStore | Checkpoints | None = None,
    ) -> None:
        self._on_progress = on_progress
        self._reporting = threading.RLock()
        self._path = ""  # of the part of the work that this is the watch of
        if checkpoints is not None and not isinstance(checkpoints, Checkpoints):
            checkpoints = StoredCheckpoints(checkpoints)
        self._checkpoints = checkpoints
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._entered = 0
        self._handles_interrupts = False
        self._interrupted = False
        self._hurried = False
        self._told_at: float | None = None  # when it was noticed that the work was told to stop

    def report(self, stage: str, done: int, total: int | None = None, score: float | None = None) -> None:
        """Pass on how far the work has come."""
        if self._on_progress is None:
            return
        try:
            with self._reporting:
                self._on_progress(Progress(stage, done, total, score))
        except KeyboardInterrupt:
            self.interrupted = True

    def note_score(self, score: float) -> None:
        """Take note of the score of the model so far, by which a judge may give the work up."""

    def part(self, name: str) -> "Watch":
        """The watch of a part of the work, whose checkpoints are kept apart from those of other parts."""
        from tractable.base.progress.inner import InnerWatch

        return self if self._checkpoints is None else InnerWatch(self, part=name)

    def checkpoint(self) -> State | None:
        """The state in which an earlier run left this part of the work; None if there is none."""
        return None if self._checkpoints is None else self._checkpoints.state(self._path)

    def save_checkpoint(self, make: Callable[[], State]) -> None:
        """Save the state that `make` returns, if there are checkpoints and the last one is old enough.

        A run that goes on from the state must find what this run would have found. Work that was told to
        stop would have found something else, so that it saves nothing any more.
        """
        if self._checkpoints is not None and not self.should_stop():
            self._checkpoints.save_state(self._path, make)

    def remember(
        self, name: str, work: Callable[["Watch"], T], form: Form[T], rng: np.random.Generator | None = None
    ) -> T:
        """The result of a part of the work: that of an earlier run, if it has finished the part.

        `work` is given the watch of the part. If it draws from `rng`, that is left as after the work. A part
        that was told to stop, or that had to hurry, is not finished.
        """
        if self._checkpoints is None:
            return work(self)
        path = join_path(self._path, name)
        saved = self._checkpoints.result(path)
        if saved is not None:
            if rng is not None:
                restore_generator(rng, saved["rng"])
            return form.from_state(saved["result"])
        part = self.part(name)
        result = work(part)
        if not (part.should_stop() or part.hurried):  # which it does with this one
            state = {"result": form.to_state(result), "rng": None if rng is None else generator_state(rng)}
            self._checkpoints.put(path, state, finished=True)
        return result

    @property
    def path(self) -> str:
        """The path of the part of the work that this is the watch of."""
        return self._path

    @property
    def saved(self) -> Saved | None:
        """What was saved of this part of the work; None if there are no checkpoints."""
        return None if self._checkpoints is None else self._checkpoints.below(self._path)

    def take_saved(self, path: str, state: State, finished: bool) -> None:
        """Save a state or a result that another process has made."""
        if self._checkpoints is not None:
            self._checkpoints.put(path, state, finished=finished)

    def note_hurry(self) -> None:
        """Take note that the work ends earlier than it would without a time budget, which is not used up."""
        self._hurried = True

    @property
    def hurried(self) -> bool:
        """Whether the work has ended for want of time before its time was over."""
        return self._hurried

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
        """Whether the work should end with its best model so far.

        Work asks often, and what is due to be written to the checkpoints is written on this occasion.
        """
        if self._checkpoints is not None:
            self._checkpoints.write_if_due()
        return self.was_told_to_stop() or self.gives_up()

    def break_off(self) -> None:
        """Break off a step that takes long, if the work should stop.

        Raises:
            Stopped: if so.
        """
        if self.should_stop():
            raise Stopped

    def must_stop(self) -> bool:
        """Whether the work was told to stop some time ago, so that its model is no longer rounded off.

        Work that gives up by itself may take its time, as its result must not depend on that.
        """
        if self._checkpoints is not None:
            self._checkpoints.write_if_due()
        return self.was_told_to_stop() and time.monotonic() - self.told_at() >= GRACE_SECONDS

    def was_told_to_stop(self) -> bool:
        """Whether the work was interrupted, or its time is over."""
        if not (self.interrupted or self.out_of_time()):
            return False
        if self._told_at is None:
            self._told_at = time.monotonic()
        return True

    def told_at(self) -> float:
        """When it was noticed that the work was told to stop, by the monotonic clock."""
        return time.monotonic() if self._told_at is None else self._told_at

    def __enter__(self) -> Self:
        """Handle Ctrl-C, unless somebody else does, or this watch does already, or in a side thread.

        Raises:
            KeyboardInterrupt: if Ctrl-C came before, and was lost in a function that ignores exceptions.
        """
        self._entered += 1
        if self._entered == 1:
            self._handles_interrupts = begin_handling(self._interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered -= 1
        if self._entered == 0 and self._handles_interrupts:
            self._handles_interrupts = False
            end_handling(self._interrupt)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._interrupted:  # by Ctrl-C: the same one may come by other ways, too
            raise KeyboardInterrupt
        self.interrupted = True


def join_path(path: str, name: str) -> str:
    """The path of a part within another."""
    return f"{path}/{name}" if path else name
