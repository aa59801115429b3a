"""Checkpoints in a file beside a model, from which the same call goes on."""

import json
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tractable.formats.atomic import write_bytes

SEAL = 16  # bytes of a checksum over the call and the checkpoint


class CheckpointFile:
    """The checkpoint of one call, identified by its provenance; others and damaged ones are ignored."""

    def __init__(self, model: Path, about: Mapping[str, Any]) -> None:
        self._path = model.with_name(f"{model.name}.checkpoint")
        self._call = json.dumps(about, sort_keys=True).encode()

    def read(self) -> bytes | None:
        """The last checkpoint of the same call; None if there is none."""
        if not self._path.exists():
            return None
        data = self._path.read_bytes()
        seal, state = data[:SEAL], data[SEAL:]
        return state if seal == self._seal(state) else None

    def write(self, state: bytes) -> None:
        """Replace the last checkpoint."""
        write_bytes(self._path, self._seal(state) + state)

    def remove(self) -> None:
        """Remove the checkpoint when the work is done."""
        self._path.unlink(missing_ok=True)

    def _seal(self, state: bytes) -> bytes:
        return blake2b(self._call + state, digest_size=SEAL).digest()
