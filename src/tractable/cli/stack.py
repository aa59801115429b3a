"""`tractable stack`: mix several circuits into one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tractable.cli import options
from tractable.cli.files import check_model_place
from tractable.cli.output import answer, lines, note
from tractable.cli.reading import Reading, reads_tables


@reads_tables
def stack(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    models: Annotated[
        list[Path], typer.Argument(metavar=("MODEL..."), help="Model files.", show_default=False)
    ],
    valid: Annotated[
        Path, typer.Option("--valid", metavar="FILE", help="Validation rows for fitting the weights.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="File of the resulting model.")
    ],
    train: Annotated[
        Path | None,
        typer.Option(
            "--train",
            metavar="FILE",
            help="Training rows; validation rows that equal one of them are ignored.",
        ),
    ] = None,
    pseudo_count: Annotated[
        float,
        typer.Option(
            "--pseudo-count",
            min=0,
            help="Pseudo-count of the weights, in rows, spread evenly over the members.",
        ),
    ] = 1.0,
    max_edges: Annotated[
        int | None,
        typer.Option(
            "--max-edges", min=1, help="Maximum number of edges; members are removed until it is met."
        ),
    ] = None,
    weight: options.Weight = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    reading: Reading,
) -> None:
    """Mix circuits over the same columns with weights that maximise the likelihood of the validation rows.

    Example: tractable stack a.tract b.tract --valid valid.csv -o both.tract
    """
    from tractable.learning.tuning import stack as stack_circuits
    from tractable.model import load

    check_model_place(output)
    circuits = [load(model) for model in models]
    rows = reading.rows_for(circuits[0], valid, weight)
    seen = None if train is None else reading.rows_for(circuits[0], train)
    circuit = stack_circuits(circuits, rows, train=seen, pseudo_count=pseudo_count, max_edges=max_edges)
    circuit.save(output)
    weights = [member["weight"] for member in circuit.about["members"]]
    facts: dict[str, Any] = {
        "models": models, "weights": weights, "rows": len(rows), "valid_ll": circuit.about["valid_ll"],
        "nodes": circuit.graph.nodes, "edges": circuit.graph.edges, "model": output,
    }  # fmt: skip
    shown: list[tuple[str, object]] = [(str(m), f"{w:.4f}") for m, w in zip(models, weights, strict=True)]
    shown += [("edges", circuit.graph.edges), ("valid log-likelihood", circuit.about["valid_ll"])]
    answer(facts, lines(shown), as_json)
    note(f"saved {output}", quiet or as_json)


# ---- the models that `auto` has tried, as text ----------------------------------------------------------


HEADINGS = ("learner", "seconds", "edges", "valid ll", "weight", "loss without", "remark")


def tried_table(tried: Sequence[dict[str, Any]]) -> str:
    """One line per model: its size, score and weight, and the loss of the mixture without it."""
    rows = [HEADINGS, *(_row(one) for one in tried)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS))]
    last = len(HEADINGS) - 1
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place in (0, last) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    settings = ", ".join(f"{name}={_text(value)}" for name, value in one["settings"].items())
    remarks = [one["remark"], "" if one["finished"] else "stopped early"]
    return (
        f"{one['learner']} ({settings or 'defaults'})",
        f"{one['seconds']:.1f}",
        f"{one['edges']:,}",
        _number(one["valid_ll"], ".4f"),
        f"{one['weight']:.3f}" if one["weight"] else "",
        _number(one["loss_without"], ".4f"),
        "; ".join(filter(None, remarks)),
    )


def _text(value: Any) -> str:
    from tractable.base.settings import setting_text

    return setting_text(tuple(value) if isinstance(value, list) else value)


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
