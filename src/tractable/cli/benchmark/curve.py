"""How soon a run comes near to the score that it ends with."""

import time

from tractable.base.progress import Progress

NEAR = 0.005  # part of the last score that a score may be away from it


class ScoreCurve:
    """The best score so far at each moment of a run, as its progress tells it."""

    def __init__(self) -> None:
        self._begin = time.perf_counter()
        self._better: list[tuple[float, float]] = []  # seconds, and the score that was reached then

    def __call__(self, progress: Progress) -> None:
        """Take in what a learner tells."""
        score = progress.score
        if score is not None and (not self._better or score > self._better[-1][1]):
            self._better.append((time.perf_counter() - self._begin, score))

    @property
    def settled_seconds(self) -> float | None:
        """When the score came within half a percent of the last one; None if the learner told no score."""
        if not self._better:
            return None
        last = self._better[-1][1]
        return next(when for when, score in self._better if score >= last - NEAR * abs(last))
