"""Gibbs sampling for networks that are too large to compile."""
