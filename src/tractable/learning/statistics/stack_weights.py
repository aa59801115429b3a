"""The weights of a mixture of given members that suit rows best, by EM (stacking: Wolpert, 1992)."""

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

NEGLIGIBLE = 0.001  # members with less weight are left out
STEPS = 1000  # of EM, at most
SETTLED = 1e-7  # EM ends when no weight moves by more


class StackWeights(NamedTuple):
    """The weight of each member, zero for those that are left out, and the rows' mean log-likelihood."""

    weights: Floats  # (members,)
    score: float


def choose_weights(
    logs: Floats,
    row_weights: Floats,
    edges: Ints,
    pseudo_count: float = 1.0,
    max_edges: int | None = None,
    negligible: float = NEGLIGIBLE,
) -> StackWeights:
    """Weights of members, from the log-likelihoods (rows, members) and the edges of each.

    Members with less than a `negligible` weight are left out.

    Raises:
        ValueError: if each member alone has too many edges.
    """
    limit = np.inf if max_edges is None else max_edges
    kept = np.flatnonzero(edges <= limit)
    if not kept.size:
        raise ValueError(f"the smallest member has {edges.min():,} edges, more than {max_edges:,}")

    def fit(members: Ints) -> StackWeights:
        return fit_weights(logs[:, members], row_weights, pseudo_count)

    fitted = fit(kept)
    while kept.size > 1 and (fitted.weights < negligible).any():
        kept = kept[fitted.weights >= min(negligible, fitted.weights.max())]
        fitted = fit(kept)
    while kept.size > 1 and edges[kept].sum() + kept.size > limit:
        rest = [np.delete(kept, i) for i in range(kept.size)]
        kept = max(rest, key=lambda members: fit(members).score)
        fitted = fit(kept)
    weights = np.zeros(edges.size)
    weights[kept] = fitted.weights
    return StackWeights(weights, fitted.score)


def fit_weights(
    logs: Floats,
    row_weights: Floats,
    pseudo_count: float | Floats,
    start: Floats | None = None,
    steps: int = STEPS,
    *,
    last: float = 0.0,
    settled: float = SETTLED,
) -> StackWeights:
    """The weights of a mixture by EM, from the log-likelihoods (rows, members) of rows.

    The pseudo-count is spread evenly over all members, unless there is one for each. EM begins with the
    weights of `start`, which are positive, or with even ones, and takes at most this number of `steps`. The
    weight of the last member is at least `last`.
    """
    members = logs.shape[1]
    pseudo_counts = pseudo_count if isinstance(pseudo_count, np.ndarray) else pseudo_count / members
    share = np.full(members, 1 / members) if start is None else start / start.sum()
    top = logs.max(axis=1, keepdims=True)
    scaled = np.exp(logs - np.where(np.isneginf(top), 0.0, top))
    for _ in range(steps):
        total = scaled @ share
        counts = (row_weights / np.where(total > 0, total, 1.0)) @ scaled * share + pseudo_counts
        before, share = share, _at_least(last, counts / counts.sum())
        if np.abs(share - before).max() < settled:
            break
    with np.errstate(divide="ignore"):
        mean = np.log(scaled @ share) + top[:, 0]
    return StackWeights(share, float(row_weights @ mean) / (float(row_weights.sum()) or 1.0))


def _at_least(last: float, share: Floats) -> Floats:
    """Normalised weights of which the last one is at least `last`."""
    if share[-1] < last:
        share[:-1] *= (1 - last) / share[:-1].sum()
        share[-1] = last
    return share


# ---- scores of circuits on rows, what parameters cost, and means of scores within a short time ----------
#
# Where the scores of all rows take too long, the mean is that of a sample.


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
