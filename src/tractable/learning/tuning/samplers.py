"""Samplers of settings, which depend on the seed, the number of the trial and earlier trials.

They have no other state, so an interrupted search continues with the same sequence.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tractable.base.settings import Choice, OneOf, Space, draw_settings
from tractable.learning.tuning.trial import Trial

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial


# ---- the tree-structured Parzen estimator of Optuna, which models the settings of good and bad trials ----
#
# Bergstra, Bardenet, Bengio and Kégl, «Algorithms for Hyper-Parameter Optimization», NeurIPS 2011.


LOWEST = -1e300  # stands for a score of -inf: only the order of scores counts


def check_optuna() -> None:
    """Check that Optuna is installed.

    Raises:
        ValueError: naming the extra that installs it.
    """
    if find_spec("optuna") is None:
        raise ValueError(
            "the sampler tpe requires optuna, which is installed by: pip install 'tractable[tune]'"
        )


def tpe_settings(
    space: Space, defaults: Mapping[str, Any], seed: int, number: int, earlier: Sequence[Trial]
) -> dict[str, Any]:
    """The settings that the estimator proposes after the earlier trials."""
    from optuna import create_study
    from optuna.samplers import TPESampler

    own_seed = int(np.random.default_rng([seed, number]).integers(2**31))
    distributions = {name: _distribution(choice) for name, choice in space.items()}
    with _silence():
        study = create_study(direction="maximize", sampler=TPESampler(seed=own_seed))
    study.add_trials([_as_optuna_trial(trial, space, distributions) for trial in earlier if not trial.fault])
    asked = study.ask(distributions).params
    return {name: _from_optuna(choice, asked[name]) for name, choice in space.items()}


def _distribution(choice: Choice) -> "BaseDistribution":
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(choice, OneOf):  # by their places: Optuna takes no tuples
        return CategoricalDistribution(range(len(choice.options)))
    if choice.whole:
        return IntDistribution(int(choice.low), int(choice.high), log=choice.log)
    return FloatDistribution(choice.low, choice.high, log=choice.log)


def _as_optuna_trial(
    trial: Trial, space: Space, distributions: dict[str, "BaseDistribution"]
) -> "FrozenTrial":
    from optuna.trial import create_trial

    params = {name: _to_optuna(choice, trial.settings[name]) for name, choice in space.items()}
    return create_trial(params=params, distributions=distributions, value=max(trial.score, LOWEST))


def _to_optuna(choice: Choice, value: Any) -> Any:
    return choice.options.index(value) if isinstance(choice, OneOf) else value


def _from_optuna(choice: Choice, value: Any) -> Any:
    return choice.options[value] if isinstance(choice, OneOf) else choice.round_to_range(value)


@contextmanager
def _silence() -> Iterator[None]:
    """Disable Optuna's log messages, since a study is created for each trial."""
    from optuna import logging

    before = logging.get_verbosity()
    logging.set_verbosity(logging.WARNING)
    try:
        yield
    finally:
        logging.set_verbosity(before)


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
