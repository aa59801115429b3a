"""Conditional sum-product networks."""
