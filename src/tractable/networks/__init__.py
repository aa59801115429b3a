"""Bayesian and Markov networks: reading, representation as factors, and compilation to circuits.

To add a file format: a file with a function from a path to a `Network`, and a line in `READERS`, or one from
a network to text, and a line in `WRITERS`.
"""

from collections.abc import Callable
from pathlib import Path

from tractable.networks.bif import read_bif
from tractable.networks.compiling import DEFAULT_LIMIT, TooLargeError, compile_network
from tractable.networks.flat import log_prob_of_rows
from tractable.networks.libra import read_libra
from tractable.networks.network import Factor, FeatureFactor, Network, TableFactor, TreeFactor
from tractable.networks.uai import read_uai
from tractable.networks.writing import libra_text, uai_text

READERS: dict[str, Callable[[Path], Network]] = {
    ".bif": read_bif,
    ".uai": read_uai,
    ".bn": read_libra,
    ".mn": read_libra,
}
WRITERS: dict[str, Callable[[Network], str]] = {".uai": uai_text, ".bn": libra_text, ".mn": libra_text}

__all__ = [
    "DEFAULT_LIMIT",
    "READERS",
    "WRITERS",
    "Factor",
    "FeatureFactor",
    "Network",
    "TableFactor",
    "TooLargeError",
    "TreeFactor",
    "compile_network",
    "libra_text",
    "log_prob_of_rows",
    "read_bif",
    "read_libra",
    "read_uai",
    "uai_text",
]
