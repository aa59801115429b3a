"""Checks of paths to be written, and swapping of folders."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
EXCHANGE = 2  # of renameat2: RENAME_EXCHANGE
CURRENT_FOLDER = -100  # of renameat2: AT_FDCWD, paths are relative to the current folder


def explain_irregular(path: Path) -> str | None:
    """A description of a path that exists and is not a regular file, or None.

    Links are followed.
    """
    try:
        mode = os.stat(path).st_mode
    except OSError:  # nothing is there, or nothing that can be seen: writing will tell
        return None
    if stat.S_ISREG(mode):
        return None
    return next((words for test, words in KINDS if test(mode)), "something else")


def require_replaceable(path: Path) -> None:
    """Refuse to overwrite anything except a regular file.

    Files are written under another name and renamed, which would replace a device or a named pipe by a file.

    Raises:
        FileExistsError: naming the type of the path.
    """
    description = explain_irregular(path)
    if description is not None:
        raise FileExistsError(f"'{path}' is {description}, not a file: it is not overwritten")


@contextmanager
def name_file_in_errors(path: Path) -> Iterator[None]:
    """Name a file in the system's errors, which name another one or none."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None


def swap_in_one_step(one: Path, other: Path) -> bool:
    """Let two paths change places at once; false where the system or the disk cannot do that."""
    import ctypes

    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):  # a system without that call
        return False
    paths = os.fsencode(one), os.fsencode(other)
    return bool(rename(CURRENT_FOLDER, paths[0], CURRENT_FOLDER, paths[1], EXCHANGE) == 0)
