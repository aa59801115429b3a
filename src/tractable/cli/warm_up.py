"""`tractable warm-up`: compile everything in advance."""

from typing import Annotated

import typer

from tractable.cli import options
from tractable.cli.output import answer, count
from tractable.cli.progress import progress_bar

NO_CACHE = """\
No folder for compiled functions can be written: neither beside the package nor in the home folder. What was
compiled is lost with this process. Set NUMBA_CACHE_DIR to a folder that can be written, here and later."""


def warm_up(
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="NAME",
            help=(
                "Group to compile: learners, methods, formats, questions, networks or tables, or the name of"
                " a member; repeatable."
            ),
        ),
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Compile everything in advance, so that later commands do not wait for it: for images and CI.

    Every learner, parameter method, format and kind of query is used once on small tables. The compiled
    functions are cached on disk for this type of processor.

    Example: tractable warm-up
    """
    from tractable.base.progress import Watch
    from tractable.cli.warming import parts_of, warm_up

    parts = parts_of(only or [])
    with progress_bar(quiet or as_json) as on_progress:
        summary = warm_up(parts, Watch(on_progress))
    facts = {
        "parts": summary.parts,
        "functions": summary.functions,
        "seconds": summary.seconds,
        "cache": None if summary.cache is None else str(summary.cache),
    }
    report = f"compiled {count(summary.functions, 'function')} in {summary.seconds:.0f} s"
    answer(
        facts,
        f"{report}\n{NO_CACHE if summary.cache is None else f'the cache is below {summary.cache}'}",
        as_json,
    )
