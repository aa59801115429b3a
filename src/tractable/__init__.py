"""Learns probability models from tables and answers any question about them exactly."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tractable.data import Interval, Schema, States, Table, Variable, read
from tractable.model import MPE, Circuit, load, mixture, product

if TYPE_CHECKING:
    from tractable.estimators import ChowLiuTree, Independent, NaiveBayesMixture

__version__ = "0.1.0"

ESTIMATORS = ("ChowLiuTree", "Independent", "NaiveBayesMixture")

__all__ = [
    "MPE",
    "ChowLiuTree",
    "Circuit",
    "Independent",
    "Interval",
    "NaiveBayesMixture",
    "Schema",
    "States",
    "Table",
    "Variable",
    "load",
    "mixture",
    "product",
    "read",
]


def __getattr__(name: str) -> Any:
    """Estimators are loaded when first named: scikit-learn takes as long to import as all the rest."""
    if name in ESTIMATORS:
        return getattr(import_module("tractable.estimators"), name)
    raise AttributeError(f"module 'tractable' has no attribute '{name}'")
