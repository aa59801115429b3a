"""Damaged files of safetensors, with and without a checksum that fits."""

import json
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from fuzz.mutations import Rng, damage, damage_arrays, damage_json, few, json_text
from tractable.formats.tract import digest

LENGTHS = (0, 1, 7, 2**20, 2**31, 2**40, 2**63 - 1, 2**64 - 1)


def damage_sealed(rng: Rng, data: bytes) -> tuple[bytes, bool]:
    """A damaged file, and whether its checksum was made to fit."""
    choice = rng.random()
    if choice < 0.15:
        for _ in range(few(rng, 3)):
            data = damage(rng, data)
        return data, False
    if choice < 0.25:
        return _damage_frame(rng, data), False
    return _seal_again(rng, data), True


def _damage_frame(rng: Rng, data: bytes) -> bytes:
    """Another length of the header, or a header with other offsets, types and shapes."""
    size = int.from_bytes(data[:8], "little")
    if rng.random() < 0.4:
        size = int(rng.choice([*LENGTHS[:-1], size - 8, size + 8, len(data), len(data) - 8]))
        return max(size, 0).to_bytes(8, "little") + data[8:]
    text = damage_json(rng, json.loads(data[8 : 8 + size])).encode("utf-8", "replace")
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data[8 + size :]


def _seal_again(rng: Rng, data: bytes) -> bytes:
    """Other arrays or facts, with a checksum that fits them."""
    size = int.from_bytes(data[:8], "little")
    metadata = json.loads(data[8 : 8 + size])["__metadata__"]
    header: Any = json.loads(metadata["circuit"])
    arrays = load(data)
    text = json_text(header)
    for _ in range(few(rng, 2)):
        if rng.random() < 0.7:
            damage_arrays(rng, arrays)
        else:
            text = damage_json(rng, header)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return save(arrays, metadata={"circuit": text, "digest": digest(text, arrays)})
