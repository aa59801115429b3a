"""Selection of each member's size and prior by the likelihood of held-out rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.progress import Key, Watch
from tractable.learning.joint.gaussian_mixture.background import Background
from tractable.learning.joint.gaussian_mixture.em import (
    EMRows,
    MixtureFit,
    add_background,
    log_mixture,
    responsibilities,
)
from tractable.learning.joint.gaussian_mixture.members import (
    Candidate,
    EMSettings,
    Member,
    first_shares,
    fit_member,
    viewed,
)
from tractable.learning.joint.gaussian_mixture.rows import MapName, MixedRows, View, fit_view
from tractable.learning.statistics.held_out import disjoint_shares

FIT = Key(__name__, "fit", MixtureFit)
PATIENCE = 2  # sizes in a row that may be no better before the search ends


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Training rows and held-out rows in one transformation."""

    view: View
    fit: EMRows
    held: EMRows
    outside: Floats  # (held rows,) log-density of the background
    seed: int
    shares: dict[int, Floats] = field(default_factory=dict)  # by size, from which the next fit starts

    def member(self, candidate: Candidate, settings: EMSettings, watch: Watch) -> Member:
        """The member fitted with given settings."""

        def work(part: Watch) -> MixtureFit:
            if candidate.size not in self.shares:
                rng = np.random.default_rng([self.seed, candidate.size])
                self.shares[candidate.size] = first_shares(self.fit, candidate.size, rng)
            return fit_member(self.view, self.fit, self.shares[candidate.size], candidate, settings, part)

        fit = watch.remember(FIT.at(self.seed, *candidate), work)
        self.shares[candidate.size] = responsibilities(self.fit, fit, settings.background)[0]
        return Member(self.view, fit)


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """The best settings for a transformation, and their scores."""

    candidate: Candidate
    member: Member  # as fitted to the first fold
    held_out: Floats  # (held rows of all folds,) log-density of the member alone
    score: float  # mean log-density of the held-out rows, with the background


def make_fold(
    name: MapName, fit: MixedRows, held: MixedRows, background: Background, is_whole: Floats, seed: int
) -> Fold:
    """A fold with a transformation fitted to its training rows."""
    view = fit_view(name, fit, is_whole)
    held_rows = viewed(view, held, background)
    return Fold(view, viewed(view, fit, background), held_rows, background.log_density(held), seed)


def fit_and_score(
    folds: Sequence[Fold], candidate: Candidate, settings: EMSettings, watch: Watch | None = None
) -> Chosen:
    """A candidate fitted in all folds."""
    members = [fold.member(candidate, settings, watch or Watch()) for fold in folds]
    logs = []
    for fold, member in zip(folds, members, strict=True):
        _, slope = fold.view.images(fold.held.rows)
        logs.append(log_mixture(fold.held, member.fit) + slope)
    held_out = np.concatenate(logs)
    outside = np.concatenate([fold.outside for fold in folds])
    weight = np.concatenate([fold.held.rows.weights for fold in folds])
    mixed = add_background(held_out, outside, settings.background)
    return Chosen(candidate, members[0], held_out, float(weight @ mixed / max(weight.sum(), 1e-300)))


def choose(
    folds: Sequence[Fold],
    sizes: Sequence[int],
    strengths: Sequence[float],
    floors: Sequence[float],
    settings: EMSettings,
    watch: Watch,
) -> Chosen:
    """The best size and strength with the first floor, then the best floor."""
    best: Chosen | None = None
    worse = 0
    for done, size in enumerate(sizes):
        candidates = [fit_and_score(folds, Candidate(size, s, floors[0]), settings, watch) for s in strengths]
        top = max(candidates, key=_score)
        worse = 0 if best is None or top.score > best.score else worse + 1
        best = top if best is None or top.score > best.score else best
        watch.report(f"{folds[0].view.name} columns", done + 1, len(sizes), best.score)
        if worse >= PATIENCE or watch.should_stop():
            break
    assert best is not None
    for floor in floors[1:]:
        if not watch.should_stop():
            other = fit_and_score(folds, best.candidate._replace(floor=floor), settings, watch)
            best = max(best, other, key=_score)
    return best


def _score(fitted: Chosen) -> float:
    return fitted.score


def split_rows(
    rows: MixedRows, share: float, folds: int, most: tuple[int, int], rng: np.random.Generator
) -> list[tuple[MixedRows, MixedRows]]:
    """Rows to fit and rows to hold out, up to a maximum of each, one pair per fold."""
    weight = np.maximum(rows.weights, 0.0)
    shares = disjoint_shares(weight, share, folds, rng)
    return [
        (_weighted(rows, weight * (1 - held), most[0], rng), _weighted(rows, weight * held, most[1], rng))
        for held in shares
    ] or [(rows, rows)]


def _weighted(rows: MixedRows, weight: Floats, most: int, rng: np.random.Generator) -> MixedRows:
    """The rows of positive weight with their weights, or a random subset up to a maximum."""
    chosen = np.flatnonzero(weight > 0)
    if chosen.size > most:
        chosen = np.sort(rng.choice(chosen, most, replace=False))
    return replace(rows.take(chosen), weights=weight[chosen])
