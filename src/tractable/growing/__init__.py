"""Circuits that grow feature by feature, and the weights of their features."""

from tractable.growing.circuit import GrowingCircuit, Moments
from tractable.growing.ledger import Ledger

__all__ = ["GrowingCircuit", "Ledger", "Moments"]
