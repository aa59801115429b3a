"""`tractable score`: how probable a model finds the rows of a table."""

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tractable.cli import options
from tractable.cli.output import answer, count
from tractable.cli.reading import Reading, reads_tables

if TYPE_CHECKING:
    from tractable.arrays import Floats


@reads_tables
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
    *,
    reading: Reading,
) -> None:
    """Print the mean log-likelihood of DATA under MODEL, in nats; a missing cell is summed out.

    A state that the training rows did not have counts the share of probability that MODEL reserves for them.

    Example: tractable score clinic.tract held-out.csv
    """
    from tractable.model import load
    from tractable.reports import score_summary

    circuit = load(model)
    columns = options.names(given)
    table = reading.rows_for(circuit, data, weight)
    started = time.perf_counter()
    logs: Floats = circuit.log_conditional(table, columns) if columns else circuit.log_prob(table)
    facts = score_summary(logs, table.row_weights) | {"seconds": time.perf_counter() - started}
    facts["unseen_rows"] = int((table.unseen_cells > 0).sum())
    if per_row:
        facts["log_prob"] = logs
    answer(facts, "\n".join(f"{x:.10g}" for x in logs.tolist()) if per_row else _words(facts), as_json)


def _words(facts: dict[str, Any]) -> str:
    if facts["impossible_rows"]:
        return f"{count(facts['impossible_rows'], 'row')} of {facts['rows']:,} impossible: the mean is -inf"
    error = "" if facts["std_error"] is None else f" ± {facts['std_error']:.4f}"
    unseen = f", {facts['unseen_rows']:,} with states never seen" if facts["unseen_rows"] else ""
    return f"{facts['mean_ll']:.6f}{error} nats a row ({count(facts['rows'], 'row')}{unseen})"
