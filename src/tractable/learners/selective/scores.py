"""Scores of the sums of a selective tree, one entry for each slot.

For a sum and a slot, `gain` is what the log-likelihood of the rows in everything from that sum down would
gain if the rows were divided by the slot and each side had a copy. Both copies together would have twice the
size of the sum plus a correction, since states that a copy cannot have are dismissed from it. Corrections
concern the slots of columns in the scope only, and decisions keep theirs.
"""

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.learners.selective.kernels import SUM_EDGE
from tractable.learners.selective.nodes import Decision, joined_size, marginal_size
from tractable.learners.selective.smoothing import branches


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


def marginal_correction(states: tuple[int, ...], slot_states: Ints) -> Ints:
    """What a marginal over some states adds to its corrections, for each slot of its column."""
    many = len(states)
    change = marginal_size(many - 1) - 2 * marginal_size(many) if many > 1 else 0
    kept = set(states)
    return np.array([change if state in kept else 0 for state in slot_states.tolist()], dtype=np.int64)


def decision_correction(decision: Decision, slot_states: Ints) -> Ints:
    """What a decision itself adds to its corrections, for each slot of its column.

    The copy that keeps the slot's state has a single child left and is replaced by it. The other copy loses
    that child if it has no other state.
    """
    sizes = np.array([child.size for child in decision.children])
    joined = np.array([joined_size(decision.parent, child) for child in decision.children])
    whole = sizes.sum() + sizes.size * SUM_EDGE
    dropped = np.where([len(part) == 1 for part in decision.parts], sizes + SUM_EDGE, 0)
    if sizes.size == 2:
        dropped[dropped > 0] += SUM_EDGE + joined[::-1][dropped > 0]
    change = sizes - joined - dropped - whole  # of the two copies together, for a state of each child
    edge = branches(decision.parts, decision.prior.shape[1])[slot_states]
    return np.where(edge >= 0, change[edge], 0)
