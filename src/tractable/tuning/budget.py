"""How long each trial may take, so that all of them fit into the time there is."""

import time
from math import ceil


class Budget:
    """Time for a search, shared by the trials that are still to begin; what one leaves goes to the others."""

    def __init__(self, seconds: float | None, jobs: int) -> None:
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._jobs = jobs

    def share(self, trials: int) -> float | None:
        """The seconds that the next of so many trials may take; None when time does not matter."""
        if self._deadline is None:
            return None
        return max(0.0, self._deadline - time.monotonic()) / ceil(trials / self._jobs)
