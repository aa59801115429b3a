"""Atomic replacement of files by writing to another name and renaming."""

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tractable.formats.places import name_file_in_errors, require_replaceable, swap_in_one_step


def write_bytes(path: Path, data: bytes) -> None:
    """Replace a file by one with content `data`; the old file is kept if that fails.

    Links are followed and preserved.

    Raises:
        FileExistsError: if something else than a regular file stands there, such as a device.
        OSError: naming the file, if it cannot be written.
    """
    require_replaceable(path)
    target = Path(os.path.realpath(path))
    beside = _name_beside(target)
    with name_file_in_errors(path):
        try:
            # Opened by hand so that the usual permissions apply, which a temporary file's would not.
            handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(beside)
            raise
    _settle(target.parent)


def write_text(path: Path, text: str) -> None:
    """Replace a file by one with content `text`; the old file is kept if that fails."""
    write_bytes(path, text.encode("utf-8"))


@contextmanager
def replacing(path: Path, check_place: Callable[[Path], None] = require_replaceable) -> Iterator[Path]:
    """A name beside `path` for a new file or folder, which takes its place when the block ends well.

    The name has the same suffix. What was made under it vanishes when the block does not end well.

    Raises:
        FileExistsError: if something stands there that must not be replaced.
    """
    check_place(path)
    target = Path(os.path.realpath(path))
    beside = _name_beside(target, path.suffix)
    with name_file_in_errors(path):
        try:
            yield beside
            if beside.is_dir():
                _require_folder(path)
                _swap(beside, target)
            else:
                os.replace(beside, target)
        except BaseException:
            _remove(beside)
            raise
    _settle(target.parent)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to fill; it takes the place of `path` when the block ends well and vanishes when it does not.

    The old folder is replaced as a whole, so that no file of it is left among the new ones.

    Raises:
        FileExistsError: if a file stands there.
    """
    _require_folder(path)
    target = Path(os.path.realpath(path))
    beside = _name_beside(target)
    with name_file_in_errors(path):
        os.mkdir(beside)
        try:
            yield beside
            _swap(beside, target)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
    _settle(target.parent)


def _require_folder(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"{path} is a file, not a folder")


def _remove(path: Path) -> None:
    """Remove a file or a folder, if there is one."""
    shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        os.unlink(path)


def _swap(new: Path, target: Path) -> None:
    """Put a folder in another's place: in one step where the system can, else the old one steps aside."""
    if not target.exists():
        os.rename(new, target)
        return
    if swap_in_one_step(new, target):
        shutil.rmtree(new, ignore_errors=True)
        return
    old = _name_beside(target)
    os.rename(target, old)
    try:
        os.rename(new, target)
    except BaseException:
        os.rename(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _name_beside(target: Path, suffix: str = "") -> Path:
    """A hidden name that nothing has; names may have 255 bytes, and a letter takes up to four of them."""
    return target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}.part{suffix}")


def _settle(folder: Path) -> None:
    """Flush the renaming to disk, if the system supports it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
