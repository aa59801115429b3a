"""Bayesian networks of decision trees, and their circuits."""
