"""What is measured: a learner, and methods that improve its parameters, as in `learnspn+cccp`.

Settings may be part of a name, as in `selective:tuning=grid`, to compare a learner with itself.
Learners of networks are measured, too, by what Gibbs sampling answers; methods do not apply to them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tractable.base.progress import Watch
from tractable.base.settings import plain_settings
from tractable.circuit import Graph
from tractable.cli.benchmark.datasets import Tables
from tractable.cli.benchmark.logistic import LogisticContestant
from tractable.cli.benchmark.published import counterparts, given_inputs
from tractable.learning.conditional import CONDITIONAL, ConditionalLearner
from tractable.learning.joint import LEARNERS, Learner
from tractable.learning.networks import NetworkLearner
from tractable.learning.parameters import METHODS, Method, fit
from tractable.learning.training import make_learner
from tractable.networks import Network


@dataclass(frozen=True)
class Contestant:
    """A learner with its settings, and what comes after it."""

    name: str
    learner: Learner
    methods: tuple[Method, ...]

    @property
    def settings(self) -> dict[str, dict[str, Any]]:
        """All settings by learner or method, as a file can hold them."""
        parts: list[Learner | Method] = [self.learner, *self.methods]
        return {part.name: plain_settings(part) for part in parts}

    def learn(self, tables: Tables, rng: np.random.Generator, watch: Watch) -> Graph:
        """The circuit that comes of the training rows, chosen on the validation rows."""
        graph = self.learner.learn(tables.train, rng, valid=tables.valid, watch=watch)
        for method in self.methods:
            graph = fit(graph, tables.train, method, rng, valid=tables.valid, watch=watch).graph
        return graph


@dataclass(frozen=True)
class NetworkContestant:
    """A learner of networks with its settings."""

    name: str
    learner: NetworkLearner

    @property
    def settings(self) -> dict[str, dict[str, Any]]:
        """All settings of the learner under its name, as a file can hold them."""
        return {self.learner.name: plain_settings(self.learner)}

    def learn(self, tables: Tables, rng: np.random.Generator, watch: Watch) -> Network:
        """The network that comes of the training rows, its penalty chosen on the validation rows."""
        return self.learner.learn(tables.train, rng, valid=tables.valid, watch=watch)


@dataclass(frozen=True)
class ConditionalContestant:
    """A learner of P(targets | inputs) with its settings; the tables say which columns are which."""

    name: str
    learner: ConditionalLearner

    @property
    def settings(self) -> dict[str, dict[str, Any]]:
        """All settings of the learner under its name, as a file can hold them."""
        return {self.learner.name: plain_settings(self.learner)}

    def learn(self, tables: Tables, rng: np.random.Generator, watch: Watch) -> Graph:
        """The circuit that comes of the training rows, chosen on the validation rows."""
        return self.learner.learn(tables.train, rng, valid=tables.valid, watch=watch)


def conditional_contestant(
    name: str, settings: Sequence[str] = ()
) -> Contestant | ConditionalContestant | LogisticContestant:
    """What is asked for targets given inputs: a conditional learner, a joint one, or `logistic`.

    Raises:
        ValueError: naming the learner, the method or the setting that is unknown.
    """
    if name == LogisticContestant.name:
        return LogisticContestant()
    learner = None if "+" in name else make_learner(_owner(name), _own(name, settings))
    if isinstance(learner, ConditionalLearner):
        return ConditionalContestant(name, learner)
    joint = contestant(name, settings)
    if isinstance(joint, NetworkContestant):
        raise ValueError(f"'{name}' learns a network without a circuit, but the benchmark compares circuits")
    return joint


def any_contestant(
    name: str, settings: Sequence[str], conditional: bool
) -> Contestant | NetworkContestant | ConditionalContestant | LogisticContestant:
    """The contestant of a name, among those of joint or of conditional models."""
    return conditional_contestant(name, settings) if conditional else contestant(name, settings)


def contestant(name: str, settings: Sequence[str] = ()) -> Contestant | NetworkContestant:
    """The contestant of a name; settings are texts `learner.name=value`, and those of others are let be.

    Raises:
        ValueError: naming the learner, the method or the setting that is unknown.
    """
    first, *rest = name.split("+")
    learner = make_learner(_owner(first), _own(first, settings))
    if isinstance(learner, NetworkLearner):
        if rest:
            raise ValueError(
                f"'{name}': {first} learns a network without a circuit, which {rest[0]} cannot fit"
            )
        return NetworkContestant(name, learner)
    if isinstance(learner, ConditionalLearner):
        raise ValueError(
            f"'{name}': {first} learns a conditional model, but the benchmark compares joint models"
        )
    return Contestant(name, learner, tuple(METHODS.make(_owner(part), _own(part, settings)) for part in rest))


def contestants(names: Sequence[str], settings: Sequence[str]) -> list[Contestant | NetworkContestant]:
    """Several contestants; each setting belongs to a part of one of them.

    Raises:
        ValueError: also for a setting that belongs to none.
    """
    _check_owners(names, settings)
    return [contestant(name, settings) for name in names]


def conditional_contestants(
    names: Sequence[str], settings: Sequence[str]
) -> list[Contestant | ConditionalContestant | LogisticContestant]:
    """Several contestants that are asked for targets given inputs.

    Raises:
        ValueError: also for a setting that belongs to none.
    """
    _check_owners(names, settings)
    return [conditional_contestant(name, settings) for name in names]


def _check_owners(names: Sequence[str], settings: Sequence[str]) -> None:
    """Refuse a setting that belongs to none of the contestants."""
    parts = {_owner(part) for name in names for part in name.split("+")}
    for text in settings:
        owner, dot, _ = text.partition("=")[0].strip().partition(".")
        if not dot:
            raise ValueError(f"'{text}' is not a setting of the form learner.name=value")
        if owner not in parts:
            raise ValueError(f"setting '{text}': '{owner}' is not among {', '.join(sorted(parts))}")


def published_conditional_names() -> list[str]:
    """The contestants of which figures given inputs are published, and independent regressions."""
    known = dict.fromkeys(learner for _, learner, _ in given_inputs())
    return [name for name in known if name in LEARNERS or name in CONDITIONAL] + [LogisticContestant.name]


def published_names() -> list[str]:
    """The contestants that repeat a published method, as far as their learners are there."""
    return [
        name
        for name in counterparts()
        if _owner(name.split("+")[0]) in LEARNERS and all(_owner(p) in METHODS for p in name.split("+")[1:])
    ]


def _owner(part: str) -> str:
    """The learner or method of a part of a name."""
    return part.partition(":")[0]


def _own(part: str, settings: Sequence[str]) -> list[str]:
    """The settings of a part: those given for its learner or method, unless its name sets them itself."""
    owner, *in_name = part.split(":")
    fixed = {text.partition("=")[0].strip() for text in in_name}
    given = [text.strip().partition(".")[2] for text in settings if text.strip().startswith(f"{owner}.")]
    return [text for text in given if text.partition("=")[0].strip() not in fixed] + in_name
