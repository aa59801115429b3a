"""What carries reports out of long work, and the wish to stop and earlier results into it."""

import threading
from collections.abc import Callable
from math import inf
from types import FrameType, TracebackType
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from tractable.base.interrupts import begin_handling, end_handling
from tractable.base.progress.checkpoints import Checkpoints, CheckpointStore, Place, StoredCheckpoints
from tractable.base.progress.codec import (
    NO_FORMS,
    Forms,
    Key,
    State,
    decode,
    encode,
    generator_state,
    restore_generator,
)
from tractable.base.progress.wish import StopWish

T = TypeVar("T")


class Progress(NamedTuple):
    """How far a learner has come."""

    stage: str  # what is being done, in a few words
    done: int  # steps finished
    total: int | None = None  # steps there will be; None when nobody knows
    score: float | None = None  # mean log-likelihood of the best model so far


class Stopped(Exception):  # noqa: N818 - it is no error
    """Breaks work off in the middle of a step when it should stop; what came before the step counts."""


class Reporter:
    """Passes reports on to a function, which one thread at a time calls."""

    def __init__(self, on_progress: Callable[[Progress], None] | None) -> None:
        self._on_progress = on_progress
        self._lock = threading.RLock()

    def report(self, progress: Progress) -> None:
        """Pass on how far the work has come."""
        if self._on_progress is not None:
            with self._lock:
                self._on_progress(progress)


class Watch:
    """A watch carries reports out of a learner, and the wish to stop into it.

    A learner calls `report` after each step and asks `should_stop` before the next one; when the answer is
    yes it returns its best model so far. The wish to stop has three sources. The first is the time budget of
    `seconds`, which runs from the making of the watch. The second is Ctrl-C while the watch is entered with
    `with`; a second Ctrl-C raises KeyboardInterrupt at once. The third is a KeyboardInterrupt that
    `on_progress` raises.

    Several threads may report to one watch: `on_progress` is called by one of them at a time.
    """

    goal = -inf  # a model whose score will stay below this is of no use

    def __init__(
        self,
        on_progress: Callable[[Progress], None] | None = None,
        *,
        seconds: float | None = None,
        checkpoints: CheckpointStore | Checkpoints | None = None,
    ) -> None:
        if checkpoints is not None and not isinstance(checkpoints, Checkpoints):
            checkpoints = StoredCheckpoints(checkpoints)
        self._reporter = Reporter(on_progress)
        self.wish = StopWish(seconds)
        self.place = Place(checkpoints)
        self._entered = 0
        self._handles_interrupts = False

    def report(self, stage: str, done: int, total: int | None = None, score: float | None = None) -> None:
        """Pass on how far the work has come."""
        try:
            self._reporter.report(Progress(stage, done, total, score))
        except KeyboardInterrupt:
            self.interrupted = True

    def part(self, name: str) -> "Watch":
        """The watch of a part of the work, whose checkpoints are kept apart from those of other parts."""
        return self if self.place.checkpoints is None else InnerWatch(self, part=name)

    def checkpoint(
        self, key: Key[T], rng: np.random.Generator | None = None, forms: Forms = NO_FORMS
    ) -> T | None:
        """The state in which an earlier run left this part of the work; None if there is none."""
        saved = self.place.find(key, finished=False)
        return None if saved is None else _read(saved, key, rng, forms)

    def save_checkpoint(
        self,
        key: Key[T],
        make: Callable[[], T],
        rng: np.random.Generator | None = None,
        forms: Forms = NO_FORMS,
    ) -> None:
        """Save the state that `make` returns, if there are checkpoints and the last one is old enough.

        A run that goes on from the state must find what this run would have found. Work that was told to
        stop would have found something else, so that it saves nothing any more.
        """
        if self.place.checkpoints is not None and not self.should_stop():
            path = self.place.part(key.path).path
            self.place.checkpoints.save_state(path, lambda: _written(make(), rng, forms))

    def remember(
        self,
        key: Key[T],
        work: Callable[["Watch"], T],
        rng: np.random.Generator | None = None,
        forms: Forms = NO_FORMS,
    ) -> T:
        """The result of a part of the work: that of an earlier run, if it has finished the part.

        `work` is given the watch of the part. If it draws from `rng`, that is left as after the work. A part
        that was told to stop, or that had to hurry, is not finished. `forms` are those of classes whose
        states are not simply their fields.
        """
        if self.place.checkpoints is None:
            return work(self)
        saved = self.place.find(key, finished=True)
        if saved is not None:
            return _read(saved, key, rng, forms)
        part = self.part(key.path)
        result = work(part)
        if not (part.should_stop() or part.wish.hurried):  # which it does with this one
            self.place.checkpoints.put(part.place.path, _written(result, rng, forms), finished=True)
        return result

    @property
    def left(self) -> float | None:
        """The seconds of the time budget that are left; None without a budget."""
        return self.wish.left

    @property
    def interrupted(self) -> bool:
        """Whether the work has been interrupted; may be set."""
        return self.wish.interrupted

    @interrupted.setter
    def interrupted(self, value: bool) -> None:
        self.wish.was_interrupted = value

    def should_stop(self) -> bool:
        """Whether the work should end with its best model so far: it was interrupted, or its time is over.

        Work asks often, and what is due to be written to the checkpoints is written on this occasion.
        """
        self.place.write_if_due()
        return self.wish.is_there()

    def must_stop(self) -> bool:
        """Whether the work was told to stop some time ago, so that its model is no longer rounded off."""
        self.place.write_if_due()
        return self.wish.is_urgent()

    def out_of_time(self) -> bool:
        """Whether the time budget is used up."""
        return self.wish.out_of_time()

    def break_off(self) -> None:
        """Break off a step that takes long, if the work should stop.

        Raises:
            Stopped: if so.
        """
        if self.should_stop():
            raise Stopped

    def __enter__(self) -> Self:
        """Handle Ctrl-C, unless another handler or this watch does already, or in a side thread.

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
        if self.wish.was_interrupted:  # by Ctrl-C: the same one may come by other ways, too
            raise KeyboardInterrupt
        self.interrupted = True


def _read(saved: State, key: Key[T], rng: np.random.Generator | None, forms: Forms) -> T:
    value: T = decode(key.kind, saved["value"], forms)
    if rng is not None:
        restore_generator(rng, saved["rng"])
    return value


def _written(value: Any, rng: np.random.Generator | None, forms: Forms) -> State:
    return {"value": encode(value, forms), "rng": None if rng is None else generator_state(rng)}


class InnerWatch(Watch):
    """A watch within another: it stops when the outer one is told to, and may stop earlier by itself.

    `seconds` is a time budget in place of what is left of the outer one; `inf` means as long as it takes.
    A `goal` is one for the models of this part alone. Reports go to `on_progress`, or, where that is not
    given, to the outer watch: as they are or, with a `label`, under that name and without scores, as these
    are not those of the whole. Ctrl-C is left to the outer watch. Checkpoints are those of the outer watch,
    unless there are others in `checkpoints`, or of a part of them that `part` names.
    """

    def __init__(
        self,
        outer: Watch,
        on_progress: Callable[[Progress], None] | None = None,
        *,
        label: str = "",
        goal: float | None = None,
        seconds: float | None = None,
        part: str = "",
        checkpoints: Checkpoints | None = None,
    ) -> None:
        budget = outer.left if seconds is None else seconds
        self._reporter = Reporter(on_progress or self._pass_on)
        self.wish = StopWish(None if budget == inf else budget, outer.wish)
        place = outer.place if checkpoints is None else outer.place._replace(checkpoints=checkpoints)
        self.place = place.part(part) if part else place
        self._outer = outer
        self._label = label
        self.goal = outer.goal if goal is None else goal

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def _pass_on(self, progress: Progress) -> None:
        if self._label:
            progress = Progress(f"{self._label}: {progress.stage}", progress.done, progress.total)
        self._outer.report(*progress)
