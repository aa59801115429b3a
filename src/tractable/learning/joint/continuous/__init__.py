"""Continuous mixtures of trees: a network maps a latent point to the parameters of a tree."""
