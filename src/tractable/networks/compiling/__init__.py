"""Compilation of networks to circuits by variable elimination on decision diagrams."""

from tractable.networks.compiling.elimination import DEFAULT_LIMIT, compile_network
from tractable.networks.compiling.order import TooLargeError

__all__ = ["DEFAULT_LIMIT", "TooLargeError", "compile_network"]
