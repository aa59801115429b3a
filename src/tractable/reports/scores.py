"""How well a model does on rows: the mean log-likelihood and its standard error."""

from math import sqrt
from typing import Any

import numpy as np

from tractable.arrays import Floats
from tractable.data import Table
from tractable.model import Circuit


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


def mean_log_likelihood(circuit: Circuit, table: Table) -> float:
    """The weighted mean log-likelihood of a table's rows, in nats."""
    mean: float = score_summary(circuit.log_prob(table), table.row_weights)["mean_ll"]
    return mean
