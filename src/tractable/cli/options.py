"""Options that several commands share, and the parsing of their values."""

from pathlib import Path
from typing import Annotated, Literal

import typer


def duration(text: str) -> float:
    """The seconds in a text such as `90s`, `10m` or `1.5h`; a number without a unit is in seconds."""
    from tractable.base.progress import seconds_in

    try:
        return seconds_in(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def names(text: str | None) -> list[str]:
    """The column names in a comma-separated list."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file.", show_default=False)]
Data = Annotated[
    Path, typer.Argument(metavar="DATA", help="Table with the columns of the model.", show_default=False)
]
Given = Annotated[
    str | None,
    typer.Option("--given", "-g", metavar="CONDITIONS", help="Evidence, such as 'age=40-60, sex=f'."),
]
Rows = Annotated[
    Path | None,
    typer.Option("--rows", metavar="DATA", help="Table of evidence, with one answer per row."),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kinds", metavar="A=KIND,B=KIND", help="Kinds of columns, which are otherwise inferred."),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="A,B", help="Columns to leave out; '' is the column without a name."),
]
Text = Annotated[
    list[str] | None,
    typer.Option("--text", metavar="A,B", help="Columns to read as text, such as codes."),
]
Sep = Annotated[
    str | None,
    typer.Option("--sep", metavar="CHARACTER", help="Separator of cells: , ; | tab or space (any blanks)."),
]
TableName = Annotated[
    str | None,
    typer.Option("--table", metavar="NAME", help="Sheet, table of a database, or file in a .zip."),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding", metavar="NAME", help="Encoding of text files that are not UTF-8: latin-1, ..."
    ),
]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="The first line is not a header: columns are called x0, x1, ...")
]
Skip = Annotated[
    int, typer.Option("--skip", min=0, metavar="N", help="Number of lines or rows above the header to skip.")
]
Decimal = Annotated[
    Literal[".", ","] | None,
    typer.Option("--decimal", help="Decimal point, if numbers are ambiguous."),
]
Marks = Annotated[
    list[str] | None,
    typer.Option("--na", metavar="MARK", help="What else is a missing cell, such as inf; repeatable."),
]
Parts = Annotated[
    list[str] | None,
    typer.Option(
        "--parts", metavar="A=PART,PART", help="Parts of a date as columns: year, month, weekday, ..."
    ),
]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema", metavar="FILE", help="The columns, as `tractable schema` writes and you edit them."
    ),
]
Grid = Annotated[
    str | None,
    typer.Option(
        "--grid", metavar="HEIGHTxWIDTH", help="The first columns are the pixels of images, row by row."
    ),
]
Unseen = Annotated[
    Literal["share", "error"],
    typer.Option("--unseen", help="Treatment of states that do not occur in the training rows."),
]
LARGEST_SEED = 2**64 - 1
Seed = Annotated[
    int, typer.Option("--seed", min=0, max=LARGEST_SEED, help="Seed of the random number generator.")
]
Weight = Annotated[
    str | None,
    typer.Option(
        "--weight",
        metavar=("COLUMN"),
        help="Column of row weights: the number of rows that each row represents.",
    ),
]
TableOut = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Output file (.csv or .parquet); - is standard output."
    ),
]
Valid = Annotated[
    Path | None, typer.Option("--valid", metavar="FILE", help="Validation rows for model selection.")
]
Targets = Annotated[
    str | None,
    typer.Option("--targets", metavar="A,B", help="Columns to predict from all other columns."),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Setting of the learner; repeatable.")
]
Jobs = Annotated[int | None, typer.Option("--jobs", min=1, help="Number of cores; by default all.")]
Budget = Annotated[
    str | None,
    typer.Option(
        "--budget", metavar="TIME", help="Time budget, after which the best model is returned: 90s, 10m, 1h."
    ),
]
Approximate = Annotated[
    bool,
    typer.Option(
        "--approximate",
        help="Estimate by Gibbs sampling, with a standard error, for networks that are too large to compile.",
    ),
]
Samples = Annotated[
    int, typer.Option("--samples", min=1, help="With --approximate: number of sweeps after the burn-in.")
]
SamplingSeed = Annotated[
    int,
    typer.Option(
        "--seed", min=0, max=LARGEST_SEED, help="Seed of the random number generator, with --approximate."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print only the answer, without progress and notes.")
]
