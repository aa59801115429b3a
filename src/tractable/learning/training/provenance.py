"""Provenance: the record of how a model was learned."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import tractable
from tractable.base.settings import Configurable, plain_settings, settings_from_text, unknown_name
from tractable.data import Table, unseen_share
from tractable.learning.conditional import CONDITIONAL, ConditionalLearner
from tractable.learning.ensembles.bagging import MEMBERS, bagged_class, is_bagged
from tractable.learning.joint import LEARNERS, Learner
from tractable.learning.networks import NETWORK_LEARNERS, NetworkLearner

FOUND = ("tried",)  # what a record tells that is known after learning only


def provenance(
    learner: Configurable,
    table: Table,
    valid: Table | None,
    *,
    seed: int,
    frame: str,
    reserve: bool = True,
    **more: Any,
) -> dict[str, Any]:
    """The record of a learned model as plain values, which is determined by the call and its tables.

    `frame` is the type of the training data frame, in which samples are returned, and `reserve` whether
    probability is reserved for unseen states.
    """
    return {
        "learner": learner.name,
        "settings": plain_settings(learner),
        "seed": seed,
        "version": tractable.__version__,
        "frame": frame,
        "rows": len(table),
        "weight": table.total_weight,
        "table": fingerprint(table),
        "valid": None if valid is None else fingerprint(valid),
        "unseen": unseen_share(table.total_weight) if reserve else None,
        **more,
    }


def is_finished(about: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a record equals the wanted one and its learner was not stopped early."""
    comparable = {name: value for name, value in about.items() if name not in FOUND}
    return comparable == {**wanted, "finished": True}


def fingerprint(table: Table) -> str:
    """A checksum of the columns, rows and weights of a table."""
    digest = blake2b(repr(table.schema).encode(), digest_size=8)
    digest.update(table.values.tobytes())
    digest.update(table.row_weights.tobytes())
    return digest.hexdigest()


# ---- lookup of learners by name -------------------------------------------------------------------------


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
