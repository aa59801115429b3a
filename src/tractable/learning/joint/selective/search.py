"""Greedy hill climbing over selective trees, and two ways to choose the penalty.

Peharz, Gens and Domingos, «Learning Selective Sum-Product Networks», 2014, sections 3.3 and 4.
"""

from dataclasses import dataclass
from math import exp, log

import numpy as np

from tractable.base.progress import Watch
from tractable.learning.joint.selective.candidates import Candidates
from tractable.learning.joint.selective.splits import TieRule
from tractable.learning.joint.selective.tree import SelectiveTree

LEAST_PENALTY = 1e-4  # nats; a split that gains less for each edge never helps rows that were not seen
LEAST_PENALTY_ALONE = 1.0  # where no validation rows tell when to stop
DROP = 0.05  # how much worse than the best a tree may be, relative to the log-likelihood ...
HALF_LIFE = 100  # ... which halves after so many more changes


@dataclass(frozen=True, slots=True)
class Limits:
    """The stopping criteria of a climb."""

    max_edges: int
    patience: int  # changes without a better tree before it may end


@dataclass(eq=False, slots=True)
class Found:
    """The score of the best tree so far on the validation rows."""

    score: float  # their log-likelihood
    way: int  # to smooth it


class Climb:
    """A tree that is improved until the validation rows indicate overfitting."""

    def __init__(
        self, tree: SelectiveTree, penalty: float, limits: Limits, watch: Watch, ties: TieRule | None = None
    ) -> None:
        self._tree, self._limits, self._watch = tree, limits, watch
        self._candidates = Candidates(tree, penalty, limits.max_edges, ties)
        self._weight = tree.held_out_weight
        self._since = 0  # changes since the best tree
        self._has_gained = False  # whether the best tree was found with this penalty
        self.changes = 0
        self.best = self._current()
        self._report()

    @property
    def is_validated(self) -> bool:
        """Whether there are validation rows."""
        return self._weight > 0

    def run(self) -> bool:
        """Make the best change until none gains; false if the search should end."""
        while (best := self._candidates.best()) is not None:
            if self._watch.should_stop():
                return False
            self._candidates.make(best)
            self.changes += 1
            self._record()
            if self.is_validated and self._should_give_up():
                return self._has_gained
        self._report()
        return not self._watch.should_stop()

    def lower_penalty(self) -> bool:
        """Halve the penalty; false if it is so small that no change can matter."""
        penalty = self._candidates.penalty / 2
        if penalty < (LEAST_PENALTY if self.is_validated else LEAST_PENALTY_ALONE):
            return False
        self._candidates.lower_penalty(penalty)
        self._since, self._has_gained = 0, False
        return True

    def result(self) -> Found:
        """Return to the best tree; the climb cannot go on afterwards."""
        self._tree.undo()
        return self.best

    def _record(self) -> None:
        """Keep the tree if no tree was better on the validation rows."""
        now = self._current()
        self._since += 1
        if now.score > self.best.score or not self.is_validated:
            self.best, self._since, self._has_gained = now, 0, True
            self._tree.commit()
        if self.changes % 20 == 0:
            self._report()

    def _current(self) -> Found:
        held_out = self._tree.held_out
        way = int(held_out.argmax())
        return Found(float(held_out[way]), way)

    def _should_give_up(self) -> bool:
        """Whether the tree has become too much worse than the best one.

        The paper prints the inequality the other way round, which would end every search as soon as its
        patience is used up.
        """
        more = self._since - self._limits.patience
        if more <= 0:
            return False
        drop = (self.best.score - float(self._tree.held_out.max())) / abs(self.best.score or 1.0)
        return drop > DROP * exp(more * log(0.5) / HALF_LIFE)

    def _report(self) -> None:
        penalty = self._candidates.penalty
        score = self.best.score / self._weight if self.is_validated else None
        self._watch.report(f"changes, penalty {penalty:.3g}", self.changes, score=score)


def finish_climb(climb: Climb, *, falls: bool) -> Found:
    """Climb, and return to the best tree; if the penalty falls, it is halved whenever no change gains."""
    while climb.run() and falls and climb.lower_penalty():
        pass
    return climb.result()


def tie_rules(conditions: int, starts: int, rng: np.random.Generator) -> list[TieRule]:
    """Which of several equally good splits each climb makes.

    The first takes the column that tells most about all others, the second one the first column, and further
    ones take any.
    """
    rules = [TieRule(np.zeros(conditions), 1.0), TieRule(-np.arange(conditions, dtype=np.float64), 0.0)]
    rules += [TieRule(rng.random(conditions), 0.0) for _ in range(starts - 2)]
    return rules[:starts]
