"""Pseudo-counts of the sums of a selective tree.

Every edge of a sum has the same pseudo-count. A sum that was copied from another one for a part of its rows
has more of them, in proportion to the weights that the other sum had: it is shrunk towards those.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tractable.base.arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Smoothing:
    """Several ways to smooth, among which validation rows choose."""

    even: Floats  # (ways,) pseudo-counts of each edge
    inherited: Floats  # (ways,) pseudo-counts of each sum in proportion to its prior mean

    @property
    def ways(self) -> int:
        """The number of ways."""
        return self.even.size

    def choose(self, way: int) -> "Smoothing":
        """One of the ways alone."""
        return Smoothing(self.even[[way]], self.inherited[[way]])

    def prior_mean(self, states: Iterable[int], column_states: int, model: Floats | None) -> Floats:
        """A prior mean over some states in proportion to a model; even if the model does not allow them all.

        Shape (ways, states of the column).
        """
        kept = list(states)
        share = np.ones((self.ways, len(kept)))
        if model is not None and (model[:, kept] > 0).all():
            share = model[:, kept]
        answer = np.zeros((self.ways, column_states))
        answer[:, kept] = share / share.sum(axis=1, keepdims=True)
        return answer

    def weights(self, counts: Floats, prior: Floats) -> Floats:
        """The weights of a sum. Shape (ways, edges), as the prior mean of its edges."""
        smoothed = counts + self.even[:, None] + self.inherited[:, None] * prior
        answer: Floats = smoothed / smoothed.sum(axis=1, keepdims=True)
        return answer


def all_ways(even: Iterable[float], inherited: Iterable[float]) -> Smoothing:
    """Every amount of one kind with every amount of the other."""
    first, second = np.meshgrid(np.array(list(even)), np.array(list(inherited)), indexing="ij")
    return Smoothing(first.ravel(), second.ravel())


def edge_means(prior: Floats, parts: Sequence[tuple[int, ...]]) -> Floats:
    """The prior mean of each edge of a sum, from that of the states. Shape (ways, edges)."""
    if all(len(part) == 1 for part in parts):
        return prior[:, [part[0] for part in parts]]
    return np.stack([prior[:, list(part)].sum(axis=1) for part in parts], axis=1)


def log_likelihood(counts: Floats) -> float:
    """Of counts under their own relative frequencies."""
    seen = counts[counts > 0]
    return float(seen @ np.log(seen / seen.sum())) if seen.size else 0.0


def branches(parts: Iterable[Iterable[int]], states: int) -> npt.NDArray[np.int32]:
    """The edge that each state of a column belongs to; -1 for states that no edge has."""
    answer = np.full(states, -1, dtype=np.int32)
    for edge, part in enumerate(parts):
        answer[list(part)] = edge
    return answer
