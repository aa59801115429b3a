"""Members in several transformations and a background, weighted on held-out rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from scipy.special import logsumexp

from tractable.base.arrays import Floats
from tractable.base.progress import Key, Watch
from tractable.data import Table, collapse
from tractable.learning.joint.gaussian_mixture.background import Background, fit_background
from tractable.learning.joint.gaussian_mixture.members import EMSettings, Member, refit_member
from tractable.learning.joint.gaussian_mixture.rows import MapName, MixedRows, fit_view, mixed_rows
from tractable.learning.joint.gaussian_mixture.selection import (
    Chosen,
    choose,
    make_fold,
    split_rows,
)
from tractable.learning.statistics.stack_weights import fit_weights

CHOSEN, REFITTED = Key(__name__, "chosen", Chosen), Key(__name__, "refitted", Member)
ENOUGH = 300  # held-out rows that choices can rest on: a small table is divided several times
MOST_FOLDS = 3
MOST_FITTED, MOST_HELD = 10_000, 5_000  # rows used for choices
EM_STEPS = 300  # for the weights of the members
NEGLIGIBLE = 0.01  # members with less weight are left out
LEAST_ROWS = 5  # there are so many rows for each component
LAST_STEPS = 3  # EM iterations on all rows when the time is over
MANY_ROWS = 1000  # from which on large mixtures are tried
MAP_NAMES: tuple[MapName, ...] = ("identity", "yeo-johnson", "piecewise-linear")
SIZES, LARGE_SIZES = (1, 2, 3, 4, 6, 9), (20, 30)


@dataclass(frozen=True, kw_only=True)
class StackSettings:
    """The settings to try."""

    maps: tuple[MapName, ...] = MAP_NAMES
    sizes: tuple[int, ...] = ()  # numbers of components; empty: by the number of rows
    strengths: tuple[float, ...] = (5.0, 20.0)
    floors: tuple[float, ...] = (1e-3, 1e-4)
    held_out: float = 1 / 6
    em: EMSettings = field(default_factory=EMSettings)


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """The final model: a weight for each member and, last, for the background."""

    members: tuple[Member, ...]
    background: Background
    log_weight: Floats  # (members + 1,)
    rows: MixedRows  # that it was fitted to

    def log_density(self, rows: MixedRows) -> Floats:
        """The log-density of each row. Shape (rows,)."""
        logs = [m.log_density(rows) for m in self.members] + [self.background.log_density(rows)]
        return np.asarray(logsumexp(np.stack(logs, axis=1) + self.log_weight, axis=1))


def distinct_rows(table: Table) -> MixedRows:
    """The distinct rows with a positive weight and a known cell, or all rows if there are none."""
    weighs = (table.row_weights > 0) & ~table.missing.all(axis=1)
    return mixed_rows(collapse(table.take(weighs) if weighs.any() else table)[0])


def learn_stack(
    table: Table, valid: Table | None, settings: StackSettings, rng: np.random.Generator, watch: Watch
) -> Stack:
    """The stack of the best mixture in each transformation."""
    rows = distinct_rows(table)
    numeric = [table.schema[int(c)] for c in rows.groups.numbers]
    is_whole = np.array([float(v.is_whole) for v in numeric])
    background = fit_background(rows)
    seed = int(rng.integers(2**32))
    parts = _parts(rows, None if valid is None else distinct_rows(valid), settings, rng)
    sizes = settings.sizes or _sizes(float(parts[0][0].weights.sum()))
    chosen: list[Chosen] = []
    for name in settings.maps if numeric else settings.maps[:1]:
        if chosen and watch.should_stop():
            break
        folds = [
            make_fold(name, fit, held, background, is_whole, seed + i) for i, (fit, held) in enumerate(parts)
        ]
        work = partial(choose, folds, sizes, settings.strengths, settings.floors, settings.em)
        chosen.append(watch.remember(CHOSEN.at(name), work))
    held_rows = [held for _, held in parts]
    weight = _weights(chosen, held_rows, background, settings)
    kept = [i for i in range(len(chosen)) if weight[i] >= NEGLIGIBLE] or [int(weight[:-1].argmax())]
    members = []
    for i in kept:
        view = fit_view(settings.maps[i], rows, is_whole)
        em = (
            replace(settings.em, steps=min(settings.em.steps, LAST_STEPS))
            if watch.should_stop()
            else settings.em
        )
        again = (chosen[i].member, view, rows, background, chosen[i].candidate, em)
        members.append(watch.remember(REFITTED.at(view.name), partial(refit_member, *again)))
        watch.report("fit to all rows", len(members), len(kept))
    share = np.append(weight[kept] * (1 - weight[-1]) / weight[kept].sum(), weight[-1])
    return Stack(tuple(members), background, np.log(share), rows)


def _sizes(rows: float) -> tuple[int, ...]:
    """The numbers of components to try."""
    sizes = SIZES + LARGE_SIZES if rows > MANY_ROWS else SIZES
    return tuple(k for k in sizes if k == 1 or k * LEAST_ROWS <= rows)


def _parts(
    rows: MixedRows, valid: MixedRows | None, settings: StackSettings, rng: np.random.Generator
) -> list[tuple[MixedRows, MixedRows]]:
    """Training rows and held-out rows for each fold."""
    if valid is not None or not len(rows):
        return [(rows, rows if valid is None else valid)]
    held = max(1.0, float(rows.weights.sum()) * settings.held_out)
    folds = int(np.clip(np.ceil(ENOUGH / held), 1, min(MOST_FOLDS, 1 / settings.held_out)))
    return split_rows(rows, settings.held_out, folds, (MOST_FITTED, MOST_HELD), rng)


def _weights(
    chosen: Sequence[Chosen], held: Sequence[MixedRows], background: Background, settings: StackSettings
) -> Floats:
    """The weight of each member and of the background. Shape (members + 1,)."""
    outside = np.concatenate([background.log_density(rows) for rows in held])
    logs = np.stack([*(c.held_out for c in chosen), outside], axis=1)
    pseudo_row = np.append(np.full(len(chosen), 1 / len(chosen)), 0.0)  # none of it for the background
    row_weights = np.concatenate([rows.weights for rows in held])
    share = settings.em.background
    return fit_weights(logs, row_weights, pseudo_row, steps=EM_STEPS, last=share, settled=0.0).weights
