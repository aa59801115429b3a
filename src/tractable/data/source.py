"""Where a table's bytes come from: a file, gzipped or not, or standard input."""

import gzip
import sys
import zlib
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True)
class Source:
    """A file, or the content of standard input, which can be read only once and is kept."""

    path: Path
    content: bytes | None = None

    def __str__(self) -> str:
        return "standard input" if self.content is not None else str(self.path)

    @property
    def suffix(self) -> str:
        """The suffix that says how to read it, without that of compression; guessed for standard input."""
        if self.content is not None:
            return _guess(self.content)
        return Path(self.path.stem).suffix.lower() if self.is_compressed else self.path.suffix.lower()

    @property
    def is_compressed(self) -> bool:
        """Whether the file is gzipped."""
        return self.content is None and self.path.suffix.lower() == ".gz"

    def open(self) -> Any:
        """Something that pyarrow reads from the beginning, decompressed."""
        if self.content is not None:
            return BytesIO(self.content)
        return BytesIO(self.read()) if self.is_compressed else str(self.path)

    def read(self) -> bytes:
        """All bytes, decompressed.

        Raises:
            ValueError: if the file is no whole gzip file.
        """
        raw = self.path.read_bytes() if self.content is None else self.content
        try:
            return gzip.decompress(raw) if self.is_compressed else raw
        except (OSError, EOFError, zlib.error) as fault:
            raise ValueError(f"{self}: {fault}") from None

    def first_lines(self, count: int) -> list[str]:
        """The first lines of text, without a byte-order mark; one that is cut off in the middle is left out.

        Raises:
            ValueError: if they are no text.
        """
        lines: list[str] = []
        try:
            with TextIOWrapper(self.stream(), encoding="utf-8-sig", newline="") as file:
                for line in file:
                    lines.append(line)
                    if len(lines) == count:
                        break
        except UnicodeDecodeError as fault:
            raise ValueError(
                f"{self}: byte {fault.start:,} is no text in UTF-8: save the table as UTF-8"
            ) from None
        except (OSError, EOFError, zlib.error) as fault:
            raise ValueError(f"{self}: {str(fault).splitlines()[0]}") from None
        return lines

    def stream(self) -> Any:
        """A file of its bytes, decompressed, which is to be closed."""
        if self.content is not None:
            return BytesIO(self.content)
        return gzip.open(self.path, "rb") if self.is_compressed else self.path.open("rb")


def find_source(path: "str | Path | Source") -> Source:
    """The source of a path, or one that was found already; `-` is standard input, which is read only once.

    Raises:
        ValueError: if there is no such file.
    """
    if isinstance(path, Source):
        return path
    if str(path) == STANDARD_INPUT:
        return Source(Path(STANDARD_INPUT), sys.stdin.buffer.read())
    if not Path(path).is_file():
        raise ValueError(f"there is no file '{path}'")
    return Source(Path(path))


def _guess(content: bytes) -> str:
    """The suffix that bytes would have as a file."""
    if content.startswith(b"PAR1"):
        return ".parquet"
    if content.startswith(b"ARROW1"):
        return ".feather"
    return ".jsonl" if content.lstrip().startswith(b"{") else ".csv"
