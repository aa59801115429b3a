"""Queries about one row, or about a few columns given one row.

A circuit that was compiled from a Bayesian network keeps the network, and queries that need only a part of
the network are answered there. In other circuits one upward sweep evaluates the states of the queried columns
as rows, which takes a fraction of the time of the sweeps for all columns.
"""

from collections.abc import Sequence
from math import inf, log
from typing import TYPE_CHECKING

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit import Graph
from tractable.circuit.facts import NETWORK
from tractable.data import Evidence
from tractable.data.evidence import finding_about, mask
from tractable.engine import Regions, log_values
from tractable.queries.requirements import require_possible

if TYPE_CHECKING:
    from tractable.networks.answering import NetworkAnswers

NUMBERS_PER_EDGE = (
    4  # that an answer of the network may take: as long, and as much memory, as a sweep at most
)
FEW_NUMBERS = 1 << 16  # which are worth it in any case
FEW_COLUMNS = 8  # that the network is asked about one after another
FEW_STATES = 32  # that are asked about in one sweep; it still takes less than the sweeps for all columns
LARGE_LOG = 1e4  # the logarithm of evidence from which differences of logarithms lose too many digits


def answers_of(graph: Graph) -> "NetworkAnswers | None":
    """The engine of a network that answers in place of a circuit, or None."""
    if NETWORK not in graph.facts:
        return None
    from tractable.networks.answering import network_answers  # most circuits do without it

    return network_answers(graph)


def row_log_value(graph: Graph, row: Floats, regions: Regions | None, threads: int | None = None) -> float:
    """The log-value of a circuit for one row; NaN cells are summed out, within their regions if any."""
    answers = answers_of(graph)
    log_value = None if answers is None else answers.log_prob(row, regions or {}, _most_numbers(graph))
    return (
        float(log_values(graph, row[None, :], regions, threads=threads)[0])
        if log_value is None
        else log_value
    )


def column_posteriors(graph: Graph, columns: Sequence[int], given: Evidence) -> list[Floats] | None:
    """The distributions of a few columns given evidence, or None if those of all columns are as fast.

    Raises:
        ValueError: if the evidence has probability zero.
    """
    posteriors = _network_posteriors(graph, columns, given)
    return _swept_posteriors(graph, columns, given) if posteriors is None else posteriors


def all_posteriors(graph: Graph, given: Evidence) -> list[Floats] | None:
    """The distributions of all columns given evidence, or None if a sweep is the fastest way.

    Raises:
        ValueError: if the evidence has probability zero.
    """
    answers = answers_of(graph)
    posteriors = (
        None if answers is None else answers.posteriors(given.row, given.regions, _most_numbers(graph))
    )
    _require(not posteriors or not np.isnan(posteriors[0]).any())
    return posteriors


def conditional_log_prob(graph: Graph, both: Evidence, given: Evidence) -> float | None:
    """log P(both | given), where `both` extends `given`, or None if sweeps are faster.

    It is computed by the chain rule, one column after another.

    Raises:
        ValueError: if the evidence has probability zero.
    """
    answers = answers_of(graph)
    asked = [c for c in both.columns if np.isnan(given.row[c])]
    if answers is None or not 0 < len(asked) <= FEW_COLUMNS:
        return None
    row, regions, total = given.row.copy(), dict(given.regions), 0.0
    for column in asked:
        posterior = answers.posterior(column, row, regions, _most_numbers(graph))
        if posterior is None:
            return None
        _require(posterior.possible)
        share = float(posterior.probabilities @ mask(graph.schema[column], finding_about(both, column)))
        if share == 0.0:
            return -inf
        total += log(share)
        row[column] = both.row[column]
        regions.pop(column, None)
        regions.update({column: both.regions[column]} if column in both.regions else {})
    return total


def _network_posteriors(graph: Graph, columns: Sequence[int], given: Evidence) -> list[Floats] | None:
    """The distributions computed by the network, or None if there is none or the cost is too high."""
    answers, left = answers_of(graph), _most_numbers(graph)
    if answers is None:
        return None
    if len(columns) > FEW_COLUMNS:
        every = all_posteriors(graph, given)
        return None if every is None else [every[c] for c in columns]
    known = [c for c in columns if not np.isnan(given.row[c])]
    if len(known) == len(columns):  # then nothing below looks whether the evidence is possible
        _require(row_log_value(graph, given.row, given.regions) > -inf)
    posteriors = {c: mask(graph.schema[c], float(given.row[c])).astype(np.float64) for c in known}
    for column in columns:
        if column not in posteriors:
            one = answers.posterior(column, given.row, given.regions, left)
            if one is None:
                return None
            _require(one.possible)
            posteriors[column], left = one.probabilities, left - one.spent
    return [posteriors[column] for column in columns]


def _swept_posteriors(graph: Graph, columns: Sequence[int], given: Evidence) -> list[Floats] | None:
    """The distributions by one sweep with a row per state, or None for many states or numeric columns."""
    states = graph.schema.cardinalities[list(columns)].tolist()
    if not (columns and all(states) and sum(states) <= FEW_STATES):
        return None
    rows = np.repeat(given.row[None, :], sum(states), axis=0)
    ends = np.cumsum(states).tolist()
    for column, end, size in zip(columns, ends, states, strict=True):
        rows[end - size : end, column] = np.arange(size)
    posteriors = []
    for column, logs in zip(
        columns, np.split(log_values(graph, rows, given.regions), ends[:-1]), strict=True
    ):
        possible = np.where(mask(graph.schema[column], finding_about(given, column)), logs, -inf)
        top = possible.max()
        _require(top > -inf)
        if abs(top) > LARGE_LOG:
            return None
        shares = np.exp(possible - top)
        posteriors.append(shares / shares.sum())
    return posteriors


def _require(possible: bool) -> None:
    require_possible(np.array([0.0 if possible else -inf]))


def _most_numbers(graph: Graph) -> float:
    return max(NUMBERS_PER_EDGE * graph.edges, FEW_NUMBERS)
