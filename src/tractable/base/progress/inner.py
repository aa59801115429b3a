"""A watch for a part of some work that another watch looks after."""

from collections.abc import Callable
from math import inf
from typing import Protocol, Self

from tractable.base.progress.checkpoints import Checkpoints
from tractable.base.progress.watch import Progress, Watch, join_path


class Judge(Protocol):
    """Decides by the scores of a model, which grows step by step, whether that is given up."""

    def note_score(self, score: float) -> None:
        """Take note of the score after one more step."""

    def gives_up(self) -> bool:
        """Whether it does not pay to go on."""
        ...


class InnerWatch(Watch):
    """A watch within another: it stops when the outer one is told to, and may stop earlier by itself.

    A `judge` is given the scores that the part takes note of: if it gives up, the part ends, and the outer
    work goes on.
    `seconds` is a time budget in place of what is left of the outer one; `inf` means as long as it takes.
    Reports go to `on_progress`, or, where that is not given, to the outer watch: as they are or, with a
    `label`, under that name and without scores, as these are not those of the whole. Ctrl-C is left to the
    outer watch. Checkpoints are those of the outer watch, unless there are others in `checkpoints`, or
    of a part of them that `part` names.
    """

    def __init__(
        self,
        outer: Watch,
        on_progress: Callable[[Progress], None] | None = None,
        *,
        label: str = "",
        judge: Judge | None = None,
        seconds: float | None = None,
        part: str = "",
        checkpoints: Checkpoints | None = None,
    ) -> None:
        budget = outer.left if seconds is None else seconds
        super().__init__(
            on_progress or self._pass_on,
            seconds=None if budget == inf else budget,
            checkpoints=outer._checkpoints if checkpoints is None else checkpoints,
        )
        self._path = join_path(outer._path, part) if part else outer._path
        self._outer = outer
        self._label = label
        self._judge = judge

    def is_interrupted_elsewhere(self) -> bool:
        """Whether the outer work was interrupted."""
        return self._outer.interrupted

    def note_hurry(self) -> None:
        """Take note that this part, and so the outer work, ends for want of time."""
        super().note_hurry()
        self._outer.note_hurry()

    def gives_up(self) -> bool:
        """Whether this part, or work around it, has a reason of its own to stop."""
        return (self._judge is not None and self._judge.gives_up()) or self._outer.gives_up()

    def note_score(self, score: float) -> None:
        """Tell the judge of this part, or of the work around it, the score of the model so far."""
        (self._judge or self._outer).note_score(score)

    def told_at(self) -> float:
        """When it was noticed that this part, or the work around it, was told to stop."""
        own = super().told_at()
        return min(own, self._outer.told_at()) if self._outer.was_told_to_stop() else own

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def _pass_on(self, progress: Progress) -> None:
        if self._label:
            progress = Progress(f"{self._label}: {progress.stage}", progress.done, progress.total)
        self._outer.report(*progress)
