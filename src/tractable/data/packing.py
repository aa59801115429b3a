"""Compressed files and archives: .gz, .bz2, .xz, .zst and .zip."""

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Callable
from io import BytesIO

_FAULTS = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError)


def unpack(name: str, suffix: str, raw: bytes) -> bytes:
    """The decompressed content of a file.

    Raises:
        ValueError: if the file is damaged or incomplete.
    """
    try:
        return COMPRESSED[suffix](raw)
    except _FAULTS as fault:
        raise ValueError(f"{name}: {_first_line(fault)}") from None


def _unpack_zstd(raw: bytes) -> bytes:
    import pyarrow as pa

    return bytes(pa.input_stream(pa.py_buffer(raw), compression="zstd").read())


def members(name: str, raw: bytes) -> list[str]:
    """The files in a .zip archive, without folders and metadata of macOS.

    Raises:
        ValueError: if the archive is damaged or incomplete.
    """
    try:
        with zipfile.ZipFile(BytesIO(raw)) as archive:
            return [m for m in archive.namelist() if not _is_by_the_way(m)]
    except (zipfile.BadZipFile, *_FAULTS) as fault:
        raise ValueError(f"{name}: the .zip file is damaged or incomplete: {_first_line(fault)}") from None


def _is_by_the_way(member: str) -> bool:
    return member.endswith("/") or member.startswith("__MACOSX/") or member.rpartition("/")[2].startswith(".")


def member_bytes(name: str, raw: bytes, member: str) -> bytes:
    """The content of a file in a .zip.

    Raises:
        ValueError: if it is encrypted or damaged.
    """
    try:
        with zipfile.ZipFile(BytesIO(raw)) as archive:
            if archive.getinfo(member).flag_bits & 1:
                raise ValueError("it is encrypted: unpack it first")
            return archive.read(member)
    except (zipfile.BadZipFile, KeyError, *_FAULTS) as fault:
        raise ValueError(f"{name}: {_first_line(fault)}") from None


def _first_line(fault: Exception) -> str:
    return (str(fault).splitlines() or [type(fault).__name__])[0]


COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
    ".zst": _unpack_zstd,
}
ARCHIVE = ".zip"
UNKNOWN_PACKED = (".7z", ".lz4", ".lzma", ".tar", ".tgz", ".rar")  # which are told to be unpacked first
