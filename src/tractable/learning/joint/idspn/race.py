"""The race between a circuit that is being learned and a model that is there already."""

import numpy as np

FAIR_CHANCE = 100  # splits before a circuit is given up
DOUBLINGS = 4  # of its splits that a circuit is thought to make at most


class Race:
    """Gives up a circuit that will not reach the score `goal`.

    Gains become smaller as a circuit grows: what the last doubling of its splits gained, the next ones will
    hardly surpass.
    """

    def __init__(self, goal: float = -np.inf) -> None:
        self._goal = goal
        self._scores: list[float] = []
        self._lost = False

    def note_score(self, score: float) -> None:
        """Take note of the score after one more split."""
        self._scores.append(score)
        self._lost = self._lost or self._is_too_far_behind()

    def gives_up(self) -> bool:
        """Whether the circuit fell too far behind at some split."""
        return self._lost

    def _is_too_far_behind(self) -> bool:
        many = len(self._scores)
        if many <= FAIR_CHANCE or not np.isfinite(self._goal):
            return False
        halfway, now = self._scores[many // 2], self._scores[-1]
        return now + DOUBLINGS * (now - halfway) < self._goal
