"""Locks on open files, so that processes that share a file do not get in each other's way."""

from errno import ENOSYS
from typing import IO


def lock(file: IO[bytes], *, wait: bool) -> bool:
    """Lock a file until it is closed, or its process ends however it does; false if somebody else has it.

    With `wait` the answer comes when the lock is free. A Python without file locks answers true at once.
    """
    from filelock import lock_descriptor

    try:
        return lock_descriptor(file.fileno(), blocking=wait, poll_interval=0.01)
    except OSError as fault:
        if fault.errno != ENOSYS:
            raise
        return True
