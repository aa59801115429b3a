"""Generalised arithmetic circuits: networks over inputs below a grown circuit over targets."""
