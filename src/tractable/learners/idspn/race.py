"""When a circuit that is being learned is given up, because something else is better."""

import numpy as np

from tractable.progress import Progress, Watch

FAIR_CHANCE = 100  # splits before a circuit is given up
DOUBLINGS = 4  # of its splits that a circuit is thought to make at most


class _Race:
    """Listens to the score of a circuit, and ends it when what it gains becomes too little.

    Gains become smaller as a circuit grows: what the last doubling of its splits gained, the next ones will
    hardly surpass.
    """

    def __init__(self, outer: Watch, goal: float) -> None:
        self._outer = outer
        self._goal = goal
        self._scores: list[float] = []

    def __call__(self, progress: Progress) -> None:
        if progress.score is not None:
            self._scores.append(progress.score)
        if self._outer.interrupted or self._is_lost():
            raise KeyboardInterrupt

    def _is_lost(self) -> bool:
        many = len(self._scores)
        if many <= FAIR_CHANCE or not np.isfinite(self._goal):
            return False
        halfway, now = self._scores[many // 2], self._scores[-1]
        return now + DOUBLINGS * (now - halfway) < self._goal


def racing(outer: Watch, goal: float) -> Watch:
    """A watch for a part of the work that stops when the outer one does, or when the goal is too far."""
    return Watch(_Race(outer, goal), seconds=outer.left)
