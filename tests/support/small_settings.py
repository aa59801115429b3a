"""Settings with which learners that would take long are fast and still learn, for contract tests of all."""

from typing import Any

from tractable.learning.conditional import CONDITIONAL
from tractable.learning.joint import LEARNERS

SMALL: dict[str, dict[str, Any]] = {
    "bayesian-network": {"limit": 20_000},
    "continuous-mixture": {"components": 32, "points": 32, "patience": 1, "strength": "medium"},
    "gaclearn": {"members": 2, "epochs": 15, "learning_rate": 0.02, "hidden": 10},
    "gaussian-mixture": {"components": (1, 3), "steps": 20},
    "hidden-chow-liu": {"trees": 2, "states": (4, 2), "epochs": 6, "steps": 5},
    "idspn": {"extensions": 2},
}


def small_estimator(kind: type[Any], **settings: Any) -> Any:
    """An estimator with the small settings of its learner, if it has any, and others."""
    names = {table.estimator_of(name): name for table in (LEARNERS, CONDITIONAL) for name in table}
    return kind(**{**SMALL.get(names.get(kind.__name__, ""), {}), **settings})
