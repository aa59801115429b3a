"""Circuits that grow feature by feature, and the weights of their features."""

from tractable.growing.best_first import BestFirst
from tractable.growing.circuit import GrowingCircuit, Moments
from tractable.growing.ledger import Ledger

__all__ = ["BestFirst", "GrowingCircuit", "Ledger", "Moments"]
