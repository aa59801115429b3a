"""Empirical Bayes estimates of pseudo-counts from groups of rows."""

import numpy as np
from scipy.special import gammaln

from tractable.base.arrays import Floats

SHARES = 0.25 ** np.arange(4)  # of the largest number of pseudo-counts, to choose among


def preferred_pseudo_counts(counts: Floats, prior: Floats, most: float) -> float:
    """The pseudo-count, at most `most`, that maximises the likelihood of the groups' counts.

    `counts` is (groups, states), and `prior` (states,) is the distribution of one pseudo-count. The counts of
    a group are Dirichlet-multinomial. Groups with different states prefer small pseudo-counts, similar groups
    large ones.
    """
    shares = most * SHARES
    return float(shares[np.argmax([_log_evidence(counts, share * prior) for share in shares])])


def _log_evidence(counts: Floats, pseudo_counts: Floats) -> float:
    """The log-probability of the counts of all groups, without the multinomial coefficients."""
    states = gammaln(pseudo_counts + counts) - gammaln(pseudo_counts)
    totals = gammaln(pseudo_counts.sum()) - gammaln(pseudo_counts.sum() + counts.sum(axis=1))
    return float(states.sum() + totals.sum())
