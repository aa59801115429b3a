"""The cells of many trees: from network outputs to coefficients and log-partitions, and gradients.

All arrays have a column for each tree. The outputs of a cell are the log-odds of the states of a categorical
column against its first state, the mean and the log-deviation of a standardised real column, or the logarithm
of the rate of a count.
"""

from dataclasses import dataclass

import numpy as np

from tractable.base.arrays import AnyArray
from tractable.learning.joint.continuous.shape import Half

MOST_LOG_RATE = 60.0  # of a count, so that no rate overflows
MOST_LOG_SD = 30.0  # of a standardised real column
LOG_TAU = float(np.log(2 * np.pi))


@dataclass(frozen=True, slots=True, eq=False)
class CellValues:
    """The parameters given by the outputs of one half of the cells."""

    half: Half
    theta: AnyArray  # (statistics, trees) natural parameters
    log_partition: AnyArray  # (cells, trees)
    share: AnyArray  # (categorical statistics, trees) the probabilities of states
    mean: AnyArray  # (real, trees)
    spread: AnyArray  # (real, trees) the variance without its floor
    variance: AnyArray  # (real, trees)
    rate: AnyArray  # (counts, trees)

    def gradient(self, sums: AnyArray, rows: AnyArray) -> AnyArray:
        """The derivative of `sums` theta - `rows` log_partition with respect to the outputs.

        `sums` are the statistics (statistics, trees) of the rows, whose weights in each cell are `rows`.
        """
        half = self.half
        answer = np.empty_like(self.theta)
        np.multiply(self.share, rows[half.owner], out=answer[: half.owner.size])
        np.subtract(sums[: half.owner.size], answer[: half.owner.size], out=answer[: half.owner.size])
        if half.real:
            mean, variance, weight = self.mean, self.variance, rows[half.real_cells]
            total, square = sums[half.values], sums[half.squares]
            answer[half.values] = (total - weight * mean) / variance
            scatter = square - 2 * mean * total + weight * mean**2
            answer[half.squares] = (scatter / variance - weight) * (self.spread / variance)
        if half.counts:
            answer[half.counted] = sums[half.counted] - rows[half.count_cells] * self.rate
        return answer


def cell_values(half: Half, output: AnyArray) -> CellValues:
    """The parameters given by the outputs of one half, (statistics, trees)."""
    states = half.owner.size
    log_partition = np.zeros((half.column.size, output.shape[1]), dtype=output.dtype)
    share, log_partition[half.filled] = _softmax(half, output[:states])
    theta = output
    mean = output[half.values]
    spread = np.exp(2 * np.clip(output[half.squares], -MOST_LOG_SD, MOST_LOG_SD))
    variance = spread + half.floor.astype(output.dtype)
    log_rate = np.clip(output[half.counted], -MOST_LOG_RATE, MOST_LOG_RATE)
    rate = np.exp(log_rate)
    if half.real or half.counts:
        theta = np.concatenate([output[:states], mean / variance, -0.5 / variance, log_rate])
        log_partition[half.real_cells] = 0.5 * (mean**2 / variance + np.log(variance) + LOG_TAU)
        log_partition[half.count_cells] = rate
    return CellValues(half, theta, log_partition, share, mean, spread, variance, rate)


def _softmax(half: Half, odds: AnyArray) -> tuple[AnyArray, AnyArray]:
    """The probabilities of states (but the first) and the log-partitions of the cells that have any."""
    if not half.filled.size:
        return odds, odds
    several = half.filled.size < half.owner.size
    top = np.maximum(np.maximum.reduceat(odds, half.first, axis=0) if several else odds, 0)
    place = np.searchsorted(half.filled, half.owner)
    share = np.exp(odds - (top[place] if several else top))
    total = np.add.reduceat(share, half.first, axis=0) if several else share.copy()
    total += np.exp(-top)
    share /= total[place] if several else total
    return share, top + np.log(total)
