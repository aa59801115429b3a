"""Provenance: the record of how a model was learned."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import tractable
from tractable.base.settings import Configurable, plain_settings
from tractable.data import Table, unseen_share

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
