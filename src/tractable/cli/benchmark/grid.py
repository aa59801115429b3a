"""A table of texts, for a screen or for Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isinf

from tractable.cli.benchmark.significance import Verdict

MARKS: dict[Verdict, str] = {"better": "• ", "worse": "◦ ", "": ""}
SAMPLED = "≈ "  # in front of what is estimated by Gibbs sampling


@dataclass(frozen=True)
class Grid:
    """A title, a line of headings, lines of cells, and what there is to say about them."""

    title: str
    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    note: str = ""
    names: int = 1  # columns on the left that hold names rather than numbers

    def text(self) -> str:
        """The table with aligned columns."""
        widths = [max(map(len, column)) for column in zip(self.header, *self.lines, strict=True)]
        body = "\n".join(self._align(line, widths) for line in (self.header, *self.lines))
        return "\n".join(part for part in (self.title, body, self.note) if part)

    def _align(self, line: Sequence[str], widths: Sequence[int]) -> str:
        cells = [
            cell.ljust(width) if i < self.names else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    def markdown(self) -> str:
        """The table as a section of a Markdown page."""
        rule = ["---" if i < self.names else "---:" for i in range(len(self.header))]
        body = "\n".join(_row(line) for line in (self.header, rule, *self.lines))
        return "\n\n".join(part for part in (f"## {self.title}", body, self.note) if part)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def log_likelihood(value: float | None, digits: int) -> str:
    """A mean log-likelihood as a cell; empty where it is intractable, infinite where a row is impossible."""
    if value is None:
        return ""
    return "-∞" if isinf(value) else f"{value:.{digits}f}"
