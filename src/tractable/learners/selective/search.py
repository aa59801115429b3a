"""Greedy hill climbing over selective trees."""
