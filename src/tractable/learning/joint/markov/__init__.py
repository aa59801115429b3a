"""Markov networks that are learned together with their circuits."""
