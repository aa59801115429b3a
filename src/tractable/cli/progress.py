"""What the terminal shows while a command works: progress bars, and a line about compilation."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tractable.base.compiling import on_compile

if TYPE_CHECKING:
    from tractable.base.progress import Progress


# ---- the progress bar of a learner ----------------------------------------------------------------------


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


# ---- a notice on the terminal while functions are compiled, which may take a minute on a new machine ----


MOMENT = 0.5  # seconds of compiling that are not worth a line
SILENT = {"--json", "--quiet", "-q"}
LINE = (
    "compiling for this machine, once: the next run starts at once"
    " (`tractable warm-up` compiles everything beforehand) ...\n"
)


@contextmanager
def compile_notice(arguments: Sequence[str]) -> Iterator[None]:
    """Print a notice once if functions are compiled in this context and standard error is a terminal."""
    if SILENT.intersection(arguments) or not sys.stderr.isatty():
        yield
        return
    with on_compile(_Notice()):
        yield


class _Notice:
    """Prints the notice when compilation has taken a moment; a progress bar prints it above itself."""

    def __init__(self) -> None:
        self._spent = 0.0
        self._began: float | None = None
        self._told = False

    def __call__(self, name: str | None) -> None:
        now = time.monotonic()
        if self._began is not None:
            self._spent += now - self._began
        self._began = None if name is None else now
        if self._spent > MOMENT and not self._told:
            self._told = True
            sys.stderr.write(LINE)
