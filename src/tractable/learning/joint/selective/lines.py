"""What dividing the rows of each sum would gain: a line of numbers for each sum, an entry for each slot.

For a sum and a slot, `gain` is what the log-likelihood of the rows in everything from that sum down would
gain if the rows were divided by the slot and each side had a copy. Both copies together would have twice the
`size` of the sum plus a correction; see `corrections`.
"""

import numpy as np

from tractable.base.arrays import Floats, Ints


class Lines:
    """Gains of sums and their sizes in lines that are taken and returned; line 0 is always zero."""

    def __init__(self, slots: int) -> None:
        self.gain: Floats = np.zeros((64, slots))
        self.size: Ints = np.zeros(64, dtype=np.int64)
        self._free: Ints = np.arange(64)[::-1].copy()  # the first so many lines ...
        self._left = 63  # ... are free

    def take(self) -> int:
        """A line of zeros."""
        return int(self.take_many(1)[0])

    def take_many(self, many: int) -> Ints:
        """Several lines of zeros."""
        while self._left < many:
            old = self.size.size
            for array in (self.gain, self.size, self._free):  # in place: memory never holds two copies
                array.resize((old * 5 // 4, *array.shape[1:]), refcheck=False)
            self._put(np.arange(self.size.size - 1, old - 1, -1))
        self._left -= many
        return self._free[self._left : self._left + many].copy()

    def give_back(self, lines: Ints) -> None:
        """Return lines that are no longer needed."""
        self.gain[lines], self.size[lines] = 0.0, 0
        self._put(lines)

    def _put(self, lines: Ints) -> None:
        self._free[self._left : self._left + lines.size] = lines
        self._left += lines.size
