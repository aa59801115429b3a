"""Text files from their header on."""

import re
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper

from tractable.data.encodings import as_utf8
from tractable.data.layout import Layout
from tractable.data.source import Source

SAMPLE_LINES = 200  # that show how a file is laid out
_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a file from its header on, in UTF-8."""

    name: str
    content: bytes
    above: int = 0  # lines of the file above it

    def lines(self, count: int = SAMPLE_LINES) -> list[str]:
        """The first lines."""
        with TextIOWrapper(BytesIO(self.content), encoding="utf-8", newline="") as file:
            return [line for line, _ in zip(file, range(count), strict=False)]


def read_text(source: Source, layout: Layout) -> Text:
    """The text of a source, without blank lines and those to be skipped at its beginning.

    Raises:
        ValueError: if it is not text.
    """
    content = as_utf8(source.read(), source.name, layout.encoding)
    start = line = 0
    for end in _LINE_END.finditer(content):
        if line >= layout.skip and content[start : end.start()].strip():
            break
        start, line = end.end(), line + 1
    return Text(source.name, content[start:] if start else content, line)
