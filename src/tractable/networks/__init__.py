"""Bayesian and Markov networks: read from files, held as factors, compiled to circuits.

To add a file format: a file with a function from a path to a `Network`, and a line in `READERS`.
"""

from collections.abc import Callable
from pathlib import Path

from tractable.networks.bif import read_bif
from tractable.networks.compilation import DEFAULT_LIMIT, compile_network
from tractable.networks.network import Factor, FeatureFactor, Network, TableFactor, TreeFactor
from tractable.networks.uai import read_uai

READERS: dict[str, Callable[[Path], Network]] = {".bif": read_bif, ".uai": read_uai}

__all__ = [
    "DEFAULT_LIMIT",
    "READERS",
    "Factor",
    "FeatureFactor",
    "Network",
    "TableFactor",
    "TreeFactor",
    "compile_network",
    "read_bif",
    "read_uai",
]
