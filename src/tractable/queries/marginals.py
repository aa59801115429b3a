"""Posterior distributions: of every column at once, and of a few columns together."""

from collections.abc import Sequence
from math import prod

import numpy as np

from tractable.arrays import Bools, Floats, Ints
from tractable.circuit import Graph
from tractable.data import Evidence, States
from tractable.engine import Regions, first_statistics, log_values, posteriors
from tractable.queries.requirements import require_possible, require_valid

MOST_STATES = 10_000_000  # of a joint distribution that is written out


def marginals(
    graph: Graph, rows: Floats, regions: Regions | None = None, *, threads: int | None = None
) -> list[Floats]:
    """Each column's posterior given each row, in one sweep up and one down.

    A categorical column has shape (rows, states); a real or count column (rows, 2): the expectations of the value and
    of its square.

    Raises:
        ValueError: if a row has probability zero.
    """
    require_valid(graph, np.flatnonzero(np.isnan(rows).any(axis=0)).tolist())
    require_possible(log_values(graph, rows, regions, threads=threads))
    statistics = posteriors(graph, rows, regions, threads=threads)
    return np.split(statistics, first_statistics(graph.schema)[1:-1], axis=1)


def expected_cells(graph: Graph, rows: Floats, regions: Regions | None = None) -> Floats:
    """Every cell by itself: a number's expectation (rounded when it counts), else the most probable state.

    Shape (rows, columns).
    """
    cells = []
    for variable, posterior in zip(graph.schema, marginals(graph, rows, regions), strict=True):
        if variable.is_categorical:
            cells.append(posterior.argmax(axis=1).astype(np.float64))
        else:
            cells.append(np.rint(posterior[:, 0]) if variable.kind == "count" else posterior[:, 0])
    return np.stack(cells, axis=1)


def joint_marginal(graph: Graph, columns: Sequence[int], given: Evidence) -> Floats:
    """P(those columns | given) for every combination of their states. Shape (states of the first, ...).

    Raises:
        ValueError: if a column is not categorical, there are too many combinations, or `given` is impossible.
    """
    for c in columns:
        if not graph.schema[c].is_categorical:
            raise ValueError(f"column '{graph.schema[c].name}' is {graph.schema[c].kind}: it has no table of states")
    shape = tuple(graph.schema[c].cardinality for c in columns)
    if prod(shape) > MOST_STATES:
        raise ValueError(f"those columns have {prod(shape):,} combinations of states, more than {MOST_STATES:,}")
    require_valid(graph)
    below = log_values(graph, given.row[None, :], given.regions)
    require_possible(below)
    rows = np.repeat(given.row[None, :], prod(shape), axis=0)
    possible = np.ones(prod(shape), dtype=np.bool_)
    for c, state in zip(columns, np.indices(shape).reshape(len(shape), -1), strict=True):
        possible &= _agrees(given, c, state)
        rows[:, c] = state
    regions = {c: r for c, r in given.regions.items() if c not in columns}
    logs = np.where(possible, log_values(graph, rows, regions), -np.inf)
    return np.exp(logs - below[0]).reshape(shape)


def _agrees(given: Evidence, column: int, state: Ints) -> Bools:
    """Whether states of a column are possible under what is given. Shape like `state`."""
    region = given.regions.get(column)
    if isinstance(region, States):
        return region.allowed[state]
    known = given.row[column]
    return np.full(state.shape, True) if np.isnan(known) else state == known
