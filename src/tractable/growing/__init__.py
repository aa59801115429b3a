"""Circuits that grow feature by feature, and the weights of their features."""

from tractable.growing.circuit import GrowingCircuit, Moments

__all__ = ["GrowingCircuit", "Moments"]
