"""Saving of a model elsewhere if its path is not writable or the disk is full."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path


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
