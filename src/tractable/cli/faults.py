"""Errors and warnings as single lines on standard error, and exit codes."""

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import typer

from tractable.base.interrupts import was_interrupted

MISTAKE = 2  # the exit code of everything a user can put right
INTERRUPTED = 130
LONGEST = 2000  # letters of a line that tells what is wrong
TRACEBACK = "TRACTABLE_TRACEBACK"  # the variable that lets whole errors through, for those who look for a bug


def run_guarded(run: Callable[[], int | None]) -> int:
    """The exit code of a command; known errors and warnings about tables are printed as one line."""
    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=UserWarning, module=r"tractable\.")
        warnings.showwarning = _OneLineWarnings(warnings.showwarning)
        return run() or 0 if os.environ.get(TRACEBACK) else _guarded(run)


class _OneLineWarnings:
    """Prints each distinct warning of this package once, on one line; other warnings are shown as usual."""

    def __init__(self, others: Callable[..., None]) -> None:
        self._others = others
        self._told: set[str] = set()

    def __call__(self, message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        text = str(message)
        if category.__module__.partition(".")[0] != "tractable":
            self._others(message, category, *place, **more)
        elif text not in self._told:
            self._told.add(text)
            sys.stderr.write(f"tractable: warning: {text}\n")


def _guarded(run: Callable[[], int | None]) -> int:
    try:
        code = run() or 0
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:
        if not was_interrupted():  # else the error is what C code has made of the interrupt
            return _tell(error)
        code = INTERRUPTED
    # Typer, too, turns Ctrl-C into a mere exit code, and says nothing.
    return _write_fault("interrupted", code) if code == INTERRUPTED else code


def _tell(error: Exception) -> int:
    """Print an error that the user can correct on one line; raise any other."""
    if isinstance(error, typer.TyperException):
        return _write_fault(error.format_message(), error.exit_code)
    if isinstance(error, MemoryError):
        return _write_fault(f"not enough memory{f' ({error})' if str(error) else ''}")
    if isinstance(error, OSError):
        return _write_fault(
            f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
        )
    if isinstance(error, ValueError):
        return _write_fault(str(error))
    raise error


def _write_fault(words: str, code: int = MISTAKE) -> int:
    line = " ".join(words.split())
    if len(line) > LONGEST:  # it repeats something very long that was asked for
        line = f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"
    sys.stderr.write(f"tractable: {line}\n")
    return code
