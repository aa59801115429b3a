"""`tractable sample` and `tractable impute`: rows that a model makes or completes."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tractable.cli import options
from tractable.cli.files import find_table_place, frame_of, put_table
from tractable.cli.output import answer, count, note
from tractable.cli.reading import Reading, reads_tables


def sample(
    model: options.Model,
    number: Annotated[int, typer.Argument(metavar="N", min=0, help="How many rows.", show_default=False)],
    given: options.Given = None,
    seed: options.Seed = 0,
    output: options.TableOut = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Print N rows drawn from MODEL, given what is known, as CSV.

    Example: tractable sample clinic.tract 1000 --given 'age=over 60' -o elderly.csv
    """
    from tractable.data import parse_conditions
    from tractable.model import load
    from tractable.queries import sample as draw

    place = find_table_place(output)
    circuit = load(model)
    rows = draw(circuit.graph, number, parse_conditions(given or "", circuit.schema), seed)
    _leave(frame_of(rows, circuit.schema), place, as_json, quiet)


@reads_tables
def impute(
    model: options.Model,
    data: options.Data,
    method: Annotated[
        Literal["mpe", "mean", "sample"],
        typer.Option(
            "--method", help="Most probable together, each cell's mean or likeliest state, or one draw."
        ),
    ] = "mpe",
    seed: options.Seed = 0,
    output: options.TableOut = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    reading: Reading,
) -> None:
    """Print DATA with its missing cells filled, as CSV; a column that DATA lacks is filled, too.

    Example: tractable impute clinic.tract gaps.csv -o whole.csv
    """
    from tractable.data import warn_of_unseen
    from tractable.model import load
    from tractable.queries import impute as fill

    place = find_table_place(output)
    circuit = load(model)
    table = reading.rows_for(circuit, data)
    warn_of_unseen(table, "such a cell counts as missing")
    rows = fill(circuit.graph, table.values, method=method, seed=seed)
    note(f"filled {count(int(table.missing.sum()), 'cell')} of {count(len(table), 'row')}", quiet or as_json)
    _leave(frame_of(rows, circuit.schema), place, as_json, quiet)


def _leave(frame: Any, output: Path | None, as_json: bool, quiet: bool) -> None:
    """Write the rows where they are wanted: a file, standard output, or inside the JSON answer."""
    facts: dict[str, Any] = {"rows": frame.num_rows, "columns": frame.column_names, "output": output}
    if output is not None or not as_json:
        put_table(frame, output)
    if as_json:
        values = [] if output is not None else [list(row.values()) for row in frame.to_pylist()]
        answer(facts if output is not None else facts | {"values": values}, "", as_json)
    elif output is not None:
        note(f"wrote {count(frame.num_rows, 'row')} to {output}", quiet)
