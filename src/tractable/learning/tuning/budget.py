"""The time budget of a search, and of each of its trials."""

import time
from math import ceil

AMPLE = 2.0  # times what the trial with the defaults took


class TimeBudget:
    """The time budget of a search, whose remaining time is shared by the remaining trials.

    The trial of the default settings may take half of the time, because it is the reference. Other trials get
    ample time relative to it, even if none remains for the last ones, because models that are stopped early
    are of little use.
    """

    def __init__(self, seconds: float | None, jobs: int) -> None:
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._jobs = jobs

    def for_defaults(self, trials: int) -> float | None:
        """The seconds for the trial of the default settings, or None without a budget."""
        left = self._left()
        return None if left is None else max(left / 2, left / ceil(trials / self._jobs))

    def share(self, trials: int, defaults_took: float | None) -> float | None:
        """The seconds for the next of `trials` remaining trials, or None without a budget.

        `defaults_took` is the duration of the trial of the defaults, or None if it was stopped early.
        """
        left = self._left()
        if left is None:
            return None
        return min(left, max(left / ceil(trials / self._jobs), AMPLE * (defaults_took or 0.0)))

    def _left(self) -> float | None:
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
