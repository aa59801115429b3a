"""What goes wrong: one clear line on standard error, and the exit code."""

import os
import sys
from collections.abc import Callable

import typer

MISTAKE = 2  # the exit code of everything a user can put right
INTERRUPTED = 130
TRACEBACK = "TRACTABLE_TRACEBACK"  # the variable that lets whole errors through, for those who look for a bug


def run_guarded(run: Callable[[], int | None]) -> int:
    """The exit code of a command; a known error is told in one line."""
    if os.environ.get(TRACEBACK):
        return run() or 0
    try:
        return run() or 0
    except typer.TyperException as error:
        return _write_fault(error.format_message(), error.exit_code)
    except MemoryError as error:
        return _write_fault(f"not enough memory{f' ({error})' if str(error) else ''}")
    except OSError as error:
        return _write_fault(
            f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
        )
    except ValueError as error:
        return _write_fault(str(error))
    except (KeyboardInterrupt, typer.Abort):
        return _write_fault("interrupted", INTERRUPTED)


def _write_fault(words: str, code: int = MISTAKE) -> int:
    sys.stderr.write(f"tractable: {' '.join(words.split())}\n")
    return code
