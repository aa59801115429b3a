"""`tractable sample` and `tractable impute`: draw and complete rows."""

from typing import Annotated, Literal

import typer

from tractable.cli import options
from tractable.cli.files import find_table_place, frame_of, leave_table
from tractable.cli.output import count, note
from tractable.cli.reading import Reading, reads_tables


@reads_tables
def sample(  # noqa: PLR0913
    model: options.Model,
    number: Annotated[int, typer.Argument(metavar="N", min=0, help="Number of rows.", show_default=False)],
    given: options.Given = None,
    data: options.Rows = None,
    seed: options.Seed = 0,
    output: options.TableOut = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    reading: Reading,
) -> None:
    """Print N rows drawn from MODEL given evidence, as CSV; with --rows, N for each row of a table.

    Example: tractable sample clinic.tract 1000 --given 'age=over 60' -o elderly.csv
    """
    from tractable.data import parse_conditions, warn_of_unseen
    from tractable.model import load
    from tractable.queries import sample as draw
    from tractable.queries import sample_rows

    if data is not None and given is not None:
        raise typer.BadParameter(
            "--given cannot be combined with --rows: the cells of each row are its evidence"
        )
    place = find_table_place(output)
    circuit = load(model)
    if data is None:
        rows = draw(circuit.graph, number, parse_conditions(given or "", circuit.schema), seed)
    else:
        table = reading.rows_for(circuit, data)
        warn_of_unseen(table, "such a cell counts as missing")
        rows = sample_rows(circuit.graph, table.values, number, seed)
    leave_table(frame_of(rows, circuit.schema), place, as_json, quiet)


@reads_tables
def impute(
    model: options.Model,
    data: options.Data,
    method: Annotated[
        Literal["mpe", "mean", "sample"],
        typer.Option(
            "--method",
            help=(
                "Jointly most probable values, the mean or most probable state of each cell, or one random"
                " draw."
            ),
        ),
    ] = "mpe",
    seed: options.Seed = 0,
    output: options.TableOut = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    reading: Reading,
) -> None:
    """Print DATA with its missing cells imputed, as CSV; columns that DATA lacks are added.

    Everything else is unchanged, including states and columns that MODEL does not know and the order of
    columns.

    Example: tractable impute clinic.tract gaps.csv -o whole.csv
    """
    from tractable.data import fill_cells, warn_of_unseen
    from tractable.data.source import find_source
    from tractable.model import load
    from tractable.queries import impute as fill

    place = find_table_place(output)
    circuit = load(model)
    source = find_source(data, reading.table_name)
    table = reading.rows_for(circuit, source)
    warn_of_unseen(table, "such a cell counts as missing, and stays")
    values = fill(circuit.graph, table.values, method=method, seed=seed)
    rows = table if source.suffix == ".data" else reading.frame(source, circuit.schema)
    holes = int(table.missing.sum() - table.unseen_cells.sum())
    note(f"filled {count(holes, 'cell')} of {count(len(table), 'row')}", quiet or as_json)
    leave_table(fill_cells(rows, table, values, "pyarrow"), place, as_json, quiet)
