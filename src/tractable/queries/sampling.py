"""Sampling of rows, and imputation of missing cells."""

from numbers import Integral
from typing import Literal

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit import Graph
from tractable.data import Evidence
from tractable.engine import Regions, completions, log_values, samples
from tractable.queries.marginals import expected_cells
from tractable.queries.mpe import most_probable
from tractable.queries.requirements import fill_certain, require_known, require_possible, require_valid

Filling = Literal["mpe", "mean", "sample"]


def sample(graph: Graph, count: int, given: Evidence, seed: int, *, threads: int | None = None) -> Floats:
    """Independent samples given evidence. Shape (count, columns).

    Raises:
        ValueError: if the evidence has probability zero, or `count` is negative.
    """
    _check_count(count)
    require_valid(graph, np.flatnonzero(np.isnan(given.row)).tolist())
    require_possible(log_values(graph, given.row[None, :], given.regions))
    drawn = samples(graph, given.row, count, seed, given.regions, threads=threads)
    return fill_certain(graph.schema, drawn)


def sample_rows(graph: Graph, rows: Floats, count: int, seed: int) -> Floats:
    """`count` samples of the missing cells of each row given its other cells, row after row.

    Shape (rows times count, columns).

    Raises:
        ValueError: if a row has probability zero, or `count` is negative.
    """
    _check_count(count)
    return impute(graph, np.repeat(rows, count, axis=0), method="sample", seed=seed)


def _check_count(count: int) -> None:
    if not isinstance(count, Integral) or count < 0:
        raise ValueError(f"the number of rows must be at least 0, not {count}")


def impute(
    graph: Graph, rows: Floats, regions: Regions | None = None, *, method: Filling = "mpe", seed: int = 0
) -> Floats:
    """The rows with their missing cells imputed. Shape (rows, columns).

    `mpe` uses the jointly most probable values, `sample` a random sample given the known cells, and `mean`
    the expectation of each numeric cell and the most probable state of each other cell.

    Raises:
        ValueError: if a row has probability zero.
    """
    require_known(method, Filling)
    if method == "mpe":
        return most_probable(graph, rows, regions, seed=seed).rows
    if method == "mean":
        return np.where(np.isnan(rows), expected_cells(graph, rows, regions), rows)
    require_valid(graph, np.flatnonzero(np.isnan(rows).any(axis=0)).tolist())
    require_possible(log_values(graph, rows, regions))
    return fill_certain(graph.schema, completions(graph, rows, seed, regions))
