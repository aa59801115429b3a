"""Mixtures of conditional tree Bayesian networks."""
