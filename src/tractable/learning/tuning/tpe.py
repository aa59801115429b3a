"""The tree-structured Parzen estimator of Optuna, which models the settings of good and bad trials.

Bergstra, Bardenet, Bengio and Kégl, «Algorithms for Hyper-Parameter Optimization», NeurIPS 2011.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from tractable.base.settings import Choice, OneOf, Space
from tractable.learning.tuning.trial import Trial

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial

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
