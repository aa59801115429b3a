"""The race between a circuit that is being learned and a model that is there already."""

import numpy as np

from tractable.base.progress import InnerWatch, Progress, Watch

FAIR_CHANCE = 100  # splits before a circuit is given up
DOUBLINGS = 4  # of its splits that a circuit is thought to make at most


class RaceWatch(InnerWatch):
    """The watch of one circuit, which is given up when it will not reach the score `goal`.

    Gains become smaller as a circuit grows: what the last doubling of its splits gained, the next ones will
    hardly surpass. The outer watch hears of the circuit's progress under `name`, but not of its scores, which
    are those of a part of the rows and columns.
    """

    def __init__(self, outer: Watch, goal: float = -np.inf, name: str = "circuit") -> None:
        super().__init__(outer, self._take, stop=self.is_lost)
        self._goal = goal
        self._name = name
        self._scores: list[float] = []
        self._lost = False

    def is_lost(self) -> bool:
        """Whether the circuit fell too far behind at some report."""
        return self._lost

    def _take(self, progress: Progress) -> None:
        if progress.score is not None:
            self._scores.append(progress.score)
        self._lost = self._lost or self._is_too_far_behind()
        self._outer.report(f"{self._name}: {progress.stage}", progress.done, progress.total)

    def _is_too_far_behind(self) -> bool:
        many = len(self._scores)
        if many <= FAIR_CHANCE or not np.isfinite(self._goal):
            return False
        halfway, now = self._scores[many // 2], self._scores[-1]
        return now + DOUBLINGS * (now - halfway) < self._goal
