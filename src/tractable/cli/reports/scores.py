"""How well a model does on rows: the mean log-likelihood and its standard error."""

from collections.abc import Sequence
from dataclasses import asdict
from math import sqrt
from typing import Any

import numpy as np

from tractable.base.arrays import Floats
from tractable.data import Table
from tractable.model import Circuit
from tractable.queries import density_columns


def score_summary(logs: Floats, weights: Floats) -> dict[str, Any]:
    """The number of rows, their mean log-likelihood, its standard error, and how many rows are impossible.

    Raises:
        ValueError: if all weights are zero.
    """
    total = float(weights.sum())
    if total == 0:
        raise ValueError("the weights of the table are all zero")
    counted = weights > 0
    impossible = int(np.isneginf(logs[counted]).sum())
    facts = {"rows": logs.size, "weight": total, "impossible_rows": impossible}
    if impossible:
        return facts | {"mean_ll": -np.inf, "std_error": None}
    mean = float(np.average(logs[counted], weights=weights[counted]))
    variance = float(np.average((logs[counted] - mean) ** 2, weights=weights[counted]))
    return facts | {"mean_ll": mean, "std_error": sqrt(variance / (total - 1)) if total > 1 else None}


def density_facts(table: Table, given: Sequence[int] = ()) -> dict[str, Any]:
    """Whether a log-likelihood of the rows is that of a density, and of how many real columns.

    Where there are inputs it is that of the targets given them, and their numbers are told as well.
    """
    columns = density_columns(table.schema, table.values, given)
    inputs = table.schema.inputs.size
    conditional = {"targets": table.schema.targets.size, "inputs": inputs} if inputs else {}
    return {"density": bool(columns), "density_columns": len(columns), **conditional}


def column_summary(circuit: Circuit, table: Table) -> list[dict[str, Any]]:
    """The score of each column, given all others and alone."""
    scores = circuit.column_scores(table)
    return [{"column": name, **asdict(score)} for name, score in scores.items()]


def mean_log_likelihood(circuit: Circuit, table: Table) -> float:
    """The weighted mean log-likelihood of a table's rows, in nats."""
    mean: float = score_summary(circuit.log_prob(table), table.row_weights)["mean_ll"]
    return mean
