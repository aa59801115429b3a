"""Pairwise Markov networks by one L1-regularised logistic regression a column."""
