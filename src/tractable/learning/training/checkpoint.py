"""Checkpoints in a file beside a model, from which the same call goes on.

The file is a line of JSON, which tells the call that it belongs to, a checksum of that line and of what
follows, and the checkpoint itself.
"""

import json
import warnings
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tractable.base.progress import LAYOUT
from tractable.formats.atomic import write_bytes

SEAL = 16  # bytes of a checksum over the call and the checkpoint


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; learning goes on without it."""


class CheckpointFile:
    """The checkpoint of one call, identified by its provenance, in the file MODEL.checkpoint."""

    def __init__(self, model: Path, about: Mapping[str, Any], *, is_wanted: bool = True) -> None:
        self.path = model.with_name(f"{model.name}.checkpoint")
        self._about = json.loads(json.dumps({**about, "layout": LAYOUT}))
        self._is_wanted = is_wanted  # whether an earlier checkpoint is read; else it is replaced in time
        self._has_failed = False

    def read(self) -> bytes | None:
        """The last checkpoint of the same call; None if there is none.

        Raises:
            ValueError: if the file is damaged, or belongs to another call.
        """
        if not self._is_wanted or not self.path.exists():
            return None
        call, _, rest = self.path.read_bytes().partition(b"\n")
        seal, state = rest[:SEAL], rest[SEAL:]
        if seal != _seal(call, state):
            raise ValueError(f"{self.path} is damaged: remove it to begin anew")
        differences = _differences(json.loads(call), self._about)
        if differences:
            raise ValueError(
                f"{self.path} is of another call, with {differences}: repeat that call, or remove the file to"
                " begin anew"
            )
        return state

    def write(self, state: bytes) -> None:
        """Replace the last checkpoint; if that cannot be done there is a warning, once."""
        call = json.dumps(self._about, sort_keys=True).encode()
        try:
            write_bytes(self.path, b"".join([call, b"\n", _seal(call, state), state]))
        except OSError as error:
            if not self._has_failed:
                self._has_failed = True
                reason = error.strerror or str(error)
                words = f"no checkpoint could be written to {self.path} ({reason}); learning goes on"
                warnings.warn(words, CheckpointWarning, stacklevel=2)
        else:
            self._has_failed = False
            self._is_wanted = True

    def remove(self) -> None:
        """Remove the checkpoint when the work is done, unless it is of another call."""
        if self._is_wanted:
            self.path.unlink(missing_ok=True)


def _seal(call: bytes, state: bytes) -> bytes:
    digest = blake2b(call, digest_size=SEAL)
    digest.update(state)
    return digest.digest()


def _differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """What differs between two calls, in words; empty if nothing does."""
    names = [name for name in {**wanted, **found} if found.get(name) != wanted.get(name)]
    if "learner" in names:
        return f"the learner {found.get('learner')}"
    words = {
        "settings": "other settings: " + _settings(found.get("settings", {}), wanted.get("settings", {})),
        "seed": f"the seed {found.get('seed')}",
        "version": f"version {found.get('version')} of this library",
        "layout": "a layout of another version of this library",
        "table": "another table",
        "valid": "other validation rows",
    }
    return ", ".join([words[name] for name in words if name in names] or [f"another {n}" for n in names])


def _settings(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    different = [name for name in {**wanted, **found} if found.get(name) != wanted.get(name)]
    return ", ".join(f"{name}={found.get(name)}" for name in different)
