"""The mixture of members with the best score on held-out rows, and the contribution of each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tractable.base.arrays import Bools, Floats
from tractable.base.settings import plain_value
from tractable.circuit import Graph, mixture
from tractable.learning.ensembles.auto.members import Member
from tractable.learning.statistics.stack_weights import StackWeights, choose_weights, fit_weights

LEAST_LOSS = 1e-4  # nats a row that the mixture must lose without a member that is kept
QUICK_STEPS = 100  # of EM from weights that are nearly right


@dataclass(frozen=True, kw_only=True)
class MixingSettings:
    """The settings for fitting the weights."""

    pseudo_count: float
    max_edges: int
    least_weight: float  # members with less are left out


@dataclass(frozen=True, eq=False)
class Mix:
    """Members with models, and their weights."""

    members: Sequence[Member]
    row_weights: Floats  # of the held-out rows
    how: MixingSettings
    weights: Floats  # (members,) zero for those that are left out
    score: float  # mean log-likelihood of the held-out rows

    @cached_property
    def logs(self) -> Floats:
        """The log-likelihood of each held-out row. Shape (rows,)."""
        kept = self.weights > 0
        with np.errstate(divide="ignore"):
            share = np.log(self.weights[kept])
        return np.asarray(np.logaddexp.reduce(_logs(self.members)[:, kept] + share, axis=1))

    def loss_without(self, learner: str) -> float:
        """The loss in nats per row without the members of a learner; infinite if there are no others."""
        rest = np.array([m.candidate.learner != learner for m in self.members]) & (self.weights > 0)
        return self._loss(rest)

    def pruned(self) -> "Mix":
        """The mixture without members that do not improve it, tested in ascending order of weight."""
        mixed = self
        for place in np.argsort(self.weights, kind="stable").tolist():
            rest = mixed.weights > 0
            if not rest[place] or rest.sum() == 1:
                continue
            rest[place] = False
            refitted = mixed._fit(rest)
            if refitted.score > mixed.score - LEAST_LOSS:
                weights = np.zeros(rest.size)
                weights[rest] = refitted.weights
                mixed = replace(mixed, weights=weights, score=refitted.score)
        return mixed

    def circuit(self) -> Graph:
        """The mixture."""
        kept = np.flatnonzero(self.weights > 0).tolist()
        graphs = [graph for i in kept if (graph := self.members[i].graph) is not None]
        return graphs[0] if len(graphs) == 1 else mixture(graphs, self.weights[kept])

    def table(self, others: Iterable[Member]) -> list[dict[str, Any]]:
        """A report on all members: those of the mixture by weight, then the others by score."""
        tried = [self._entry(place) for place in range(len(self.members))]
        tried.sort(key=lambda one: (-one["weight"], -(one["valid_ll"] or -np.inf)))
        return tried + [_plain(m) | {"remark": f"no model: {m.fault}"} for m in others]

    def _entry(self, place: int) -> dict[str, Any]:
        member, weight = self.members[place], float(self.weights[place])
        entry = _plain(member) | {"weight": weight, "valid_ll": self._mean(member.logs)}
        if weight > 0:
            rest = self.weights > 0
            rest[place] = False
            loss = self._loss(rest)
            return entry | {"loss_without": loss if np.isfinite(loss) else None}
        assert member.graph is not None
        if member.graph.edges > self.how.max_edges:
            return entry | {"remark": f"more than {self.how.max_edges:,} edges"}
        return entry | {"remark": "the others tell as much"}

    def _loss(self, rest: Bools) -> float:
        if not rest.any() or (rest == (self.weights > 0)).all():
            return 0.0 if rest.any() else np.inf
        return self.score - self._fit(rest).score

    def _fit(self, kept: Bools) -> StackWeights:
        """The weights of a subset of the members."""
        return fit_weights(
            _logs(self.members)[:, kept],
            self.row_weights,
            self.how.pseudo_count,
            self.weights[kept],
            QUICK_STEPS,
        )

    def _mean(self, logs: Floats) -> float | None:
        mean = float(self.row_weights @ logs) / float(self.row_weights.sum())
        return mean if np.isfinite(mean) else None


def mix(members: Sequence[Member], row_weights: Floats, settings: MixingSettings) -> Mix:
    """The best mixture of members.

    Raises:
        ValueError: if each member alone has too many edges.
    """
    edges = np.array([m.graph.edges for m in members if m.graph is not None])
    chosen = choose_weights(
        _logs(members), row_weights, edges, settings.pseudo_count, settings.max_edges, settings.least_weight
    )
    return Mix(members, row_weights, settings, chosen.weights, chosen.score)


def _logs(members: Sequence[Member]) -> Floats:
    return np.stack([m.logs for m in members], axis=1)


def _plain(member: Member) -> dict[str, Any]:
    """The report on a member as plain values."""
    return {
        "learner": member.candidate.learner,
        "number": member.candidate.number,
        "settings": {name: plain_value(value) for name, value in member.candidate.settings.items()},
        "seconds": round(member.seconds, 3),
        "finished": member.finished,
        "edges": 0 if member.graph is None else member.graph.edges,
        "valid_ll": None,
        "weight": 0.0,
        "loss_without": None,
        "remark": "",
    }
