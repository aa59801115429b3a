"""The images that `tractable plot` draws."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tractable.cli.reading import Reading

if TYPE_CHECKING:
    from tractable.circuit import Graph
    from tractable.model import Circuit


@dataclass(frozen=True, slots=True)
class Drawing:
    """The contents of a picture."""

    given: str | None
    rows: Path | None
    hide: str
    count: int
    seed: int


def draw_images(circuit: "Circuit", target: Path, reading: Reading, what: Drawing) -> int:
    """Draw images of a model's answers; returns their number.

    Raises:
        ValueError: if the columns have no grid, or both evidence and rows are given.
    """
    from tractable.cli.reports.images import complete_images, completion_sheet, model_sheet, save_sheet
    from tractable.model import as_evidence

    if what.given is not None and what.rows is not None:
        raise ValueError(
            "--given cannot be combined with --rows: the cells of each row are its evidence, except those"
            " that --hide selects"
        )
    graph = _with_grid(circuit.graph, reading.grid)
    if what.rows is None:
        lines = model_sheet(graph, as_evidence(what.given, graph.schema), what.count, what.seed)
    else:
        table = reading.rows_for(circuit, what.rows)
        some = table.take(slice(0, max(what.count, 1)))
        lines = completion_sheet(complete_images(graph, some.values, what.hide))
    save_sheet(target, lines)
    return sum(len(line) for line in lines)


def _with_grid(graph: "Graph", grid: str | None) -> "Graph":
    """The circuit with the given grid of columns, if there is one."""
    from dataclasses import replace

    from tractable.data import parse_grid, with_grid

    return graph if grid is None else replace(graph, schema=with_grid(graph.schema, parse_grid(grid)))
