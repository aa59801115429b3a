"""Markov networks learned by pseudo-likelihood, whose questions are answered by sampling."""

from tractable.approximate.cmll import conditional_marginal_log_likelihood
from tractable.approximate.gssl import GSSL
from tractable.approximate.l1 import L1Regressions
from tractable.approximate.pseudo_likelihood import fit_weights, mean_log_pseudo_likelihood

__all__ = [
    "GSSL",
    "L1Regressions",
    "conditional_marginal_log_likelihood",
    "fit_weights",
    "mean_log_pseudo_likelihood",
]
