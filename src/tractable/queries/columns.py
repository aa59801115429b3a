"""Log-probabilities of single cells: marginal, and given the rest of the row."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bytes, Floats, Ints
from tractable.base.compiled import njit
from tractable.circuit import Graph
from tractable.circuit.graph import SUM
from tractable.data import Table
from tractable.queries.probability import log_conditional, log_prob
from tractable.queries.requirements import AnswerKind, has_density, require_possible

# ---- compiled loops for queries that are not sweeps of the engine ---------------------------------------


@njit(cache=True, nogil=True)
def expected_log(
    kind: Bytes, start: Ints, child: Ints, weight: Floats, log_weight: Floats, value: Floats
) -> None:
    """Fill the inner nodes of `value`: sums average their children plus `log_weight`, products add."""
    for node in range(kind.size):
        if start[node] == start[node + 1]:
            continue
        total = 0.0
        for e in range(start[node], start[node + 1]):
            if kind[node] != SUM:
                total += value[child[e]]
            elif weight[e] > 0.0:
                total += weight[e] * (value[child[e]] + log_weight[e])
        value[node] = total


@dataclass(frozen=True, slots=True)
class ColumnScore:
    """The mean log-probabilities of the values of one column over rows, in nats."""

    given_rest: float  # mean log P(value | all other columns of its row); NaN where there is no value
    alone: float  # mean log P(value)
    rows: int  # in which the column has a value
    kind: AnswerKind  # what the logarithms are of: "probability" or "density"


class CellLogs(NamedTuple):
    """Log-probabilities (or log-densities) of cells, NaN for missing cells."""

    alone: Floats  # (rows, columns) log P(cell)
    given_rest: Floats  # (rows, columns) log P(cell | all other cells of its row)


def cell_log_probs(graph: Graph, rows: Floats) -> CellLogs:
    """The log-probability of each cell, by two sweeps per column.

    Raises:
        ValueError: if the rest of a row has probability zero, naming the row.
    """
    alone, given_rest = np.full(rows.shape, np.nan), np.full(rows.shape, np.nan)
    columns = range(rows.shape[1])
    for c in graph.schema.targets.tolist():
        seen = np.flatnonzero(~np.isnan(rows[:, c]))
        by_itself = np.full((seen.size, rows.shape[1]), np.nan)
        known = [c, *graph.schema.inputs.tolist()]
        by_itself[:, known] = rows[np.ix_(seen, known)]
        alone[seen, c] = log_prob(graph, by_itself)
        given_rest[seen, c] = log_conditional(graph, rows[seen], [o for o in columns if o != c])
    return CellLogs(alone, given_rest)


def column_scores(graph: Graph, table: Table) -> dict[str, ColumnScore]:
    """The weighted means of `cell_log_probs` over the rows in which a column has a value, by column."""
    logs, scores = cell_log_probs(graph, table.values), {}
    for c in graph.schema.targets.tolist():
        seen = ~table.missing[:, c]
        weights = table.row_weights[seen]
        given_rest, alone = (weighted_mean(one[seen, c], weights) for one in (logs.given_rest, logs.alone))
        kind: AnswerKind = "density" if has_density(graph.schema[c]) else "probability"
        scores[graph.schema[c].name] = ColumnScore(given_rest, alone, int(seen.sum()), kind)
    return scores


def weighted_mean(logs: Floats, weights: Floats) -> float:
    """The weighted mean of log-probabilities; rows of weight zero are ignored even if they are impossible."""
    counted = weights > 0
    return float(np.average(logs[counted], weights=weights[counted])) if counted.any() else np.nan


def state_log_probs(graph: Graph, rows: Floats, column: int) -> Floats:
    """log P(state | other cells of the row) of each state of a categorical column. Shape (rows, states).

    The value of the column in a row is ignored. There is one sweep per state, in log-space, so small
    probabilities do not lose precision.

    Raises:
        ValueError: if the column has no states, or a row has probability zero for every state.
    """
    variable = graph.schema[column]
    if not variable.is_categorical:
        raise ValueError(f"column '{variable.name}' is {variable.kind}: it has no states")
    logs = np.empty((len(rows), variable.cardinality))
    for state in range(variable.cardinality):
        supposed = rows.copy()
        supposed[:, column] = state
        logs[:, state] = log_prob(graph, supposed)
    total = np.logaddexp.reduce(logs, axis=1)
    require_possible(total)
    return logs - total[:, None]
