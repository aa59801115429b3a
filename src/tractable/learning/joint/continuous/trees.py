"""Many trees of one structure: log-likelihoods of rows as a matrix product, and their gradient."""

from dataclasses import dataclass

import numpy as np

from tractable.base.arrays import AnyArray
from tractable.learning.joint.continuous.kernels import (
    CellTables,
    Scratch,
    add_missing_logs,
    add_missing_sums,
)
from tractable.learning.joint.continuous.rows import TreeRows
from tractable.learning.joint.continuous.shape import Half, TreeShape

# ---- the cells of many trees: from network outputs to coefficients and log-partitions, and gradients ----
#
# All arrays have a column for each tree. The outputs of a cell are the log-odds of the states of a
# categorical column against its first state, the mean and the log-deviation of a standardised real
# column, or the logarithm of the rate of a count.


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


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """The parameters of trees given by the outputs of a network.

    The outputs (statistics, trees) of a base cell are its parameters; those of a linked cell are the
    differences from the base cell of its column.
    """

    shape: TreeShape
    base: CellValues
    linked: CellValues

    @classmethod
    def from_outputs(cls, shape: TreeShape, output: AnyArray) -> "Trees":
        """The trees with given outputs."""
        own = output[: shape.base.statistics]
        change = output[shape.base.statistics :]
        return cls(shape, cell_values(shape.base, own), cell_values(shape.linked, own[shape.of] + change))

    @property
    def theta(self) -> AnyArray:
        """The natural parameters of all cells. Shape (statistics, trees)."""
        return np.concatenate([self.base.theta, self.linked.theta])

    @property
    def log_partition(self) -> AnyArray:
        """The log-partitions of all cells. Shape (cells, trees)."""
        return np.concatenate([self.base.log_partition, self.linked.log_partition])

    def coefficients(self) -> tuple[AnyArray, AnyArray]:
        """The coefficients of statistics (statistics, trees) and the constants (trees,)."""
        shape, base, linked = self.shape, self.base, self.linked
        answer = np.empty((shape.statistics, base.theta.shape[1]), dtype=base.theta.dtype)
        own = answer[: shape.base.statistics]
        own[:] = base.theta
        np.subtract(linked.theta, base.theta[shape.of], out=answer[shape.base.statistics :])
        own += shape.sum_above @ (base.log_partition[shape.base_of] - linked.log_partition)
        return answer, -base.log_partition.sum(axis=0)

    def log_likelihoods(self, rows: TreeRows) -> AnyArray:
        """The log-likelihood of each row in each tree, up to constants of rows. Shape (rows, trees)."""
        coefficients, rest = self.coefficients()
        logs = np.asarray(rows.matrix @ coefficients)
        logs += rest
        if rows.incomplete.any():
            where = np.flatnonzero(rows.incomplete)
            more = np.zeros((where.size, logs.shape[1]))
            scratch = Scratch.make(self.shape.table, logs.shape[1])
            add_missing_logs(rows.cells[where], self.shape.table, self._tables(), scratch, more)
            logs[where] += more.astype(logs.dtype)
        return logs

    def output_gradient(self, rows: TreeRows, share: AnyArray) -> AnyArray:
        """The gradient of weighted log-likelihoods with respect to the outputs."""
        shape = self.shape
        sums = np.asarray(rows.matrix.T @ share)
        own, pairs = sums[: shape.base.statistics], sums[shape.base.statistics :]
        below = own[shape.above]
        base_rows = np.broadcast_to(share.sum(axis=0), (shape.base.column.size, share.shape[1])).copy()
        base_rows -= shape.sum_cells @ below
        own = own - shape.sum_of @ pairs
        if rows.incomplete.any():
            more, cells = self._missing_sums(rows, share)
            own, pairs = own + more[: len(own)], pairs + more[len(own) :]
            base_rows, below = base_rows + cells[: len(base_rows)], below + cells[len(base_rows) :]
        change = self.linked.gradient(pairs, below)
        return np.concatenate([self.base.gradient(own, base_rows) + shape.sum_of @ change, change])

    def _missing_sums(self, rows: TreeRows, share: AnyArray) -> tuple[AnyArray, AnyArray]:
        """The expected statistics and cell weights of missing cells."""
        where = np.flatnonzero(rows.incomplete)
        sums = np.zeros((self.shape.statistics, share.shape[1]))
        cells = np.zeros((self.shape.cells, share.shape[1]))
        scratch = Scratch.make(self.shape.table, share.shape[1])
        add_missing_sums(
            rows.cells[where], share[where].astype(np.float64), self.shape.table, self._tables(), scratch,
            sums, cells,
        )  # fmt: skip
        return sums.astype(share.dtype), cells.astype(share.dtype)

    def _tables(self) -> CellTables:
        """The parameters in the form of compiled loops."""
        share = np.zeros((self.shape.statistics, self.base.theta.shape[1]))
        share[: len(self.base.share)] = self.base.share
        linked = self.shape.base.statistics
        share[linked : linked + len(self.linked.share)] = self.linked.share
        log_partition = self.log_partition.astype(np.float64)
        return CellTables(self.theta.astype(np.float64), log_partition, share, np.exp(-log_partition))
