"""A comparison as a page: Markdown with all tables, and a picture beside it."""

from importlib.util import find_spec
from pathlib import Path

from tractable import __version__
from tractable.cli.benchmark import published
from tractable.cli.benchmark.comparison import Comparison
from tractable.cli.benchmark.picture import picture
from tractable.cli.benchmark.tables import grids
from tractable.formats.atomic import write_bytes, write_text
from tractable.formats.places import require_replaceable

NAME = "bench.md"  # in a folder


def report_place(given: Path) -> Path:
    """Where the page goes: the file, or `bench.md` in the folder, which is made.

    Raises:
        ValueError: if it cannot be written or drawn.
        FileExistsError: if something else than a file stands there.
    """
    if find_spec("matplotlib") is None:
        raise ValueError("a report requires matplotlib, which is installed by: pip install 'tractable[plot]'")
    if given.suffix.lower() == ".md":
        if not given.parent.is_dir():
            raise ValueError(f"there is no folder '{given.parent}' to write '{given.name}' in")
        return _checked(given)
    if given.exists() and not given.is_dir():
        raise ValueError(f"'{given}': a report must be a folder or a file with the suffix .md")
    given.mkdir(parents=True, exist_ok=True)
    return _checked(given / NAME)


def _checked(page: Path) -> Path:
    """The page, unless something else than a file stands in its place or in that of its picture."""
    for file in (page, page.with_suffix(".svg")):
        require_replaceable(file)
    return page


def write_report(comparison: Comparison, page: Path) -> list[Path]:
    """Write the page and, under the same name, its picture; the files written."""
    image = page.with_suffix(".svg")
    write_bytes(image, picture(comparison))
    write_text(page, _page(comparison, image.name))
    return [page, image]


def _page(comparison: Comparison, image: str) -> str:
    parts = [
        "# Benchmark",
        f"Measured with tractable {__version__}. Published figures have a *; sources are at the end.",
        f"![test log-likelihoods, measured and published]({image})",
        *(grid.markdown() for grid in grids(comparison, list(published.methods()))),
        "## Sources",
        "\n".join(f"- {method}*: {source}" for method, source in published.methods().items()),
    ]
    return "\n\n".join(parts) + "\n"
