"""`tractable stack`: one circuit of several."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tractable.cli import options
from tractable.cli.files import check_model_place
from tractable.cli.output import answer, lines, note
from tractable.cli.reading import Reading, reads_tables


@reads_tables
def stack(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="Circuits.", show_default=False)],
    valid: Annotated[
        Path, typer.Option("--valid", metavar="FILE", help="Rows held out, by which to choose.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="The stack's file.")],
    train: Annotated[
        Path | None,
        typer.Option("--train", metavar="FILE", help="Rows of training: equal validation rows do not count."),
    ] = None,
    pseudo_count: Annotated[
        float, typer.Option("--pseudo-count", min=0, help="Rows that are spread evenly over the members.")
    ] = 1.0,
    max_edges: Annotated[
        int | None,
        typer.Option("--max-edges", min=1, help="Members are left out while there are more edges."),
    ] = None,
    weight: options.Weight = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    reading: Reading,
) -> None:
    """Mix circuits over the same columns with the weights that make the validation rows most likely.

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
