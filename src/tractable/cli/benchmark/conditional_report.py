"""The comparison of targets given inputs as tables and as a page: a comparison for each share of inputs.

This is table 4.2 of Rooshenas 2017, measured again: how probable targets are given a share of the columns.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from io import BytesIO
from math import ceil, isfinite
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from tractable import __version__
from tractable.cli.benchmark import published
from tractable.cli.benchmark.comparison import Comparison
from tractable.cli.benchmark.grid import MARKS, Grid, log_likelihood
from tractable.cli.benchmark.picture import COLUMNS, MEASURED, PUBLISHED
from tractable.cli.benchmark.report import runs_grid, wins_grid
from tractable.cli.benchmark.significance import LEVEL
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


def given_inputs_grid(comparison: Comparison, percent: int) -> Grid:
    """Mean log P(targets | inputs) of test rows, measured and published."""
    figures = published.given_inputs()
    shown = [
        name
        for name in dict.fromkeys(learner for _, learner, _ in figures)
        if any((dataset, name, percent) in figures for dataset in comparison.datasets)
    ]
    lines = []
    for dataset in comparison.datasets:
        ours = [_measured_cell(comparison, dataset, learner) for learner in comparison.learners]
        theirs = [figures.get((dataset, name, percent)) for name in shown]
        lines.append((dataset, *ours, *("" if mean is None else f"{mean:.3f}" for mean in theirs)))
    if lines:
        counts = (_counts(comparison, learner) for learner in comparison.learners)
        lines.append(("wins / ties / losses", *counts, *("" for _ in shown)))
    return Grid(
        f"Targets given {percent} % of the columns",
        ("data set", *comparison.learners, *(f"{name}*" for name in shown)),
        tuple(lines),
        f"Mean test log P(targets | inputs), nats a row. {_marks(comparison)} The inputs are the same for all"
        " learners: the first columns of a permutation with seed 0. * published (Rooshenas 2017, tables 4.2"
        " and 5.1) with another random choice of inputs, which is not known: they compare in kind only.",
    )


def _marks(comparison: Comparison) -> str:
    if comparison.against not in comparison.learners:
        return f"No run of {comparison.against} to compare with."
    return (
        f"• significantly better than {comparison.against}, ◦ significantly worse (paired t-test over test"
        f" rows, p = {LEVEL:g}); the last line counts them."
    )


def _measured_cell(comparison: Comparison, dataset: str, learner: str) -> str:
    measured = comparison.measured(dataset, learner)
    if measured is None:
        return "failed" if (dataset, learner) in comparison.failed else ""
    return MARKS[comparison.verdict(dataset, learner)] + log_likelihood(measured.test_ll, 3)


def _counts(comparison: Comparison, learner: str) -> str:
    """On how many data sets a learner is better than `against`, not told apart from it, and worse."""
    against = comparison.against
    both = [
        dataset
        for dataset in comparison.datasets
        if comparison.measured(dataset, learner) and comparison.measured(dataset, against)
    ]
    if learner == against or not both:
        return ""
    verdicts = [comparison.verdict(dataset, learner) for dataset in both]
    return " / ".join(str(verdicts.count(verdict)) for verdict in ("better", "", "worse"))


def given_inputs_costs(comparison: Comparison, percent: int) -> Grid:
    """The size of each circuit, and how long learning and answers take, on average over the data sets."""
    lines = []
    for learner in comparison.learners:
        runs = [comparison.measured(dataset, learner) for dataset in comparison.datasets]
        there = [one for one in runs if one is not None]
        if not there:
            continue
        times = [one.times for one in there if one.times is not None]
        asked = [
            [t.alone_ms for t in times], [t.batch_ms for t in times],
            [t.marginals_alone_ms for t in times], [t.marginals_batch_ms for t in times],
        ]  # fmt: skip
        cells = ("" if not some else f"{fmean(some):.3g} / {max(some):.3g}" for some in asked)
        seconds = [one.cpu_seconds for one in there]
        sizes = (_sizes(one.edges for one in there), _sizes(one.parameters for one in there))
        lines.append(
            (learner, str(len(there)), *sizes, f"{fmean(seconds):,.1f} / {max(seconds):,.1f}", *cells)
        )
    return Grid(
        f"Size and time given {percent} % of the columns",
        (
            "learner", "data sets", "edges", "parameters", "CPU s", "ms alone", "ms a row at once",
            "marginals: ms alone", "marginals: ms a row at once",
        ),
        tuple(lines),
        "Mean / largest over the data sets, on one core. CPU seconds of learning; a joint model is learned"
        " once and asked with all choices of inputs. Parameters count weights of regressions, which are no"
        " edges. Milliseconds for log P(targets | inputs) of a row, and for the marginals of all targets.",
    )  # fmt: skip


def _sizes(sizes: Iterable[int | None]) -> str:
    """The mean and the largest of some numbers."""
    known = [size for size in sizes if size is not None]
    return f"{fmean(known):,.0f} / {max(known):,}" if known else ""


METRICS = {
    "hamming_loss": "Hamming loss %",
    "exact_match": "exact match %",
    "f1": "F1 %",
    "jaccard": "Jaccard %",
}


def prediction_grid(comparison: Comparison, percent: int) -> Grid:
    """How well each learner predicts the targets of single rows."""
    lines = []
    for dataset in comparison.datasets:
        for learner in comparison.learners:
            measured = comparison.measured(dataset, learner)
            if measured is not None and measured.metrics is not None:
                values = (measured.metrics.get(name) for name in METRICS)
                lines.append((dataset, learner, *("" if x is None else f"{100 * x:.2f}" for x in values)))
    return Grid(
        f"Predictions given {percent} % of the columns",
        ("data set", "learner", *METRICS.values()),
        tuple(lines),
        "Each target is predicted by its most probable state given the inputs, for as many of the first test"
        " rows as there are questions. F1 and the Jaccard index compare the sets of targets that are present"
        " (the second of two states), and are means over rows.",
    )
