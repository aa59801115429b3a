"""What a search for splits maximises: the interface between the search and a way to score models.

An objective belongs to a structure and has a weight for each feature of its circuit. The search asks the
objective what candidate splits would gain, makes a split in the structure, tells the objective, and lets it
fit its weights. To add an objective, derive a class from `Objective`; the search needs nothing else.
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
    """Scores a structure with weights by the rows of tables, and says what splits of its items would gain.

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
        """How good the model is on the validation rows, or on the training rows if there are no others."""

    @property
    def reported_score(self) -> float | None:
        """The mean log-likelihood that a user follows during the search; None if the objective has none."""
        return self.score

    def improves_on(self, best: Snapshot) -> bool:
        """Whether the model is to be preferred to an earlier one."""
        return self.score > best.score

    def support(self, items: Ints) -> Floats:
        """The part of the training rows in which each item holds. Shape (items,)."""
        return np.ones(items.size)

    @abstractmethod
    def gains(self, items: Ints, least: float) -> Floats:
        """What splitting each item on each column would gain, in nats over all rows. Shape (items, columns).

        Gains below `least` may be given as zero, and so is the gain of a split that cannot be made. The
        objective remembers the weights that new features should start with until the next split.
        """

    @abstractmethod
    def add_split(self, item: int, column: int) -> None:
        """Follow a split that was just made in the structure.

        The new features start with the weights that `gains` found, or with neutral ones if it was not asked.
        """

    @abstractmethod
    def fit(self) -> None:
        """Fit the weights of all features after a split; nothing to do if these are known in closed form."""

    def snapshot(self) -> Snapshot:
        """The present weights and score."""
        return Snapshot(self.structure.splits, self.weights, self.score)

    @abstractmethod
    def restore(self, weights: Floats) -> None:
        """Take weights of a snapshot, after the structure was brought to the splits that it had at that time.

        What is known about features that the structure no longer has is forgotten.
        """

    def replay(self, history: Ints) -> None:
        """Make those splits of a history that were not made yet; the others are its beginning.

        Weights and memory of the run that made them are restored afterwards.
        """
        for item, column in history[self.structure.splits :].tolist():
            self.structure.repeat(item, column)
            self.add_split(item, column)

    def memory(self) -> State:
        """What the search depends on beside the structure and the weights, for checkpoints."""
        return None

    def recall(self, memory: State) -> None:  # noqa: B027 - most objectives have no memory
        """Take what `memory` returned, after the structure and the weights were restored."""
