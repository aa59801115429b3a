"""The conditional marginal log-likelihood of a network, a score of predictions of single columns.

Lee, Ganapathi and Koller, «Efficient Structure Learning of Markov Networks Using L1-Regularization», 2007.
"""

import numpy as np

from tractable.base.arrays import Bools, Floats
from tractable.networks.gibbs.sampler import GibbsSampler


def conditional_marginal_log_likelihood(
    sampler: GibbsSampler,
    rows: Floats,
    asked: Bools,
    *,
    burn_in: int = 100,
    samples: int = 1000,
    seed: int = 0,
) -> Floats:
    """For each row the sum over the columns `asked`, (rows, columns), of log P(cell | other columns).

    The other columns have their values in the row. Missing cells are ignored.
    """
    given = np.where(asked, np.nan, rows)
    marginals = sampler.marginals(given, burn_in=burn_in, samples=samples, seed=seed)
    answer = np.zeros(len(rows))
    row, column = np.nonzero(asked & ~np.isnan(rows))
    prob = marginals[row, sampler.slots[column] + rows[row, column].astype(np.int64)]
    with np.errstate(divide="ignore"):
        np.add.at(answer, row, np.log(prob))
    return answer
