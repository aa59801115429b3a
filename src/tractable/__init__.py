"""Learns probability models from tables and answers any question about them exactly."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tractable.base.progress import Watch
    from tractable.base.threads import use_threads
    from tractable.circuit.generalised import GeneralisedBuilder
    from tractable.data import (
        Interval,
        Schema,
        States,
        Table,
        TableWarning,
        Variable,
        clinic,
        date_parts,
        digits,
        read,
        to_frame,
    )
    from tractable.estimators.anomaly import AnomalyScorer
    from tractable.estimators.classifier import TractableClassifier
    from tractable.estimators.dspn_svd import DSPNSVD, HSICFeatures
    from tractable.estimators.generated import *  # noqa: F403 - the estimators of all registered learners
    from tractable.estimators.imputer import TractableImputer
    from tractable.estimators.markov_network import MarkovNetwork
    from tractable.learning.training import fit_parameters
    from tractable.learning.tuning import Tuned, bag, stack, tune
    from tractable.model import MPE, Circuit, load, mixture, product
    from tractable.model.generalised import GeneralisedCircuit

__version__ = "0.1.0"

# Names are loaded when first asked for: `tractable --help` needs none of them, and numba and scikit-learn
# take longer to import than most commands take to run.
_HOME = {
    **dict.fromkeys(
        (
            "Interval",
            "Schema",
            "States",
            "Table",
            "TableWarning",
            "Variable",
            "clinic",
            "date_parts",
            "digits",
            "read",
            "to_frame",
        ),
        "tractable.data",
    ),
    "Watch": "tractable.base.progress",
    "use_threads": "tractable.base.threads",
    "GeneralisedBuilder": "tractable.circuit.generalised",
    **dict.fromkeys(("MPE", "Circuit", "load", "mixture", "product"), "tractable.model"),
    "AnomalyScorer": "tractable.estimators.anomaly",
    "DSPNSVD": "tractable.estimators.dspn_svd",
    "HSICFeatures": "tractable.estimators.dspn_svd",
    "TractableClassifier": "tractable.estimators.classifier",
    "TractableImputer": "tractable.estimators.imputer",
    "MarkovNetwork": "tractable.estimators.markov_network",
    "GeneralisedCircuit": "tractable.model.generalised",
    "fit_parameters": "tractable.learning.training",
    **dict.fromkeys(("Tuned", "bag", "stack", "tune"), "tractable.learning.tuning"),
}

__all__ = [
    "DSPNSVD",
    "MPE",
    "AnomalyScorer",
    "Circuit",
    "GeneralisedBuilder",
    "GeneralisedCircuit",
    "HSICFeatures",
    "Interval",
    "MarkovNetwork",
    "Schema",
    "States",
    "Table",
    "TableWarning",
    "TractableClassifier",
    "TractableImputer",
    "Tuned",
    "Variable",
    "Watch",
    "bag",
    "clinic",
    "date_parts",
    "digits",
    "fit_parameters",
    "load",
    "mixture",
    "product",
    "read",
    "stack",
    "to_frame",
    "tune",
    "use_threads",
]


def __getattr__(name: str) -> Any:
    """A name of the package, from the room it lives in; an estimator from the table of learners."""
    if name in _HOME:
        value = globals()[name] = getattr(import_module(_HOME[name]), name)
        return value
    if name[:1].isupper() and name in _estimators():  # a room of the package must not import the learners
        return getattr(import_module("tractable.estimators"), name)
    raise AttributeError(f"module 'tractable' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*__all__, *_estimators(), "__version__"]


def _estimators() -> list[str]:
    from tractable.learning.conditional import CONDITIONAL
    from tractable.learning.joint import LEARNERS

    return [*LEARNERS.estimators, *CONDITIONAL.estimators]
