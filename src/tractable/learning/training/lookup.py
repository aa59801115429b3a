"""Lookup of learners by name."""

from collections.abc import Sequence

from tractable.base.settings import settings_from_text, unknown_name
from tractable.learning.conditional import CONDITIONAL, ConditionalLearner
from tractable.learning.ensembles.bagging import MEMBERS, bagged_class, is_bagged
from tractable.learning.joint import LEARNERS, Learner
from tractable.learning.networks import NETWORK_LEARNERS, NetworkLearner


def find_learner(name: str) -> type[Learner] | type[NetworkLearner] | type[ConditionalLearner]:
    """The class of a learner of joint or conditional circuits or of networks.

    Raises:
        ValueError: naming the unknown learner and the most similar name.
    """
    if name in NETWORK_LEARNERS:
        return NETWORK_LEARNERS[name]
    if name in CONDITIONAL:
        return CONDITIONAL[name]
    if name not in LEARNERS:
        raise unknown_name(LEARNERS.noun, name, [*LEARNERS, *CONDITIONAL, *NETWORK_LEARNERS])
    return LEARNERS[name]


def make_learner(name: str, texts: Sequence[str] = ()) -> Learner | NetworkLearner | ConditionalLearner:
    """A learner of joint or conditional circuits or of networks, with settings as texts `name=value`.

    Raises:
        ValueError: naming the unknown learner or the invalid setting.
    """
    kind = find_learner(name)
    if issubclass(kind, Learner) and not is_bagged(kind) and any(_sets_members(text) for text in texts):
        kind = bagged_class(kind)
    return kind(**settings_from_text(kind, texts))


def _sets_members(text: str) -> bool:
    """Whether a text requests bagging, which every learner of joint circuits supports."""
    return text.partition("=")[0].strip() == MEMBERS


def find_circuit_learner(name: str) -> type[Learner] | type[ConditionalLearner]:
    """The class of a learner of circuits, whose models can be compared by log-likelihood.

    Raises:
        ValueError: naming an unknown learner, or one that learns a network without a circuit.
    """
    kind = find_learner(name)
    if issubclass(kind, NetworkLearner):
        raise ValueError(
            f"{name} learns a Markov network, whose log-likelihood is intractable, so it cannot be tuned by"
            f" log-likelihood; `tractable learn {name} TRAIN --valid FILE` selects its penalty by"
            " pseudo-likelihood on the validation rows"
        )
    return kind
