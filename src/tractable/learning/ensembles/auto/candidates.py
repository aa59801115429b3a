"""Which learners are tried on a table, in order of promise, and with which settings one after the other.

The order and the settings were chosen by the validation rows of binary tables, and rest on the published
comparisons of the learners otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tractable.learning.ensembles.auto.facts import TableFacts

Settings = Mapping[str, Any]

FLOOR = ("independent", "chow-liu")  # models that are there within seconds


@dataclass(frozen=True)
class Candidate:
    """A learner with settings and a seed."""

    learner: str
    number: int  # among the candidates of its learner, from 1 on; it tells the seed
    settings: Settings
    share: float = 1.0  # of the time of a round, beside those of other candidates

    @property
    def name(self) -> str:
        """What it is called in reports and checkpoints."""
        return f"{self.learner} {self.number}"


# What is tried first, and then, if the learner is of use, one after the other. The same settings again mean
# another seed.
VARIANTS: dict[str, tuple[Settings, ...]] = {
    "independent": ({},),
    "chow-liu": ({},),
    "cutset": ({}, {"components": 40}, {"mixture": "extremely-random"}, {"em_steps": 10}),
    "continuous-mixture": ({}, {}, {"strength": "medium"}, {"strength": "weak"}, {}),
    "hidden-chow-liu": (
        {"states": (16, 4), "trees": 2}, {"states": (32,), "trees": 1}, {"states": (8,), "trees": 4},
        {"states": (16,), "trees": 2, "bagged": True}, {"states": (32,), "trees": 1},
    ),
    "eacmn": ({}, {"split_cost": 1.5, "l1": 1.0, "max_edges": 2_000_000}),
    "idspn": ({}, {"clusters": 20, "min_split_cost": 2.0}),
    "learnspn": ({},),
    "gaussian-mixture": ({}, {}, {}),
    "naive-bayes": ({}, {}),
    "mixture-of-trees": ({}, {}),
    "latent-tree": ({},),
}  # fmt: skip

# For tables on which large models have no rows to be fitted to.
TINY: dict[str, tuple[Settings, ...]] = VARIANTS | {
    "cutset": ({"components": 8, "min_rows": (100, 50)},),
    "continuous-mixture": ({"components": 64, "networks": 1, "strength": "strong"},),
    "hidden-chow-liu": ({"states": (4,), "trees": 1},),
    "gaussian-mixture": ({},),
    "naive-bayes": ({},),
}

TINY_TABLE = ("naive-bayes", "learnspn", "cutset", "hidden-chow-liu", "continuous-mixture")
BINARY_TABLE = ("cutset", "continuous-mixture", "hidden-chow-liu", "eacmn", "idspn", "learnspn")
ORDERED_TABLE = ("hidden-chow-liu", "eacmn", "cutset", "idspn", "continuous-mixture", "learnspn")
NUMERIC_TABLE = (
    "gaussian-mixture", "hidden-chow-liu", "continuous-mixture", "idspn", "learnspn", "cutset",
    "mixture-of-trees", "naive-bayes",
)  # fmt: skip

WIDE = 200  # columns of a table from which on ...
WIDE_SHARES = {"continuous-mixture": 3.0}  # ... these learners have more time than others, as they need it


def kinds_for(facts: TableFacts) -> tuple[str, ...]:
    """The learners to try on a table, the most promising first."""
    if facts.is_tiny:
        return ("gaussian-mixture", *TINY_TABLE) if facts.numeric else TINY_TABLE
    if facts.numeric:
        return NUMERIC_TABLE
    return ORDERED_TABLE if facts.ordered else BINARY_TABLE


def candidates_for(learner: str, facts: TableFacts) -> tuple[Candidate, ...]:
    """What is tried of a learner, in this order."""
    variants = (TINY if facts.is_tiny else VARIANTS)[learner]
    share = WIDE_SHARES.get(learner, 1.0) if facts.columns >= WIDE and not facts.is_tiny else 1.0
    return tuple(Candidate(learner, number, how, share) for number, how in enumerate(variants, start=1))
