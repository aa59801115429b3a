"""`tractable score`: how probable a model finds the rows of a table."""

import time
from math import sqrt
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tractable.cli import options
from tractable.cli.output import answer, count

if TYPE_CHECKING:
    from tractable.arrays import Floats


def score(
    model: options.Model,
    data: options.Data,
    given: Annotated[
        str | None,
        typer.Option("--given", "-g", metavar="A,B", help="Score the other columns given these."),
    ] = None,
    per_row: Annotated[bool, typer.Option("--per-row", help="One log-likelihood a row.")] = False,
    weight: options.Weight = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Print the mean log-likelihood of DATA under MODEL, in nats; a missing cell is summed out.

    Example: tractable score clinic.tract held-out.csv
    """
    from tractable.data import read
    from tractable.model import load

    circuit = load(model)
    columns = options.names(given)
    table = read(data, schema=circuit.schema, weight=weight)
    started = time.perf_counter()
    logs: Floats = circuit.log_conditional(table, columns) if columns else circuit.log_prob(table)
    facts = summary(logs, table.row_weights) | {"seconds": time.perf_counter() - started}
    if per_row:
        facts["log_prob"] = logs
    answer(facts, "\n".join(f"{x:.10g}" for x in logs.tolist()) if per_row else _words(facts), as_json)


def summary(logs: "Floats", weights: "Floats") -> dict[str, Any]:
    """How many rows there are, their mean log-likelihood, its standard error, and how many are impossible."""
    import numpy as np

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


def _words(facts: dict[str, Any]) -> str:
    if facts["impossible_rows"]:
        return f"{count(facts['impossible_rows'], 'row')} of {facts['rows']:,} impossible: the mean is -inf"
    error = "" if facts["std_error"] is None else f" ± {facts['std_error']:.4f}"
    return f"{facts['mean_ll']:.6f}{error} nats a row ({count(facts['rows'], 'row')})"
