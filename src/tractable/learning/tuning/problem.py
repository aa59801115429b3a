"""A search problem: settings of a learner for two tables."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

from tractable.base.settings import Space, plain_value, search_space
from tractable.base.settings.text import check_setting_name
from tractable.data import Table
from tractable.learning.learner import CircuitLearner
from tractable.learning.training import find_circuit_learner, fingerprint


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """A learner, its fixed settings, the tables and the seed of a search."""

    kind: type[CircuitLearner]
    fixed: Mapping[str, Any]
    train: Table
    valid: Table
    seed: int
    sampler: str
    reserve: bool = True  # whether models reserve a share of probability for states never seen

    @cached_property
    def space(self) -> Space:
        """The search space of the settings."""
        return {name: choice for name, choice in search_space(self.kind).items() if name not in self.fixed}

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The default values of the searched settings."""
        learner = self.learner({})
        return {name: getattr(learner, name) for name in self.space}

    def learner(self, settings: Mapping[str, Any]) -> CircuitLearner:
        """The learner with these settings and the fixed ones."""
        return self.kind(**self.fixed, **settings)

    @cached_property
    def header(self) -> dict[str, Any]:
        """The description of a search, which runs of one search share."""
        return {
            "algorithm": self.kind.name,
            "settings": {name: plain_value(value) for name, value in self.fixed.items()},
            "space": {name: str(choice) for name, choice in self.space.items()},
            "sampler": self.sampler,
            "seed": self.seed,
            "train": fingerprint(self.train),
            "valid": fingerprint(self.valid),
        }

    @cached_property
    def key(self) -> str:
        """A checksum of the description of a search."""
        return blake2b(json.dumps(self.header).encode(), digest_size=8).hexdigest()


def learner_kind(algorithm: str, fixed: Mapping[str, Any]) -> type[CircuitLearner]:
    """The class of a learner, after a check of its fixed settings.

    Raises:
        ValueError: naming an unknown learner or setting, or if all searched settings are fixed.
    """
    kind = find_circuit_learner(algorithm)
    for name in fixed:
        check_setting_name(kind, name)
    if set(search_space(kind)) <= set(fixed):
        raise ValueError(f"there is nothing to search: all of {', '.join(search_space(kind))} are fixed")
    return kind
