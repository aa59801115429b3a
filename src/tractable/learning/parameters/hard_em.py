"""Expectation maximisation in which every row counts for its most probable induced tree alone."""

from dataclasses import dataclass
from typing import ClassVar, final

from tractable.learning.parameters.cccp import ExpectationMaximisation


@final
@dataclass(frozen=True, kw_only=True)
class HardEM(ExpectationMaximisation):
    """EM in which each row counts for its most probable induced tree; the scores are those of these trees."""

    name: ClassVar[str] = "hard-em"
    title: ClassVar[str] = "hard EM"
    hard: ClassVar[bool] = True
