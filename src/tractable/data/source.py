"""Sources of tables: a file, possibly compressed, a part of a file, or standard input.

`file.zip::train.csv`, `file.xlsx::Sheet 1` and `file.db::patients` refer to a part of a file.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tractable.data.packing import (
    ARCHIVE,
    COMPRESSED,
    DUCKDB,
    SQLITE,
    WORKBOOK,
    check_suffix,
    guess_suffix,
    member_bytes,
    members,
    unpack,
)

STANDARD_INPUT = "-"
PART = "::"  # between a file and the part of it that is meant
PARTED = (*WORKBOOK.suffixes, *SQLITE.suffixes, *DUCKDB.suffixes)  # files of which a part can be meant
_HEAD = 4096


@dataclass(frozen=True, slots=True)
class Source:
    """The bytes of a table, and the suffix of their format."""

    name: str  # as messages call it
    suffix: str
    path: Path | None = None  # the file that holds these very bytes
    content: bytes | None = None  # the bytes, where no file holds them
    part: str | None = None  # the sheet of a workbook, or the table of a database

    def __str__(self) -> str:
        return self.name

    def open(self) -> Any:
        """A binary stream that pyarrow reads from the beginning."""
        return str(self.path) if self.path is not None else BytesIO(self.content or b"")

    def read(self) -> bytes:
        """All bytes."""
        return self.path.read_bytes() if self.path is not None else self.content or b""

    def head(self) -> bytes:
        """The first bytes."""
        if self.path is None:
            return (self.content or b"")[:_HEAD]
        with self.path.open("rb") as file:
            return file.read(_HEAD)


def find_source(path: "str | Path | Source", part: str | None = None) -> Source:
    """The decompressed source of a path, or a source that was already found; `part` may replace `::`.

    `-` is standard input, which is read only once.

    Raises:
        ValueError: if there is no such file or part, or its content does not match its suffix.
    """
    if isinstance(path, Source):
        return path
    place, parts = split_parts(path)
    parts += [part] if part else []
    if place == STANDARD_INPUT:
        raw = sys.stdin.buffer.read()
        source = Source("standard input", guess_suffix(raw), content=raw)
    else:
        if not Path(place).is_file():
            folder = ", only a folder" if Path(place).is_dir() else ""
            raise ValueError(f"there is no file '{place}'{folder}")
        source = Source(place, Path(place).suffix.lower(), path=Path(place))
    while source.suffix in COMPRESSED or source.suffix == ARCHIVE:
        source = _member(source, parts) if source.suffix == ARCHIVE else _decompressed(source)
    check_suffix(source.name, source.suffix, source.head(), source.read)
    if len(parts) > 1:
        raise ValueError(f"{source}: there is no part '{parts[1]}' in '{parts[0]}'")
    if parts and source.suffix not in PARTED:
        raise ValueError(f"{source}: a {source.suffix} file has no tables to choose '{parts[0]}' from")
    return replace(source, part=parts[0] if parts else None)


def split_parts(path: str | Path) -> tuple[str, list[str]]:
    """The file of a path, and the parts after `::`."""
    text = str(path)
    if Path(text).is_file():  # which may be called anything
        return text, []
    place, *parts = text.split(PART)
    return place, parts


def table_stem(path: str | Path) -> str:
    """A name for results of a table: its file name without suffixes, with the selected part."""
    place, parts = split_parts(path)
    if place == STANDARD_INPUT:
        place = "table"
    name = Path(place).name
    while Path(name).suffix.lower() in (*COMPRESSED, ARCHIVE):
        name = Path(name).stem
    words = [Path(name).stem, *(part.replace("/", "-").removesuffix(".csv") for part in parts)]
    return "-".join(words)


def _decompressed(source: Source) -> Source:
    content = unpack(source.name, source.suffix, source.read())
    inner = "" if source.path is None else Path(source.path.stem).suffix.lower()
    if PART in source.name:  # a packed member of an archive
        inner = Path(Path(source.name).stem).suffix.lower()
    return Source(source.name, inner or guess_suffix(content), content=content)


def _member(source: Source, parts: list[str]) -> Source:
    """The only file in an archive, or the one with the name of the first part, which is removed."""
    raw = source.read()
    names = members(source.name, raw)
    if parts:
        chosen = parts.pop(0)
        if chosen not in names:
            raise ValueError(f"{source}: there is no file '{chosen}' in it, only {_list(names)}")
    elif len(names) != 1:
        raise ValueError(f"{source}: {_choose('file', names, source)}")
    else:
        chosen = names[0]
    name = f"{source}{PART}{chosen}"
    return Source(name, Path(chosen).suffix.lower(), content=member_bytes(name, raw, chosen))


def choose_part(source: Source, kind: str, names: list[str]) -> str:
    """The requested part of a source, or the only one.

    Raises:
        ValueError: naming the existing parts.
    """
    if source.part is None:
        if len(names) == 1:
            return names[0]
        raise ValueError(f"{source}: {_choose(kind, names, source)}")
    if source.part not in names:
        raise ValueError(f"{source}: there is no {kind} '{source.part}' in it, only {_list(names)}")
    return source.part


def _choose(kind: str, names: list[str], source: Source) -> str:
    if not names:
        return f"there is no {kind} in it"
    example = f"'{source}{PART}{names[0]}'"
    return f"there are {len(names)} {kind}s in it ({_list(names)}): name one, as in {example}"


def _list(names: list[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:10]) or "nothing"
    return shown + (", ..." if len(names) > 10 else "")


@contextmanager
def in_a_file(source: Source) -> Iterator[Path]:
    """A context with the file of a source; compressed content is written to a temporary file."""
    if source.path is not None:
        yield source.path
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table"
        path.write_bytes(source.read())
        yield path
