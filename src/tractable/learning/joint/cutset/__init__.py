"""Cutset networks: decision trees with Chow-Liu trees at their leaves, and mixtures of them."""
