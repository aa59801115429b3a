"""Atomic replacement of files by writing to another name and renaming."""

import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from errno import ENOSYS
from pathlib import Path
from typing import IO

# ---- locks on open files, so that processes that share a file do not get in each other's way ------------


def lock(file: IO[bytes], *, wait: bool) -> bool:
    """Lock a file until it is closed or the process ends; false if another process holds the lock.

    With `wait` the call blocks until the lock is free. On systems without file locks the result is always
    true.
    """
    from filelock import lock_descriptor

    try:
        return lock_descriptor(file.fileno(), blocking=wait, poll_interval=0.01)
    except OSError as fault:
        if fault.errno != ENOSYS:
            raise
        return True


# ---- checks of paths to be written, and swapping of folders ---------------------------------------------


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


# ---- saving of a model elsewhere if its path is not writable or the disk is full ------------------------


def save_or_rescue(save: Callable[[Path], None], place: Path) -> None:
    """Save an expensive result at its path or, if that fails, elsewhere.

    The others are a new folder in the current folder, then one in the system's folder for temporary files.

    Raises:
        OSError: if the place could not be written; the message says where it was saved instead, if it was.
    """
    try:
        save(place)
    except OSError as fault:
        refuge = _save_elsewhere(save, place.name)
        if refuge is None:
            raise
        reason = fault.strerror or str(fault)
        raise OSError(f"{place}: {reason}; nothing is lost, the model is saved as {refuge}") from None


def _save_elsewhere(save: Callable[[Path], None], name: str) -> Path | None:
    """The file in the first folder that could be written; None if there is no such folder."""
    for folder in (Path.cwd(), Path(tempfile.gettempdir())):
        try:
            refuge_folder = Path(tempfile.mkdtemp(prefix="tractable-", dir=folder))
        except OSError:
            continue
        try:
            save(refuge_folder / name)
        except OSError:
            shutil.rmtree(refuge_folder, ignore_errors=True)
        else:
            os.chmod(refuge_folder, 0o755)  # `mkdtemp` lets nobody else in
            return refuge_folder / name
    return None
