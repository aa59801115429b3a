"""The options that commands share, and how their texts are understood."""

from pathlib import Path
from typing import Annotated, Literal

import typer


def duration(text: str) -> float:
    """The seconds in a text such as `90s`, `10m` or `1.5h`; a bare number counts seconds."""
    from tractable.base.progress import seconds_in

    try:
        return seconds_in(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def names(text: str | None) -> list[str]:
    """The column names in a list with commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A circuit's file.", show_default=False)]
Data = Annotated[
    Path, typer.Argument(metavar="DATA", help="A table with the model's columns.", show_default=False)
]
Given = Annotated[
    str | None,
    typer.Option("--given", "-g", metavar="CONDITIONS", help="What is known, such as 'age=40-60, sex=f'."),
]
Rows = Annotated[
    Path | None,
    typer.Option("--rows", metavar="DATA", help="A table: one answer for each of its rows."),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kinds", metavar="A=KIND,B=KIND", help="Kinds of columns, where others are inferred."),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="A,B", help="Columns to leave out; '' is one without a name."),
]
Text = Annotated[
    list[str] | None,
    typer.Option("--text", metavar="A,B", help="Columns that are text, such as codes, whatever they hold."),
]
Sep = Annotated[
    str | None,
    typer.Option("--sep", metavar="CHARACTER", help="What separates cells: , ; | tab or space (any blanks)."),
]
TableName = Annotated[
    str | None,
    typer.Option("--table", metavar="NAME", help="A sheet, a table of a database, or a file in a .zip."),
]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", metavar="NAME", help="The encoding of text that is no UTF-8: latin-1, ..."),
]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="The first line is a row: columns are called x0, x1, ...")
]
Skip = Annotated[int, typer.Option("--skip", min=0, metavar="N", help="Lines or rows above the header.")]
Decimal = Annotated[
    Literal[".", ","] | None,
    typer.Option("--decimal", help="The decimal point, if numbers could be read in two ways."),
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
    typer.Option("--unseen", help="What a state that the training rows did not have does to a row."),
]
LARGEST_SEED = 2**64 - 1
Seed = Annotated[int, typer.Option("--seed", min=0, max=LARGEST_SEED, help="Where the random numbers begin.")]
Weight = Annotated[
    str | None,
    typer.Option(
        "--weight", metavar="COLUMN", help="The column that says how many rows each row stands for."
    ),
]
TableOut = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Where the rows go (.csv or .parquet); - is the screen."
    ),
]
Valid = Annotated[
    Path | None, typer.Option("--valid", metavar="FILE", help="Rows held out, by which to choose.")
]
Targets = Annotated[
    str | None,
    typer.Option("--targets", metavar="A,B", help="The columns to predict; all others are what from."),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting; repeatable.")
]
Jobs = Annotated[int | None, typer.Option("--jobs", min=1, help="How many cores; all of them unless given.")]
Budget = Annotated[
    str | None,
    typer.Option("--budget", metavar="TIME", help="Stop with the best model after 90s, 10m, 1h, ..."),
]
Approximate = Annotated[
    bool,
    typer.Option(
        "--approximate",
        help="Estimate by Gibbs sampling, with a standard error: for networks that no circuit can answer.",
    ),
]
Samples = Annotated[int, typer.Option("--samples", min=1, help="Sweeps that count, with --approximate.")]
SamplingSeed = Annotated[
    int,
    typer.Option(
        "--seed", min=0, max=LARGEST_SEED, help="Where the random numbers begin, with --approximate."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes, only the answer.")]
