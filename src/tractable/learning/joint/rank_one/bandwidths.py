"""How wide kernels around instances are."""

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.late import special

BANDWIDTHS = np.geomspace(0.02, 1.5, 18)  # as shares of the standard deviations of the columns
MOST_LEFT_OUT = 200  # rows, evenly spaced, whose likelihood given the others is maximised
MOST_OTHERS = 2000


def best_bandwidth(values: Floats, weights: Floats) -> float:
    """The bandwidth under which each instance is most likely given all others, (rows, columns) as they are.

    A bandwidth is the width of a Gaussian kernel as a share of the standard deviation of its column. Cells
    that are missing count as the column's mean.
    """
    rows, columns = values.shape
    if rows < 3 or not columns:
        return 1.0
    mean = np.nan_to_num(np.nanmean(values, axis=0)) if not np.isnan(values).all(axis=0).any() else 0.0
    centred = np.nan_to_num(values - mean)
    sd = centred.std(axis=0)
    x = centred / np.where(sd > 0, sd, 1.0)
    left_out = np.unique(np.linspace(0, rows - 1, MOST_LEFT_OUT).astype(np.int64))
    others = np.unique(np.concatenate([left_out, np.linspace(0, rows - 1, MOST_OTHERS).astype(np.int64)]))
    squares = (x**2).sum(axis=1)
    distance = squares[left_out, None] + squares[others] - 2.0 * x[left_out] @ x[others].T
    distance[left_out[:, None] == others] = np.inf
    log_weight = np.log(weights[others])
    score = [
        float(special.logsumexp(log_weight - 0.5 * np.maximum(distance, 0.0) / h**2, axis=1).sum())
        - left_out.size * columns * np.log(h)
        for h in BANDWIDTHS.tolist()
    ]
    return float(BANDWIDTHS[int(np.argmax(score))])
