"""Markov networks of randomly generated conjunctions (GSSL)."""
