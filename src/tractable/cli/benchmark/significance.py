"""Whether one model finds the same rows more probable than another, beyond chance."""

from typing import Literal, TypeAlias

import numpy as np
from scipy.special import stdtr

from tractable.base.arrays import Floats

LEVEL = 0.05  # of all the tests of the published tables

Verdict: TypeAlias = Literal["better", "worse", ""]


def paired_p_value(ours: Floats, theirs: Floats) -> float:
    """The p-value of Student's two-sided paired t-test; one for a single row, or where nothing differs.

    Both shapes are (rows,), and all numbers are finite.
    """
    difference = ours - theirs
    if difference.size < 2 or not difference.any():
        return 1.0
    error = float(difference.std(ddof=1)) / np.sqrt(difference.size)
    statistic = np.inf if error == 0 else abs(float(difference.mean())) / error
    return float(2 * stdtr(difference.size - 1, -statistic))


def verdict(ours: Floats, theirs: Floats, level: float = LEVEL) -> Verdict:
    """Whether one model's log-likelihoods of rows are significantly better or worse than another's.

    A model that alone assigns a row probability zero (-inf) is worse; if both do, there is no verdict.
    """
    impossible, theirs_impossible = bool(np.isneginf(ours).any()), bool(np.isneginf(theirs).any())
    if impossible or theirs_impossible:
        return "" if impossible and theirs_impossible else "worse" if impossible else "better"
    if paired_p_value(ours, theirs) >= level:
        return ""
    return "better" if ours.mean() > theirs.mean() else "worse"
