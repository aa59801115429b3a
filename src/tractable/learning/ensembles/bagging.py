"""Bagging of any learner: a mixture with equal weights of models of bootstrap samples.

Breiman, «Bagging Predictors», 1996.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np

from tractable.base.progress import InnerWatch, Key, Watch
from tractable.base.settings import setting
from tractable.circuit import Graph, mixture
from tractable.circuit.states import graph_forms
from tractable.data import Table
from tractable.learning.learner import Learned, Learner
from tractable.learning.statistics.held_out import draw_rows

MEMBER = Key(__name__, "member", Graph)

MEMBERS = "members"  # the setting that asks for it

T = TypeVar("T", bound=Learner)


@cache
def bagged_class(kind: type[Learner]) -> type[Learner]:
    """The class of a learner with two additional settings: the number of models, and whether to resample."""

    def learn(
        self: Any, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch
    ) -> Learned:
        own = {field.name: getattr(self, field.name) for field in fields(kind)}
        return Learned(_learn_members(kind(**own), self, table, rng, (valid, watch)))

    body = {
        "__annotations__": {MEMBERS: int, "resampled": bool},
        "__module__": kind.__module__,
        "__doc__": kind.__doc__,
        MEMBERS: setting(
            8, "Number of models, each with a seed of its own, that are mixed (bagging).", at_least=1
        ),
        "resampled": setting(
            True, "Whether each of several models is learned from rows drawn with replacement."
        ),
        "_learn": learn,
    }
    decorate: Callable[[type], type[Learner]] = dataclass(frozen=True, kw_only=True)
    return decorate(type(f"Bagged{kind.__name__}", (kind,), body))


def bagged(learner: Learner, members: int, *, resampled: bool = True) -> Learner:
    """A learner of mixtures of a number of models of another learner.

    Raises:
        ValueError: if the learner has a setting of that name, or the number is below one.
    """
    kind = type(learner)
    if is_bagged(kind):
        raise ValueError(f"{learner.name} already has a setting '{MEMBERS}'")
    own = {field.name: getattr(learner, field.name) for field in fields(kind)}
    own |= {MEMBERS: members, "resampled": resampled}
    return bagged_class(kind)(**own)


def is_bagged(kind: type[Learner]) -> bool:
    """Whether a class already has a setting for the number of models."""
    return any(field.name == MEMBERS for field in fields(kind))


def _learn_members(
    learner: Learner,
    settings: Any,
    table: Table,
    rng: np.random.Generator,
    rest: tuple[Table | None, Watch],
) -> Graph:
    """The mixture of all models that time allows; the remaining time is divided evenly."""
    valid, watch = rest
    graphs: list[Graph] = []
    for member, seed in enumerate(rng.integers(2**63, size=settings.members).tolist()):
        if graphs and watch.should_stop():
            break
        left = None if watch.left is None else watch.left / (settings.members - member)
        work = partial(
            _learn_member, learner, table, seed, valid, settings.resampled and settings.members > 1
        )
        inner = InnerWatch(watch, seconds=left)
        graphs.append(inner.remember(MEMBER.at(member + 1), work, forms=graph_forms(table.schema)))
        watch.report("members", member + 1, settings.members)
    return graphs[0] if len(graphs) == 1 else mixture(graphs)


def _learn_member(
    learner: Learner, table: Table, seed: int, valid: Table | None, resampled: bool, watch: Watch
) -> Graph:
    rng = np.random.default_rng(seed)
    return learner.learn(draw_rows(table, rng) if resampled else table, rng, valid=valid, watch=watch)
