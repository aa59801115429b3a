"""Latent trees: structure learning from distances, and compilation to circuits."""
