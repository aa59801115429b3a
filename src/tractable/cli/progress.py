"""The progress bar of a learner."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tractable.base.progress import Progress

OnProgress = Callable[["Progress"], None]


@contextmanager
def progress_bar(quiet: bool) -> Iterator[OnProgress | None]:
    """A function that shows progress within this context, or None if standard error is not a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("learning", total=None)

        def show(progress: "Progress") -> None:
            score = "" if progress.score is None else f", {progress.score:.4f} nats a row"
            bar.update(
                task, description=progress.stage + score, completed=progress.done, total=progress.total
            )

        yield show
