"""Learns probability models from tables and answers any question about them exactly."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tractable.data import Interval, Schema, States, Table, Variable, read
    from tractable.estimators import (
        ACBN,
        ACMN,
        EACMN,
        IDSPN,
        BayesianNetwork,
        ChowLiuTree,
        HiddenChowLiuTree,
        Independent,
        LatentTree,
        LearnSPN,
        MixtureOfTrees,
        NaiveBayesMixture,
    )
    from tractable.model import MPE, Circuit, load, mixture, product
    from tractable.training import fit_parameters
    from tractable.tuning import Tuned, tune

__version__ = "0.1.0"

ESTIMATORS = (
    "ACBN",
    "ACMN",
    "EACMN",
    "IDSPN",
    "BayesianNetwork",
    "ChowLiuTree",
    "HiddenChowLiuTree",
    "Independent",
    "LatentTree",
    "LearnSPN",
    "MixtureOfTrees",
    "NaiveBayesMixture",
)

# Names are loaded when first asked for: `tractable --help` needs none of them, and numba and scikit-learn
# take longer to import than most commands take to run.
_HOME = {
    **dict.fromkeys(("Interval", "Schema", "States", "Table", "Variable", "read"), "tractable.data"),
    **dict.fromkeys(("MPE", "Circuit", "load", "mixture", "product"), "tractable.model"),
    "fit_parameters": "tractable.training",
    **dict.fromkeys(("Tuned", "tune"), "tractable.tuning"),
    **dict.fromkeys(ESTIMATORS, "tractable.estimators"),
}

__all__ = [
    "ACBN",
    "ACMN",
    "EACMN",
    "IDSPN",
    "MPE",
    "BayesianNetwork",
    "ChowLiuTree",
    "Circuit",
    "HiddenChowLiuTree",
    "Independent",
    "Interval",
    "LatentTree",
    "LearnSPN",
    "MixtureOfTrees",
    "NaiveBayesMixture",
    "Schema",
    "States",
    "Table",
    "Tuned",
    "Variable",
    "fit_parameters",
    "load",
    "mixture",
    "product",
    "read",
    "tune",
]


def __getattr__(name: str) -> Any:
    """A name of the package, from the room it lives in."""
    if name not in _HOME:
        raise AttributeError(f"module 'tractable' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
