"""Compressed files and archives: .gz, .bz2, .xz, .zst and .zip."""

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO

# ---- detection of file formats by their first bytes, regardless of file names ---------------------------


@dataclass(frozen=True, slots=True)
class Content:
    """A file format."""

    words: str
    suffixes: tuple[str, ...]  # of files that may hold it; the first is the usual one


WORKBOOK = Content("an Excel workbook", (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"))
OLD_WORKBOOK = Content("an old or an encrypted Office document", (".xls", ".xlsx", ".xlsm", ".xlsb"))
ZIP = Content("a .zip archive", (".zip",))
PARQUET = Content("a Parquet file", (".parquet",))
ARROW = Content("an Arrow file", (".feather", ".arrow"))
SQLITE = Content("an SQLite database", (".sqlite", ".sqlite3", ".db", ".db3"))
DUCKDB = Content("a DuckDB database", (".duckdb", ".ddb", ".db"))
HTML = Content("a web page", ())
TEXT = Content("text", (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".data"))

_BEGINNINGS: tuple[tuple[bytes, Content], ...] = (
    (b"PAR1", PARQUET),
    (b"ARROW1", ARROW),
    (b"FEA1", ARROW),
    (b"SQLite format 3\0", SQLITE),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", OLD_WORKBOOK),
    (b"\x1f\x8b", Content("a gzipped file", (".gz",))),
    (b"BZh", Content("a file compressed by bzip2", (".bz2",))),
    (b"\xfd7zXZ\0", Content("a file compressed by xz", (".xz",))),
    (b"\x28\xb5\x2f\xfd", Content("a file compressed by Zstandard", (".zst",))),
    (b"%PDF-", Content("a PDF document", ())),
    (b"\x89PNG", Content("a picture", ())),
    (b"\x93NUMPY", Content("an array of numpy", ())),
)
_KNOWN = {s for c in (TEXT, WORKBOOK, PARQUET, ARROW, SQLITE, DUCKDB) for s in c.suffixes}
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_PAGES = (b"<!doctype html", b"<html")


def content_of(raw: bytes) -> Content | None:
    """The detected format, or None for text and unknown formats."""
    for beginning, content in _BEGINNINGS:
        if raw.startswith(beginning) and not (beginning == b"BZh" and raw[4:10] != b"1AY&SY"):
            return content
    if raw[8:12] == b"DUCK":
        return DUCKDB
    if raw.startswith(b"PK\x03\x04"):
        is_workbook = b"xl/workbook" in raw or b"opendocument.spreadsheet" in raw[:200]
        return WORKBOOK if is_workbook else ZIP
    return HTML if raw.lstrip()[:14].lower().startswith(_PAGES) else None


def check_suffix(name: str, suffix: str, head: bytes, read: Callable[[], bytes]) -> None:
    """Refuse a file whose content does not match its suffix; `read` returns the whole content.

    Raises:
        ValueError: naming the detected format and the suffix that it should have.
    """
    if suffix not in _KNOWN:  # which is told by its suffix
        return
    content = content_of(read() if _needs_all(head, suffix) else head)
    if content is None:
        _check_text(name, suffix, head)
        return
    if content is OLD_WORKBOOK and suffix in content.suffixes:
        is_encrypted = _ENCRYPTED in read()
        if is_encrypted or suffix != ".xls":
            better = "save it without a password" if is_encrypted else "rename it to .xls"
            raise ValueError(f"{name}: the file is {content.words}: {better}")
    elif suffix not in content.suffixes and not (content is ZIP and suffix in WORKBOOK.suffixes):
        better = f": rename it to {content.suffixes[0]}" if content.suffixes else ""
        raise ValueError(f"{name}: the file is {content.words}, despite its suffix '{suffix}'{better}")


def _needs_all(head: bytes, suffix: str) -> bool:
    """Whether the first bytes do not distinguish a workbook from another archive."""
    return head.startswith(b"PK\x03\x04") and suffix not in WORKBOOK.suffixes


def _check_text(name: str, suffix: str, raw: bytes) -> None:
    """Refuse text under the suffix of a binary format."""
    for content in (WORKBOOK, PARQUET, ARROW, SQLITE, DUCKDB):
        if suffix not in content.suffixes:
            continue
        if not raw:
            raise ValueError(f"{name}: the file is empty, not {content.words}")
        if b"\0" not in raw and raw.isascii():
            raise ValueError(
                f"{name}: the file is text, not {content.words}; if it is a table, rename it to .csv"
            )


def guess_suffix(raw: bytes) -> str:
    """The suffix for a file with this content."""
    content = content_of(raw)
    if content is not None and content.suffixes:
        return content.suffixes[0]
    beginning = raw.lstrip(b"\xef\xbb\xbf \t\r\n")
    if beginning.startswith(b"{"):
        return ".jsonl" if beginning.split(b"\n", 1)[0].rstrip().endswith(b"}") else ".json"
    return ".json" if beginning.startswith(b"[") else ".csv"


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
