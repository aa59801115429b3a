"""Scores of circuits on rows, what parameters cost, and means of scores within a short time.

Where the scores of all rows take too long, the mean is that of a sample.
"""

import time
from collections.abc import Callable, Iterator
from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import InnerWatch, Watch
from tractable.circuit import Graph, parameter_count
from tractable.data import Table, collapse
from tractable.engine import log_values
from tractable.learning.statistics.encoding import Encoding

FIRST_ROWS = 16  # that are scored first, to see how long a row takes
GROWTH = 4  # times more rows are scored at each further step, as long as there is time
SPARE = 1.25  # times as long as expected that the next rows may take

RowScores = Callable[[Table], Floats]  # the score of each row


def mean_log_prob(graph: Graph, table: Table) -> float:
    """The mean log-likelihood of a table's rows under a normalised circuit."""
    distinct, _ = collapse(table)
    return float(log_values(graph, distinct.values) @ distinct.row_weights) / (table.total_weight or 1.0)


def bic_penalty(graph: Graph, encoding: Encoding) -> float:
    """The penalty of the Bayesian information criterion (BIC) a row, in nats."""
    return 0.5 * parameter_count(graph) * log(max(encoding.total, 1.0)) / encoding.rows


class Estimate(NamedTuple):
    """The mean score of a table's rows, or of a sample of them."""

    mean: float | None  # None if there was no time for any row
    rows: Table  # that were scored
    is_sample: bool = False
    std_error: float | None = None  # of the mean of a sample in which all rows are possible

    def facts(self, name: str) -> dict[str, Any]:
        """The mean under a name and, if it is that of a sample, the number of rows and the standard error."""
        if not self.is_sample:
            return {name: self.mean}
        return {name: self.mean, f"{name}_rows": len(self.rows), f"{name}_std_error": self.std_error}


def estimate_mean(score: RowScores, whole: Callable[[], float], table: Table, watch: Watch) -> Estimate:
    """The mean that `whole` computes, if the watch leaves time for that; else the mean of a random sample.

    A sample grows until the time is over or the watch is interrupted.
    """
    counted = np.flatnonzero(table.row_weights > 0)
    if counted.size <= FIRST_ROWS:
        return Estimate(whole(), table)
    order = np.random.default_rng(0).permutation(counted)
    logs: list[Floats] = []
    scored: list[Ints] = []
    for part in _growing_parts(order, watch):
        if part.size == order.size:
            return Estimate(whole(), table)
        scored.append(np.sort(part))
        logs.append(score(table.take(scored[-1])))
    if not scored:
        return Estimate(None, table.take(counted[:0]), is_sample=True)
    estimate = _sample_mean(table.take(np.concatenate(scored)), np.concatenate(logs), counted.size)
    return estimate if len(estimate.rows) < counted.size else Estimate(estimate.mean, table)


def _growing_parts(order: Ints, watch: Watch) -> Iterator[Ints]:
    """Parts of the rows, one after the other; or all rows at once, last, when there is time for them.

    The time that the caller takes for a part tells what there is time for. That for the first part may be
    needed for preparations, so that it tells nothing of further rows.
    """
    start, size = 0, FIRST_ROWS
    while start < order.size and not watch.should_stop():
        begin = time.monotonic()
        yield order[start : start + size]
        start += size
        each = SPARE * (time.monotonic() - begin) / size
        left = np.inf if watch.left is None else watch.left
        if each * order.size <= left and not watch.should_stop():
            yield order
            return
        affordable = int(left / each) if start > FIRST_ROWS else GROWTH * size
        size = min(GROWTH * size, affordable)
        if size < FIRST_ROWS:
            return


def _sample_mean(rows: Table, logs: Floats, population: int) -> Estimate:
    """The weighted mean of a sample without replacement from a population of rows."""
    weights = rows.row_weights
    mean = float(np.average(logs, weights=weights))
    if len(rows) < 2 or not np.isfinite(mean):
        return Estimate(mean, rows, is_sample=True)
    deviations = weights * (logs - mean)
    variance = float(deviations @ deviations) * len(rows) / (len(rows) - 1) / float(weights.sum()) ** 2
    return Estimate(mean, rows, is_sample=True, std_error=sqrt(variance * (1 - len(rows) / population)))


def shared_time(watch: Watch, tables: int) -> Watch:
    """A watch with an equal share of the remaining time for each of a number of tables."""
    return InnerWatch(watch, seconds=None if watch.left is None else watch.left / max(1, tables))
