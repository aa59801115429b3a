"""`tractable schema`: the inferred columns of a table."""

import re
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tractable.cli import options
from tractable.cli.files import check_place, is_standard_output
from tractable.cli.output import answer, lines, note
from tractable.cli.reading import Reading, reads_tables

if TYPE_CHECKING:
    from tractable.data import Table
    from tractable.data.source import Source

MOST_STATES = 6  # of a column that are shown


@reads_tables
def schema(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="Table.", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the schema to this file, for --schema; - prints it."
        ),
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    reading: Reading,
) -> None:
    """Print the inferred columns of TABLE: kinds, states or ranges, and missing cells.

    If columns cannot be used, all of them are listed with their problems. The file that -o writes can be
    edited and passed to other commands with --schema.

    Example: tractable schema train.csv -o columns.json
    """
    from tractable.data import describe_columns, grid_of, schema_text
    from tractable.formats.atomic import write_bytes

    printed = output is not None and is_standard_output(output)
    if output is not None and not printed:
        check_place(output)
    rows, cautions, problems = _read(table, reading)
    columns = [facts | {"warning": cautions.get(facts["name"])} for facts in describe_columns(rows)]
    plain = [{k: v for k, v in facts.items() if k != "warning"} for facts in columns]
    text = schema_text(plain, grid_of(rows.schema))
    if output is not None and not printed and not problems:
        write_bytes(output, text.encode())
    report = [*((facts["name"], _words(facts)) for facts in columns), *problems.items()]
    content = {
        "rows": len(rows),
        "columns": columns,
        "problems": [{"column": name, "problem": problem} for name, problem in problems.items()],
        "output": None if problems else output,
    }
    answer(content, text if printed and not problems else lines(report), as_json)
    if problems:
        only = "".join(problems.values()) if len(problems) == 1 else f"{len(problems)} columns cannot be used"
        raise ValueError(f"{only} (to leave out: {_drops(problems)})")
    if output is not None and not printed:
        note(f"saved {output}", quiet or as_json)


def _drops(names: Collection[str]) -> str:
    """The options that leave out the columns; the column without a name needs a separate option."""
    nameless, others = "" in names, ",".join(filter(None, names))
    return " ".join(["--drop ''"] * nameless + [f"--drop '{others}'"] * bool(others))


def _read(path: Path, reading: Reading) -> "tuple[Table, dict[str, str], dict[str, str]]":
    """The table, the warnings about its columns, and the problems of unusable columns, by name.

    Other warnings are printed.
    """
    source = reading.source(path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table, problems = _usable(source, reading)
    cautions: dict[str, str] = {}
    for one in caught:
        named = re.match(r"column '(.*?)' (.*)", str(one.message))
        if named is None:
            warnings.warn_explicit(
                one.message, one.category, one.filename, one.lineno, module="tractable.data"
            )
        else:
            cautions[named[1]] = "; ".join(filter(None, [cautions.get(named[1]), named[2]]))
    return table, cautions, problems


def _usable(source: "Source", reading: Reading) -> "tuple[Table, dict[str, str]]":
    """The table of all usable columns, and the problems of the others.

    Raises:
        ValueError: if no column can be used, or the problem is not that of a column.
    """
    try:
        return reading.table(source), {}
    except ValueError as fault:
        problems = {} if source.suffix == ".data" else reading.problems(source)
        if not problems:
            raise
        try:
            return reading.table(source, without=problems), problems
        except ValueError:
            raise fault from None


def _words(facts: dict[str, Any]) -> str:
    parts = [facts["kind"], _values(facts)]
    if facts["missing"]:
        parts.append(f"missing {facts['missing']:.1%}")
    if facts["warning"]:
        parts.append(f"[{facts['warning']}]")
    return "  ".join(part for part in parts if part)


def _values(facts: dict[str, Any]) -> str:
    if "states" in facts:
        shown = ", ".join(map(str, facts["states"][:MOST_STATES]))
        return shown + (
            f", ... ({len(facts['states'])} states)" if len(facts["states"]) > MOST_STATES else ""
        )
    return " to ".join(map(str, facts.get("range", ())))
