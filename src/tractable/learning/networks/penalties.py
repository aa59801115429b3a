"""Selection of a penalty on validation rows."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from tractable.base.arrays import Bools, Floats
from tractable.base.progress import Key, Watch
from tractable.data import Table
from tractable.networks.gibbs.sampler import GibbsSampler

# ---- the conditional marginal log-likelihood of a network, a score of predictions of single columns -----
#
# Lee, Ganapathi and Koller, «Efficient Structure Learning of Markov Networks Using L1-Regularization»,
# 2007.


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


T = TypeVar("T")
FITTED = Key[Any](__name__, "fitted with penalty", Any)


def penalty_path(penalties: Sequence[float], valid: Table | None) -> list[float]:
    """The penalties to try in descending order, or only the first one without validation rows.

    Each fit starts from that with the next larger penalty, which has fewer non-zero weights.
    """
    return sorted(set(penalties if valid is not None else penalties[:1]), reverse=True)


def choose_penalty(
    path: Sequence[float],
    start: T,
    fit: Callable[[float, T, Watch], T],
    score: Callable[[T], float] | None,
    watch: Watch,
) -> T:
    """The fit of the penalty with the highest score, or of the first one without scores.

    Each fit starts from the previous one, the first from `start`. An incomplete fit is used only without any
    other. Fits consist of lists and arrays.
    """
    best, best_score, model = None, -np.inf, start
    for done, penalty in enumerate(path, start=1):
        model = watch.remember(FITTED.at(penalty), partial(fit, penalty, model))
        if best is not None and watch.should_stop():
            break
        model_score = 0.0 if score is None else score(model)
        if best is None or model_score > best_score:
            best, best_score = model, model_score
        watch.report("penalties", done, len(path), None if score is None else best_score)
        if watch.should_stop():
            break
    assert best is not None, "there is at least one penalty"
    return best
