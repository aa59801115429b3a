"""Locks on open files, so that processes that share a file do not get in each other's way."""

from errno import ENOSYS
from typing import IO


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
