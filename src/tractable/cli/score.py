"""`tractable score`: the log-likelihood of a table under a model."""

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tractable.cli import options
from tractable.cli.output import answer, count, likelihood_of
from tractable.cli.reading import Reading, reads_tables

if TYPE_CHECKING:
    from tractable.base.arrays import Floats


@reads_tables
def score(  # noqa: PLR0913, PLR0917
    model: options.Model,
    data: options.Data,
    given: Annotated[
        str | None,
        typer.Option(
            "--given",
            "-g",
            metavar="A,B",
            help="Compute conditional log-likelihoods of the other columns given these.",
        ),
    ] = None,
    per_row: Annotated[bool, typer.Option("--per-row", help="Print the log-likelihood of each row.")] = False,
    per_column: Annotated[
        bool,
        typer.Option(
            "--per-column", help="Print two scores of each column: given all other columns, and marginal."
        ),
    ] = False,
    metrics: Annotated[
        bool,
        typer.Option(
            "--metrics",
            help="Predict all targets and print Hamming loss, exact match, F1 and Jaccard scores.",
        ),
    ] = False,
    weight: options.Weight = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    reading: Reading,
) -> None:
    """Print the mean log-likelihood of DATA under MODEL, in nats; missing cells are summed out.

    States that do not occur in the training rows have the probability that MODEL reserves for them. Real
    columns have densities, so the log-likelihood depends on their units, which the answer mentions. With
    --metrics, categorical targets are predicted from the inputs or from the columns of --given.

    Example: tractable score clinic.tract held-out.csv
    """
    from tractable.cli.reports import column_summary, density_facts, prediction_metrics, score_summary
    from tractable.model import load

    if per_column and (given or per_row):
        raise typer.BadParameter("--per-column cannot be combined with --given or --per-row")
    circuit = load(model)
    columns = options.names(given)
    table = reading.rows_for(circuit, data, weight)
    started = time.perf_counter()
    logs: Floats = circuit.log_conditional(table, columns) if columns else circuit.log_prob(table)
    facts = score_summary(logs, table.row_weights) | density_facts(table, circuit.schema.columns(columns))
    facts["unseen_rows"] = int((table.unseen_cells > 0).sum())
    text = _words(facts)
    if per_row:
        facts["log_prob"] = logs
        text = "\n".join(f"{x:.10g}" for x in logs.tolist())
    if per_column:
        facts["columns"] = column_summary(circuit, table)
        text = f"{_column_table(facts['columns'])}\n\n{text}"
    if metrics:
        facts["metrics"] = prediction_metrics(circuit.graph, table, circuit.schema.columns(columns))
        text = f"{_metric_table(facts['metrics'])}\n\n{text}"
    answer(facts | {"seconds": time.perf_counter() - started}, text, as_json)


def _column_table(scores: list[dict[str, Any]]) -> str:
    """One line per column: the kind of its likelihood, and the mean log-likelihoods."""
    head = ("column", "log of", "given the rest", "alone", "rows")
    rows = [
        (
            str(one["column"]),
            one["kind"],
            f"{one['given_rest']:.4f}",
            f"{one['alone']:.4f}",
            f"{one['rows']:,}",
        )
        for one in scores
    ]
    return _aligned([head, *rows], left=2)


def _metric_table(metrics: dict[str, Any]) -> str:
    """One line per metric, with a column for each kind of prediction."""
    rows = [
        (name, f"{metrics['marginals'][name]:.4f}", f"{metrics['mpe'][name]:.4f}")
        for name in metrics["marginals"]
    ]
    about = f"{metrics['targets']:,} targets of {count(metrics['rows'], 'row')}"
    if metrics["mpe_exact"] < 1:
        about += f"; {100 * metrics['mpe_exact']:.1f} % of the joint predictions are proved to be the best"
    return f"{_aligned([('metric', 'each alone', 'all together'), *rows], left=1)}\n({about})"


def _aligned(rows: list[tuple[str, ...]], left: int) -> str:
    """Lines of cells in columns, the first few of which are left-aligned."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def _words(facts: dict[str, Any]) -> str:
    if facts["impossible_rows"]:
        return f"{count(facts['impossible_rows'], 'row')} of {facts['rows']:,} impossible: the mean is -inf"
    error = "" if facts["std_error"] is None else f" ± {facts['std_error']:.4f}"
    unseen = f", {facts['unseen_rows']:,} with states never seen" if facts["unseen_rows"] else ""
    about = f"{count(facts['rows'], 'row')}{unseen}; log of {likelihood_of(facts)}"
    return f"{facts['mean_ll']:.6f}{error} nats a row ({about})"
