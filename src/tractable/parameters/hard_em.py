"""Expectation maximisation in which every row counts for its best induced tree alone."""

from dataclasses import dataclass
from typing import ClassVar, final

from tractable.parameters.cccp import ExpectationMaximisation


@final
@dataclass(frozen=True, kw_only=True)
class HardEM(ExpectationMaximisation):
    """Climbs the value of each row's best induced tree rather than of all together; so do its scores."""

    name: ClassVar[str] = "hard-em"
    title: ClassVar[str] = "hard EM"
    hard: ClassVar[bool] = True
