"""The time of a search, and how long each of its trials may take."""

import time
from math import ceil

AMPLE = 2.0  # times what the trial with the defaults took


class TimeBudget:
    """The time of a search, shared by the trials that are still to begin; what one leaves goes to the others.

    The trial with the default settings may take half of the time, because the others are compared with it.
    The others have ample time compared with that trial, even if none is left for the last ones: models that
    were all stopped early are of little use.
    """

    def __init__(self, seconds: float | None, jobs: int) -> None:
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._jobs = jobs

    def for_defaults(self, trials: int) -> float | None:
        """The seconds for the first of `trials`, that with the defaults; None if time does not matter."""
        left = self._left()
        return None if left is None else max(left / 2, left / ceil(trials / self._jobs))

    def share(self, trials: int, defaults_took: float | None) -> float | None:
        """The seconds for the next of `trials` trials; None if time does not matter.

        `defaults_took` is how long the trial with the defaults took; None if it was stopped before its end.
        """
        left = self._left()
        if left is None:
            return None
        return min(left, max(left / ceil(trials / self._jobs), AMPLE * (defaults_took or 0.0)))

    def _left(self) -> float | None:
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
