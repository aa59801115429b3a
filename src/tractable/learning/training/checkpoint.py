"""Checkpoint files beside a model, from which an interrupted call continues.

The file has a line of JSON that identifies the call, a checksum of that line and of the rest, and the
checkpoint.
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
    """A warning that a checkpoint could not be written; learning continues without it."""


class CheckpointFile:
    """The checkpoint file MODEL.checkpoint of a call, which is identified by its provenance."""

    def __init__(self, model: Path, about: Mapping[str, Any], *, is_wanted: bool = True) -> None:
        self.path = model.with_name(f"{model.name}.checkpoint")
        self._about = json.loads(json.dumps({**about, "layout": LAYOUT}))
        self._is_wanted = is_wanted  # whether an earlier checkpoint is read; else it is replaced in time
        self._has_failed = False

    def read(self) -> bytes | None:
        """The last checkpoint of this call, or None.

        Raises:
            ValueError: if the file is damaged, or belongs to another call.
        """
        if not self._is_wanted or not self.path.exists():
            return None
        call, _, rest = self.path.read_bytes().partition(b"\n")
        seal, state = rest[:SEAL], rest[SEAL:]
        if seal != _seal(call, state):
            raise ValueError(f"{self.path} is damaged: remove it to start over")
        differences = _differences(json.loads(call), self._about)
        if differences:
            raise ValueError(
                f"{self.path} belongs to another call, with {differences}: repeat that call, or remove the"
                " file to start over"
            )
        return state

    def write(self, state: bytes) -> None:
        """Replace the last checkpoint; a failure gives a single warning."""
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
        """Remove the checkpoint at the end, unless it belongs to another call."""
        if self._is_wanted:
            self.path.unlink(missing_ok=True)


def _seal(call: bytes, state: bytes) -> bytes:
    digest = blake2b(call, digest_size=SEAL)
    digest.update(state)
    return digest.digest()


def _differences(recorded: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """The differences between two calls, in words; empty if there are none."""
    names = [name for name in {**wanted, **recorded} if recorded.get(name) != wanted.get(name)]
    if "learner" in names:
        return f"the learner {recorded.get('learner')}"
    words = {
        "settings": "other settings: " + _settings(recorded.get("settings", {}), wanted.get("settings", {})),
        "seed": f"the seed {recorded.get('seed')}",
        "version": f"version {recorded.get('version')} of this library",
        "layout": "a layout of another version of this library",
        "table": "another table",
        "valid": "other validation rows",
    }
    return ", ".join([words[name] for name in words if name in names] or [f"another {n}" for n in names])


def _settings(recorded: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    different = [name for name in {**wanted, **recorded} if recorded.get(name) != wanted.get(name)]
    return ", ".join(f"{name}={recorded.get(name)}" for name in different)
