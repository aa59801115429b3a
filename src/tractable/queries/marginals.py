"""Posterior distributions of all columns, and joint distributions of a few columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit import Graph, JointBlock, condition, marginalise
from tractable.circuit.leaves.moments import weighted_spread
from tractable.data import Evidence, Interval, Region, Schema, States, Variable
from tractable.engine import Regions, first_statistics, log_values, posteriors
from tractable.queries.requirements import (
    certain_posteriors,
    require_possible,
    require_targets,
    require_valid,
)
from tractable.queries.single import all_posteriors, column_posteriors

# ---- mean and standard deviation of columns -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Moments:
    """The mean and the standard deviation of a column."""

    mean: float
    std: float

    @property
    def variance(self) -> float:
        """The variance, which is infinite if it overflows even though the standard deviation does not."""
        return self.std * self.std


def moments(graph: Graph, column: int, given: Evidence) -> Moments:
    """The mean and standard deviation of a column given evidence; categorical states must be numeric.

    Raises:
        ValueError: if the column has text states or is an input, or the evidence has probability zero.
    """
    variable = graph.schema[column]
    require_targets(graph, [column])
    posterior = some_marginals(graph, [column], given.row[None, :], given.regions)[0][0]
    if variable.is_categorical:
        states = _numbers(variable)
        likeliest = states[posterior.argmax()]  # distances from it keep their digits far from zero
        with np.errstate(over="ignore", invalid="ignore"):  # of states that are huge numbers
            step, std = weighted_spread(posterior, states - likeliest)
        if np.isnan(step + std):
            raise ValueError(f"column '{variable.name}': the variance is too large for a number")
        return Moments(float(likeliest + step), float(std))
    return Moments(*posterior.tolist())


def _numbers(variable: Variable) -> Floats:
    if variable.has_text_states:
        raise ValueError(f"column '{variable.name}' has text states, so it has no expectation")
    return np.array(variable.states, dtype=np.float64)


MOST_STATES = 10_000_000  # of a joint distribution that is written out
CLOSE = 1e-3  # that the probabilities of a distribution may miss one by
TOGETHER = 1 << 17  # of them that are evaluated at once


def marginals(
    graph: Graph, rows: Floats, regions: Regions | None = None, *, threads: int | None = None
) -> list[Floats]:
    """The posterior of each column given each row, by one upward and one downward sweep.

    A categorical column has shape (rows, states); a numeric column (rows, 2): mean and standard deviation.
    The entries of input columns have no meaning.

    Raises:
        ValueError: if a row has probability zero, or a mean or a variance is too large for a number.
    """
    require_valid(graph, np.flatnonzero(np.isnan(rows).any(axis=0)).tolist())
    if len(rows) == 1:
        single = all_posteriors(graph, Evidence(rows[0], dict(regions or {})))
        if single is not None:
            return [posterior[None, :] for posterior in single]
    with np.errstate(over="ignore", invalid="ignore"):  # what is no number is refused below
        statistics = posteriors(graph, rows, regions, threads=threads)
    if not statistics.shape[1] or np.isnan(statistics[:, 0]).any():  # as in every row that is impossible
        require_possible(log_values(graph, rows, regions, threads=threads))
    moments = [statistics[:, first:last] for first, last in pairwise(first_statistics(graph.schema).tolist())]
    if np.isnan(statistics).any():
        _require_numbers(graph.schema, moments)
    if not all(variable.is_categorical for variable in graph.schema):
        _require_whole(graph.schema, moments)
    return certain_posteriors(graph.schema, moments)


def _require_numbers(schema: Schema, posteriors: Sequence[Floats]) -> None:
    """Refuse moments that overflow.

    Raises:
        ValueError: naming the column and the row.
    """
    for variable, posterior in zip(schema, posteriors, strict=True):
        wrong = np.isnan(posterior).any(axis=1) & (variable.role == "target")
        for row in np.flatnonzero(wrong).tolist():
            raise ValueError(f"column '{variable.name}', row {row}: the mean or the variance is too large")


def _require_whole(schema: Schema, posteriors: Sequence[Floats]) -> None:
    """Refuse distributions that have lost precision because the density of a row is extreme.

    Raises:
        ValueError: naming the column and the row.
    """
    for variable, posterior in zip(schema, posteriors, strict=True):
        if variable.is_categorical and variable.role == "target":
            wrong = np.abs(posterior.sum(axis=1) - 1) > CLOSE
            for row in np.flatnonzero(wrong).tolist():
                raise ValueError(
                    f"column '{variable.name}', row {row}: the evidence is too improbable for floating-point"
                    " numbers"
                )


def some_marginals(
    graph: Graph, columns: Sequence[int], rows: Floats, regions: Regions | None = None
) -> list[Floats]:
    """The posteriors of some columns given each row (see `marginals`), which is faster for a single row.

    Raises:
        ValueError: if a row has probability zero, or a column is an input.
    """
    require_targets(graph, columns)
    if len(rows) == 1:
        require_valid(graph, np.flatnonzero(np.isnan(rows[0])).tolist())
        posteriors = column_posteriors(graph, columns, Evidence(rows[0], dict(regions or {})))
        if posteriors is not None:
            return [posterior[None, :] for posterior in posteriors]
    every = marginals(graph, rows, regions)
    return [every[c] for c in columns]


def expected_cells(graph: Graph, rows: Floats, regions: Regions | None = None) -> Floats:
    """The expectation of each numeric cell, rounded for whole numbers, or the most probable state.

    Ordinal columns with numeric states get the state nearest to the expectation.

    Shape (rows, columns).
    """
    cells = []
    for c, (variable, posterior) in enumerate(
        zip(graph.schema, marginals(graph, rows, regions), strict=True)
    ):
        if variable.kind == "ordinal" and not variable.has_text_states:
            cells.append(_nearest_states(posterior, variable))
        elif variable.is_categorical:
            cells.append(posterior.argmax(axis=1).astype(np.float64))
        else:
            mean = np.rint(posterior[:, 0]) if variable.is_whole else posterior[:, 0]
            cells.append(_inside(mean, (regions or {}).get(c)))
    return np.stack(cells, axis=1) if cells else rows.copy()


def _nearest_states(posterior: Floats, variable: Variable) -> Floats:
    """The possible state nearest to the mean of a column with numeric states. Shape (rows,)."""
    states = np.array(variable.states, dtype=np.float64)
    distance = np.abs((posterior @ states)[:, None] - states)
    return np.where(posterior > 0, distance, np.inf).argmin(axis=1).astype(np.float64)


def _inside(values: Floats, region: Region | None) -> Floats:
    """Values clipped to an interval, from which rounding may have moved them."""
    return np.clip(values, region.low, region.high) if isinstance(region, Interval) else values


def joint_marginal(graph: Graph, columns: Sequence[int], given: Evidence) -> Floats:
    """P(columns | given) for every combination of their states. Shape (states of the first, ...).

    Raises:
        ValueError: if a column is not categorical, there are too many combinations, or `given` is impossible.
    """
    return np.exp(joint_log_marginal(graph, columns, given))


def joint_log_marginal(graph: Graph, columns: Sequence[int], given: Evidence) -> Floats:
    """The logarithms of `joint_marginal`, computed without underflow."""
    _check_table(graph, columns)
    shape = tuple(graph.schema[c].cardinality for c in columns)
    require_valid(graph, np.flatnonzero(np.isnan(given.row)).tolist())
    below = log_values(graph, given.row[None, :], given.regions)
    require_possible(below)
    part = _part(graph, columns, given)
    size = prod(shape)
    tables = [
        _state_logs(part, columns, given, range(first, min(first + TOGETHER, size))) - below[0]
        for first in range(0, size, TOGETHER)
    ]
    return np.concatenate(tables).reshape(shape)


def joint_marginals(graph: Graph, columns: Sequence[int], rows: Floats) -> Floats:
    """P(columns | row) for every combination of their states, row by row.

    A known cell has probability one. There is one sweep over all rows for each combination. Shape (rows,
    states of the first, ...).

    Raises:
        ValueError: if a column is not categorical, there are too many combinations, or a row is impossible.
    """
    _check_table(graph, columns)
    shape = tuple(graph.schema[c].cardinality for c in columns)
    require_valid(graph, np.flatnonzero(np.isnan(rows).any(axis=0)).tolist())
    below = log_values(graph, rows)
    require_possible(below)
    table = np.empty((len(rows), prod(shape)))
    for number in range(prod(shape)):
        states = np.unravel_index(number, shape) if shape else ()
        supposed, agrees = rows.copy(), np.ones(len(rows), dtype=np.bool_)
        for c, state in zip(columns, states, strict=True):
            agrees &= np.isnan(rows[:, c]) | (rows[:, c] == state)
            supposed[:, c] = state
        table[:, number] = np.where(agrees, np.exp(log_values(graph, supposed) - below), 0.0)
    return table.reshape(len(rows), *shape)


def _state_logs(part: Graph, columns: Sequence[int], given: Evidence, numbers: range) -> Floats:
    """The log-values of combinations of states, numbered as in a flattened table. Shape (numbers,)."""
    shape = tuple(len(v.states) for v in part.schema)
    place = np.argsort(np.argsort(columns))  # of each column among those of the part
    states = np.unravel_index(np.array(numbers), tuple(shape[p] for p in place)) if shape else ()
    rows = np.empty((len(numbers), len(shape)))
    possible = np.ones(len(numbers), dtype=np.bool_)
    for c, p, state in zip(columns, place, states, strict=True):
        rows[:, p] = state
        possible &= _agrees(given, c, state)
    return np.where(possible, log_values(part, rows), -np.inf)


def _check_table(graph: Graph, columns: Sequence[int]) -> None:
    """Refuse columns without a joint table of states, tables that are too large, and given columns."""
    require_targets(graph, columns)
    for i, c in enumerate(columns):
        variable = graph.schema[c]
        if not variable.is_categorical:
            raise ValueError(f"column '{variable.name}' is {variable.kind}: it has no table of states")
        if c in columns[:i]:
            raise ValueError(f"column '{variable.name}' is named twice")
    size = prod(graph.schema[c].cardinality for c in columns)
    if size > MOST_STATES:
        raise ValueError(f"the columns have {size:,} combinations of states, more than {MOST_STATES:,}")


def _part(graph: Graph, columns: Sequence[int], given: Evidence) -> Graph:
    """The marginal circuit over some columns given evidence on others."""
    known = given.row.copy()
    known[np.isnan(known) & graph.schema.is_potential] = 0.0  # a factor of one
    known[list(columns)] = np.nan
    regions = {c: r for c, r in given.regions.items() if c not in columns}
    if graph.blocks_of(JointBlock):  # what is summed out first need not be kept beside an interval
        asked = sorted({*columns, *regions, *np.flatnonzero(~np.isnan(known)).tolist()})
        names = [graph.schema[c].name for c in columns]
        graph = marginalise(graph, asked)
        known, place = known[asked], {c: i for i, c in enumerate(asked)}
        regions, columns = {place[c]: r for c, r in regions.items()}, graph.schema.columns(names)
    rest = condition(graph, known, regions)
    return marginalise(rest, rest.schema.columns(graph.schema[c].name for c in columns))


def _agrees(given: Evidence, column: int, state: Ints) -> Bools:
    """Whether states of a column are possible given the evidence. Shape like `state`."""
    region = given.regions.get(column)
    if isinstance(region, States):
        return region.allowed[state]
    known = given.row[column]
    return np.full(state.shape, True) if np.isnan(known) else state == known
