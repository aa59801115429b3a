"""How many pseudo-counts groups of rows should have, told from the rows themselves (empirical Bayes)."""

import numpy as np
from scipy.special import gammaln

from tractable.base.arrays import Floats

SHARES = 0.25 ** np.arange(4)  # of the largest number of pseudo-counts, to choose among


def preferred_pseudo_counts(counts: Floats, prior: Floats, most: float) -> float:
    """The number of pseudo-counts, at most `most`, under which the groups' counts are the most probable.

    `counts` is (groups, states), and `prior` (states,) is how one pseudo-count is distributed. The counts of
    a group are Dirichlet-multinomial. Groups that each have states of their own prefer few pseudo-counts,
    groups that are alike many.
    """
    shares = most * SHARES
    return float(shares[np.argmax([_log_evidence(counts, share * prior) for share in shares])])


def _log_evidence(counts: Floats, pseudo_counts: Floats) -> float:
    """The log-probability of the counts of all groups, without the multinomial coefficients."""
    states = gammaln(pseudo_counts + counts) - gammaln(pseudo_counts)
    totals = gammaln(pseudo_counts.sum()) - gammaln(pseudo_counts.sum() + counts.sum(axis=1))
    return float(states.sum() + totals.sum())
