"""Gibbs sampling: approximate answers of networks that are too large to compile."""
