"""How long each trial may take of the time there is."""

import time
from math import ceil

AMPLE = 2.0  # times what the trial with the defaults took


class Budget:
    """Time for a search, shared by the trials that are still to begin; what one leaves goes to the others.

    The defaults are to beat, so their trial may take half of the time; and others have ample time compared
    with it, also if that leaves none for the last ones: models that were all cut short are of little use.
    """

    def __init__(self, seconds: float | None, jobs: int) -> None:
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._jobs = jobs

    def for_defaults(self, trials: int) -> float | None:
        """The seconds that a trial may take, the first of so many, while nobody knows how long they take."""
        left = self._left()
        return None if left is None else max(left / 2, left / ceil(trials / self._jobs))

    def share(self, trials: int, defaults_took: float | None) -> float | None:
        """The seconds that the next of so many trials may take; None when time does not matter.

        `defaults_took` is None if their trial was stopped before its end.
        """
        left = self._left()
        if left is None:
            return None
        return min(left, max(left / ceil(trials / self._jobs), AMPLE * (defaults_took or 0.0)))

    def _left(self) -> float | None:
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
