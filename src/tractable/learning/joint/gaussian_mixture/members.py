"""A member of the stack: a mixture of Gaussians in one transformation of the numeric columns."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.learning.joint.gaussian_mixture.background import Background
from tractable.learning.joint.gaussian_mixture.em import (
    EMRows,
    MixtureFit,
    Prior,
    em_rows,
    iterate_em,
    labels_as_shares,
    log_mixture,
    responsibilities,
    start_from,
    widen_counts,
)
from tractable.learning.joint.gaussian_mixture.rows import MixedRows, View
from tractable.learning.statistics.clustering import k_means


class Candidate(NamedTuple):
    """The settings that are selected for a member."""

    size: int  # components
    strength: float  # of the prior of covariances, in rows
    floor: float  # of variances of standardised columns


@dataclass(frozen=True, kw_only=True)
class EMSettings:
    """The settings of EM."""

    steps: int = 100
    tolerance: float = 1e-3
    smoothing: float = 1.0  # pseudo-rows of the states and counts of a component
    background: float = 0.01  # share of the background while a member is fitted and compared


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A fitted mixture with its transformation."""

    view: View
    fit: MixtureFit

    def log_density(self, rows: MixedRows) -> Floats:
        """The log-density of each row in the units of its columns. Shape (rows,)."""
        z, slope = self.view.images(rows)
        return log_mixture(em_rows(rows, z, np.zeros(len(rows))), self.fit) + slope


def viewed(view: View, rows: MixedRows, background: Background) -> EMRows:
    """Rows in the form of EM after a transformation."""
    z, slope = view.images(rows)
    return em_rows(rows, z, background.log_density(rows) - slope)


def first_shares(data: EMRows, size: int, rng: np.random.Generator) -> Floats:
    """Initial responsibilities by k-means over numbers and one-hot states. Shape (rows, size)."""
    counts = data.rows.counts / np.maximum(1.0, np.sqrt(data.overall_rate))
    points = np.concatenate([data.patterns.values, data.rows.indicators, counts], axis=1)
    return labels_as_shares(k_means(points, data.rows.weights, size, rng), size)


def fit_member(
    view: View,
    data: EMRows,
    share: Floats,
    candidate: Candidate,
    settings: EMSettings,
    watch: Watch | None = None,
) -> MixtureFit:
    """The mixture fitted by EM from initial responsibilities."""
    prior = Prior(
        strength=candidate.strength,
        floor=candidate.floor,
        smoothing=settings.smoothing,
        unit_floor=view.unit_floor,
    )
    fit = start_from(data, share, prior)
    fit = iterate_em(
        data,
        fit,
        prior,
        background=settings.background,
        steps=settings.steps,
        tolerance=settings.tolerance,
        watch=watch,
    )
    return widen_counts(data, fit, settings.smoothing, settings.background)


def refit_member(
    member: Member,
    view: View,
    rows: MixedRows,
    background: Background,
    candidate: Candidate,
    settings: EMSettings,
    watch: Watch | None = None,
) -> Member:
    """A member refitted to other rows by EM, starting from its responsibilities for them."""
    share, _ = responsibilities(viewed(member.view, rows, background), member.fit, settings.background)
    return Member(view, fit_member(view, viewed(view, rows, background), share, candidate, settings, watch))
