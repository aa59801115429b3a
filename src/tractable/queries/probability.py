"""Log-probabilities of rows, marginal and conditional."""

from collections.abc import Sequence

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit import Graph, condition
from tractable.data import Evidence, Region, States, Table, collapse
from tractable.data.evidence import join_evidence
from tractable.engine import Regions, log_partition_function, log_values
from tractable.queries.requirements import (
    require_distribution,
    require_possible,
    require_targets,
    require_valid,
)
from tractable.queries.single import answers_of, conditional_log_prob, row_log_value

WORTH_COLLAPSING = 10**8  # edges times rows from which looking for repeated rows pays
FAR_OUT = 1e6  # the logarithm of evidence from which differences of logarithms lose more than ten digits
SAMPLE = 10_000  # rows among which repeated ones are looked for first


def log_prob(
    graph: Graph, rows: Floats, regions: Regions | None = None, *, threads: int | None = None
) -> Floats:
    """log P(row) for each row; NaN cells are summed out, within their regions if any. Shape (rows,).

    For a circuit with inputs or potentials it is log P(targets | inputs and potentials).
    """
    given = np.flatnonzero(graph.schema.is_given).tolist()
    if given:
        return log_conditional(graph, rows, given, regions, threads=threads)
    require_distribution(graph)
    return _log_values(graph, rows, regions, threads) - log_partition_function(graph)


def _log_values(graph: Graph, rows: Floats, regions: Regions | None, threads: int | None) -> Floats:
    """The log-values of rows; repeated rows are evaluated once if that is faster."""
    if len(rows) == 1:
        return np.array([row_log_value(graph, rows[0], regions, threads)])
    if len(rows) * graph.edges < WORTH_COLLAPSING or not _repeats(graph, rows):
        return log_values(graph, rows, regions, threads=threads)
    distinct, which = collapse(Table(graph.schema, rows))
    return log_values(graph, distinct.values, regions, threads=threads)[which]


def _repeats(graph: Graph, rows: Floats) -> bool:
    """Whether rows repeat, estimated from one random row of each of `SAMPLE` parts.

    In a sample of ten thousand rows out of a million distinct ones, about fifty pairs are equal.
    """
    step = len(rows) // SAMPLE
    if step < 2:
        return True
    some = np.arange(SAMPLE) * step + np.random.default_rng(0).integers(0, step, SAMPLE)
    return len(collapse(Table(graph.schema, rows[some]))[0]) < SAMPLE


def log_conditional(
    graph: Graph,
    rows: Floats,
    given: Sequence[int],
    regions: Regions | None = None,
    *,
    threads: int | None = None,
) -> Floats:
    """log P(other cells | cells in the columns `given`) for each row. Shape (rows,).

    Missing cells are summed out, including those of given columns.

    Raises:
        ValueError: if a row's given cells have probability zero.
    """
    kept = sorted({*given, *np.flatnonzero(graph.schema.is_given).tolist()})
    summed = np.isnan(rows).any(axis=0) | ~np.isin(np.arange(len(graph.schema)), kept)
    require_valid(graph, np.flatnonzero(summed).tolist())
    known = np.full_like(rows, np.nan)
    known[:, kept] = rows[:, kept]
    known_regions = {c: r for c, r in (regions or {}).items() if c in kept}
    below = _log_values(graph, known, known_regions, threads)
    require_possible(below)
    return _log_values(graph, rows, regions, threads) - below


def evidence_log_prob(graph: Graph, query: Evidence, given: Evidence) -> float:
    """log P(query | given) as a number.

    Raises:
        ValueError: if the evidence has probability zero, or the query is about an input that is not given.
    """
    require_targets(graph, (c for c in query.columns if np.isnan(given.row[c])))
    both = join_evidence(query, given, graph.schema)
    if both is not None:
        log_prob = conditional_log_prob(graph, both, given)
        if log_prob is not None:
            return log_prob
    below, above = _evidence_values(graph, given, both)
    require_possible(np.array([below]))
    if both is not None and abs(below) > FAR_OUT and not np.isnan(given.row).all():
        return _far_out_log_prob(graph, both, given, above - below)
    return above - below


def _far_out_log_prob(graph: Graph, both: Evidence, given: Evidence, difference: float) -> float:
    """log P(both | given) if both logarithms are too large for the precision of their difference.

    The circuit is conditioned on the given values, so that the large numbers cancel in its weights. If there
    is no such circuit, the difference is used.
    """
    try:
        rest = condition(graph, given.row, normalised=True)
    except ValueError:
        return difference
    kept = graph.schema.columns(rest.schema.names)

    def part(evidence: Evidence) -> Evidence:
        regions = {i: evidence.regions[c] for i, c in enumerate(kept) if c in evidence.regions}
        return Evidence(evidence.row[kept], regions)

    below, above = _evidence_values(rest, part(given), part(both))
    require_possible(np.array([below]))
    return above - below


def _evidence_values(graph: Graph, given: Evidence, both: Evidence | None) -> tuple[float, float]:
    """The log-values of the evidence and of evidence and query, in one sweep if their regions agree."""
    require_valid(graph, np.flatnonzero(np.isnan(given.row)).tolist())
    if both is None:
        return row_log_value(graph, given.row, given.regions), -np.inf
    if answers_of(graph) is None and all(
        _alike(region, given.regions.get(c)) for c, region in both.regions.items()
    ):
        below, above = log_values(graph, np.stack([given.row, both.row]), given.regions)
    else:
        below, above = (row_log_value(graph, e.row, e.regions) for e in (given, both))
    return float(below), float(above)


def _alike(one: Region, other: Region | None) -> bool:
    """Whether two regions are equal."""
    if isinstance(one, States) and isinstance(other, States):
        return np.array_equal(one.allowed, other.allowed)
    return one == other
