"""The comparison of targets given inputs as tables and as a page: a comparison for each share of inputs."""

from collections.abc import Mapping
from dataclasses import replace
from io import BytesIO
from math import ceil, isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from tractable import __version__
from tractable.cli.benchmark import published
from tractable.cli.benchmark.comparison import Comparison
from tractable.cli.benchmark.conditional_tables import given_inputs_costs, given_inputs_grid, prediction_grid
from tractable.cli.benchmark.grid import Grid
from tractable.cli.benchmark.picture import COLUMNS, MEASURED, PUBLISHED
from tractable.cli.benchmark.tables import runs_grid, wins_grid
from tractable.formats.atomic import write_bytes, write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SOURCE = "Rooshenas, Learning Tractable Graphical Models, 2017, tables 4.2 and 5.1"


def conditional_grids(comparisons: Mapping[float, Comparison]) -> list[Grid]:
    """All tables that there is something to put in; the comparisons by the share of the columns given."""
    tables = []
    for share, comparison in comparisons.items():
        percent = round(100 * share)
        grids = [
            given_inputs_grid(comparison, percent),
            replace(
                wins_grid(comparison),
                title=f"Wins given {percent} % of the columns",
                note=f"On how many of {len(comparison.datasets)} data sets the learner of the line is"
                " significantly better than that of the column.",
            ),
            prediction_grid(comparison, percent),
            given_inputs_costs(comparison, percent),
            replace(runs_grid(comparison), title=f"Runs given {percent} % of the columns"),
        ]
        tables += [grid for grid in grids if grid.lines]
    return tables


def write_conditional_report(comparisons: Mapping[float, Comparison], page: Path) -> list[Path]:
    """Write the page and, under the same name, its picture; the files written."""
    image = page.with_suffix(".svg")
    write_bytes(image, _picture(comparisons))
    parts = [
        "# Benchmark of conditional models",
        f"Measured with tractable {__version__}. Published figures have a *: {SOURCE}.",
        f"![test conditional log-likelihoods, measured and published]({image.name})",
        *(grid.markdown() for grid in conditional_grids(comparisons)),
    ]
    write_text(page, "\n\n".join(parts) + "\n")
    return [page, image]


def _picture(comparisons: Mapping[float, Comparison]) -> bytes:
    """An SVG file: a panel for each data set and share of inputs."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    panels = [(share, dataset) for share, one in comparisons.items() for dataset in one.datasets]
    columns = min(COLUMNS, max(len(panels), 1))
    lines = max((len(one.learners) for one in comparisons.values()), default=1)
    height = max(2.4, 1.0 + 0.22 * lines) * ceil(max(len(panels), 1) / columns)
    figure = Figure(figsize=(3.4 * columns, height), layout="constrained")
    axes = figure.subplots(ceil(max(len(panels), 1) / columns), columns, squeeze=False).ravel()
    for panel, (share, dataset) in zip(axes, panels, strict=False):
        _likelihoods(panel, comparisons[share], dataset, round(100 * share))
    for spare in axes[len(panels) :]:
        spare.set_axis_off()
    shown = [
        Line2D([], [], ls="", marker="o", color=MEASURED, label="measured"),
        Line2D([], [], ls="", marker="o", mfc="none", ms=9, color=PUBLISHED, label="published, other inputs"),
    ]
    figure.legend(handles=shown, loc="outside upper center", ncols=2, frameon=False)
    buffer = BytesIO()
    figure.savefig(buffer, format="svg")
    return buffer.getvalue()


def _likelihoods(axes: "Axes", comparison: Comparison, dataset: str, percent: int) -> None:
    """Test conditional log-likelihoods of one data set, a learner a line."""
    for place, learner in enumerate(comparison.learners):
        measured = comparison.measured(dataset, learner)
        if measured is not None and measured.test_ll is not None and isfinite(measured.test_ll):
            axes.plot(measured.test_ll, place, "o", color=MEASURED)
        figures = published.given_inputs().get((dataset, learner, percent))
        if figures is not None:
            axes.plot(figures, place, "o", mfc="none", ms=9, color=PUBLISHED)
    title = published.titles().get(dataset, dataset)
    axes.set_title(f"{title}, {percent} % inputs", fontsize="medium")
    axes.set_yticks(range(len(comparison.learners)), comparison.learners, fontsize="small")
    axes.set_ylim(max(len(comparison.learners), 1) - 0.5, -0.5)
