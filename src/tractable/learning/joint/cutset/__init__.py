"""Cutset networks: trees of decisions over some columns with Chow-Liu trees at their leaves, and mixtures."""
