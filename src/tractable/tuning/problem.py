"""What is searched: settings of a learner for two tables."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from functools import cached_property
from hashlib import blake2b
from typing import Any

from tractable.data import Table
from tractable.learners import LEARNERS, Learner
from tractable.settings.spaces import Space


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """A learner, the settings that are fixed, the tables, and where random numbers begin."""

    kind: type[Learner]
    fixed: Mapping[str, Any]
    train: Table
    valid: Table
    seed: int
    sampler: str

    @cached_property
    def space(self) -> Space:
        """The settings that are searched."""
        return {name: choice for name, choice in self.kind.space.items() if name not in self.fixed}

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """What the learner does with the searched settings when nobody asks."""
        learner = self.learner({})
        return {name: getattr(learner, name) for name in self.space}

    def learner(self, settings: Mapping[str, Any]) -> Learner:
        """The learner with these settings and the fixed ones."""
        return self.kind(**self.fixed, **settings)

    @cached_property
    def header(self) -> dict[str, Any]:
        """What two searches must share to be one, as a file can hold it."""
        return {
            "algorithm": self.kind.name,
            "settings": plain(self.fixed),
            "space": {name: str(choice) for name, choice in self.space.items()},
            "sampler": self.sampler,
            "seed": self.seed,
            "train": fingerprint(self.train),
            "valid": fingerprint(self.valid),
        }

    @cached_property
    def key(self) -> str:
        """A short text that only the same searches share."""
        return blake2b(json.dumps(self.header).encode(), digest_size=8).hexdigest()


def learner_kind(algorithm: str, fixed: Mapping[str, Any]) -> type[Learner]:
    """The learner of a name, of which some settings are fixed and some are left to search.

    Raises:
        ValueError: naming what is unknown, with the nearest that is not, or what is left to search.
    """
    if algorithm not in LEARNERS:
        near = get_close_matches(algorithm, LEARNERS, n=1)
        known = f"; did you mean '{near[0]}'?" if near else f" ({', '.join(LEARNERS)})"
        raise ValueError(f"there is no algorithm '{algorithm}'{known}")
    kind = LEARNERS[algorithm]
    known_settings = [field.name for field in fields(kind)]
    for name in fixed:
        if name not in known_settings:
            raise ValueError(
                f"{algorithm} has no setting '{name}' (its settings: {', '.join(known_settings)})"
            )
    if set(kind.space) <= set(fixed):
        raise ValueError(f"nothing is left to search: all of {', '.join(kind.space)} are fixed")
    return kind


def all_settings(learner: Learner) -> dict[str, Any]:
    """The settings of a learner as a file can hold them."""
    return plain(asdict(learner))


def plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as JSON has them: lists for tuples, numbers of Python for those of numpy."""
    return {name: _plain(value) for name, value in settings.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value.item() if hasattr(value, "item") else value


def fingerprint(table: Table) -> str:
    """A short text that two tables share only when they have the same columns and rows."""
    digest = blake2b(repr(table.schema).encode(), digest_size=8)
    digest.update(table.values.tobytes())
    digest.update(table.row_weights.tobytes())
    return digest.hexdigest()
