"""Gated mixtures of conditional random fields with a common partition function."""
