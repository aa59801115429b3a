"""The interface between the search for splits and its objective.

An objective belongs to a structure and has a weight for each feature of its circuit. The search queries the
gains of candidate splits, makes a split in the structure, adds it to the objective, and fits the weights. To
add an objective, derive a class from `Objective`.
"""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import State
from tractable.learning.growing.structure import Structure


class Snapshot(NamedTuple):
    """The weights of an objective after some splits, to return to."""

    splits: int
    weights: Floats
    score: float


class Objective(ABC):
    """Scores a structure with weights on tables, and computes the gains of splits of its items.

    The weights of a structure's features, the rows and how they are summarised belong to the objective alone:
    an objective may keep one sufficient statistic for each feature, or go through the rows for every gain.
    """

    gains_change: ClassVar[bool] = True  # whether a split may change what splits of other items gain
    batch_size: ClassVar[int] = 8  # items whose gains are found together for little more than those of one

    def __init__(self, structure: Structure) -> None:
        self.structure = structure

    @property
    @abstractmethod
    def weights(self) -> Floats:
        """The logarithms of the parameters of all features of the circuit. Shape (features,)."""

    @property
    @abstractmethod
    def score(self) -> float:
        """The score of the model on the validation rows, or on the training rows without them."""

    @property
    def reported_score(self) -> float | None:
        """The mean log-likelihood that is reported during the search, or None."""
        return self.score

    def improves_on(self, best: Snapshot) -> bool:
        """Whether the model is better than an earlier one."""
        return self.score > best.score

    def support(self, items: Ints) -> Floats:
        """The fraction of the training rows in which each item holds. Shape (items,)."""
        return np.ones(items.size)

    @abstractmethod
    def gains(self, items: Ints, least: float) -> Floats:
        """The gain of splitting each item on each column, in nats over all rows. Shape (items, columns).

        Gains below `least` may be given as zero, and so is the gain of a split that cannot be made. The
        objective remembers the weights that new features should start with until the next split.
        """

    @abstractmethod
    def add_split(self, item: int, column: int) -> None:
        """Add a split that was just made in the structure.

        The new features start with the weights that `gains` found, or with neutral ones if it was not asked.
        """

    @abstractmethod
    def fit(self) -> None:
        """Fit the weights of all features after a split, unless they are known in closed form."""

    def snapshot(self) -> Snapshot:
        """The current weights and score."""
        return Snapshot(self.structure.splits, self.weights, self.score)

    @abstractmethod
    def restore(self, weights: Floats) -> None:
        """Restore the weights of a snapshot after the structure was restored.

        What is known about features that the structure no longer has is forgotten.
        """

    def replay(self, history: Ints) -> None:
        """Make the splits of a history that were not made yet.

        Weights and memory of the run that made them are restored afterwards.
        """
        for item, column in history[self.structure.splits :].tolist():
            self.structure.repeat(item, column)
            self.add_split(item, column)

    def memory(self) -> State:
        """The state of the search besides structure and weights, for checkpoints."""
        return None

    def recall(self, memory: State) -> None:  # noqa: B027 - most objectives have no memory
        """Restore the result of `memory` after the structure and the weights."""
