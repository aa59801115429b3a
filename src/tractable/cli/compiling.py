"""A notice on the terminal while functions are compiled, which may take a minute on a new machine."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tractable.base.compiling import on_compile

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
