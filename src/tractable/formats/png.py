"""Pictures of pixels as `.png` files; the standard library has all that this takes."""

import struct
import zlib
from pathlib import Path

import numpy as np

from tractable.base.arrays import Bytes
from tractable.formats.atomic import write_bytes

SIGNATURE = b"\x89PNG\r\n\x1a\n"
EIGHT_BITS, COLOURS = 8, 2  # of each of red, green and blue


def write_png(path: Path, pixels: Bytes) -> None:
    """Save a picture, (height, width, 3) bytes of red, green and blue."""
    write_bytes(path, png_bytes(pixels))


def png_bytes(pixels: Bytes) -> bytes:
    """The content of a .png file."""
    height, width, _ = pixels.shape
    lines = np.zeros((height, 1 + 3 * width), dtype=np.uint8)  # each begins with its filter, which is none
    lines[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, EIGHT_BITS, COLOURS, 0, 0, 0)
    parts = (b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b"")
    return SIGNATURE + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
