"""Samplers of settings, which depend on the seed, the number of the trial and earlier trials.

They have no other state, so an interrupted search continues with the same sequence.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tractable.base.settings import Space, draw_settings
from tractable.learning.tuning.tpe import check_optuna, tpe_settings
from tractable.learning.tuning.trial import Trial

Settings: TypeAlias = Mapping[str, Any]
Proposal: TypeAlias = Callable[[Space, Settings, int, int, Sequence[Trial]], Settings]

KEPT = 0.5  # the chance that a setting has its default


@dataclass(frozen=True)
class Sampler:
    """A function that proposes the settings of a trial."""

    settings: Proposal  # of a space with defaults, for a seed and the number of a trial, after some trials
    learns: bool  # whether the earlier trials matter
    check: Callable[[], None] = lambda: None  # refuses when something is wanting


def random_settings(
    space: Space, defaults: Settings, seed: int, number: int, earlier: Sequence[Trial]
) -> Settings:
    """Settings of which about half are drawn at random and the others have their defaults."""
    rng = np.random.default_rng([seed, number])
    drawn = draw_settings(space, rng)
    kept = rng.random(len(drawn)) < KEPT
    kept[rng.integers(len(drawn))] = False  # one differs at least
    return {name: defaults[name] if keep else drawn[name] for name, keep in zip(drawn, kept, strict=True)}


SAMPLERS: dict[str, Sampler] = {
    "random": Sampler(random_settings, learns=False),
    "tpe": Sampler(tpe_settings, learns=True, check=check_optuna),
}


def sampler_named(name: str) -> Sampler:
    """The sampler with a name.

    Raises:
        ValueError: if there is no such sampler, or a package that it requires is not installed.
    """
    if name not in SAMPLERS:
        raise ValueError(f"there is no sampler '{name}' ({', '.join(SAMPLERS)})")
    SAMPLERS[name].check()
    return SAMPLERS[name]
