"""Bagging of any learner on any table, returning one circuit."""

from typing import Any, Protocol, runtime_checkable

from tractable.base.progress import Watch
from tractable.data import Names, as_table, frame_kind
from tractable.learning.ensembles.bagging import bagged
from tractable.learning.joint import LEARNERS, Learner
from tractable.learning.training import provenance, train
from tractable.model import Circuit


@runtime_checkable
class HasLearner(Protocol):
    """An estimator that creates a learner from its parameters."""

    def _make_learner(self) -> Learner: ...


def bag(
    learner: "str | Learner | HasLearner",
    table: Any,
    *,
    members: int = 8,
    resampled: bool = True,
    valid: Any = None,
    drop: Names = (),
    random_state: int = 0,
    watch: Watch | None = None,
) -> Circuit:
    """The mixture with equal weights of models learned from bootstrap samples, with different seeds.

    `learner` is a name such as `"chow-liu"`, an estimator or a learner. Without `resampled`, all models are
    learned from all rows and differ only in their seeds. `valid` is passed to the learner. Columns in `drop`
    are left out of both tables.

    Raises:
        ValueError: if there is no such learner, it does not learn joint circuits, or a table is invalid.
    """
    bagging = bagged(_joint_learner(learner), members, resampled=resampled)
    rows = as_table(table, drop=drop)
    held_out = None if valid is None else as_table(valid, rows.schema, drop=drop, unseen="missing")
    about = provenance(bagging, rows, held_out, seed=random_state, frame=frame_kind(table))
    return train(bagging, rows, held_out, about, watch).circuit


def _joint_learner(learner: "str | Learner | HasLearner") -> Learner:
    if isinstance(learner, str):
        return LEARNERS.make(learner)
    joint = learner._make_learner() if isinstance(learner, HasLearner) else learner
    if not isinstance(joint, Learner):
        raise ValueError(f"bagging mixes joint models, which {type(learner).__name__} does not learn")
    return joint
