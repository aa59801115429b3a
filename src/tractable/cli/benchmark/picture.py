"""The picture of a comparison, draw_comparison with matplotlib: published figures beside measured ones."""

from io import BytesIO
from math import ceil, floor, isfinite, log10
from typing import TYPE_CHECKING

from tractable.cli.benchmark import published
from tractable.cli.benchmark.comparison import Comparison
from tractable.cli.benchmark.questions import PERCENTAGES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEASURED, PUBLISHED, BEST = "#4c78a8", "#c44e52", "#54a24b"
COLUMNS = 4  # panels side by side


def picture(comparison: Comparison) -> bytes:
    """An SVG file: a panel of test log-likelihoods for each data set, then what learning and answers cost."""
    buffer = BytesIO()
    draw_comparison(comparison).savefig(buffer, format="svg")
    return buffer.getvalue()


def draw_comparison(comparison: Comparison) -> "Figure":
    """The picture as matplotlib has it."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    panels = len(comparison.datasets) + 2
    columns = min(COLUMNS, panels)
    tall = max(2.4, 1.0 + 0.22 * len(comparison.learners))
    figure = Figure(figsize=(3.4 * columns, tall * ceil(panels / columns)), layout="constrained")
    axes = figure.subplots(ceil(panels / columns), columns, squeeze=False).ravel()
    for panel, dataset in zip(axes, comparison.datasets, strict=False):
        _likelihoods(panel, comparison, dataset)
    _costs(axes[panels - 2], comparison)
    _times(axes[panels - 1], comparison)
    for spare in axes[panels:]:
        spare.set_axis_off()
    shown = [
        Line2D([], [], ls="", marker="o", color=MEASURED, label="measured"),
        Line2D([], [], ls="", marker="o", mfc="none", ms=9, color=PUBLISHED, label="published"),
        Line2D([], [], ls=":", color=BEST, label="best published of tractable models"),
    ]
    figure.legend(handles=shown, loc="outside upper center", ncols=3, frameon=False)
    return figure


def _likelihoods(axes: "Axes", comparison: Comparison, dataset: str) -> None:
    """Test log-likelihoods of one data set, a learner a line."""
    known = published.log_likelihoods()
    for place, learner in enumerate(comparison.learners):
        measured = comparison.measured(dataset, learner)
        test_ll = None if measured is None else measured.test_ll
        if test_ll is not None and isfinite(test_ll):
            axes.plot(test_ll, place, "o", color=MEASURED)
        figure = known.get((dataset, published.counterparts().get(learner, "")))
        if figure is not None:
            axes.plot(figure.mean, place, "o", mfc="none", ms=9, color=PUBLISHED)
    if (best := known.get((dataset, published.BEST))) is not None:
        axes.axvline(best.mean, ls=":", color=BEST)
    axes.set_title(published.titles().get(dataset, dataset), fontsize="medium")
    _name_lines(axes, comparison)


def _costs(axes: "Axes", comparison: Comparison) -> None:
    """CPU seconds of learning, a learner a line and a data set a dot."""
    for place, learner in enumerate(comparison.learners):
        runs = [comparison.measured(dataset, learner) for dataset in comparison.datasets]
        seconds = [max(one.cpu_seconds, 0.001) for one in runs if one is not None]
        axes.plot(seconds, [place] * len(seconds), "o", alpha=0.6, color=MEASURED)
    axes.set_xscale("log")
    axes.set_title("CPU seconds of learning", fontsize="medium")
    _name_lines(axes, comparison)


def _times(axes: "Axes", comparison: Comparison) -> None:
    """Milliseconds that a question takes by itself, on average over the data sets."""
    axes.set_title("ms a question, by % asked about", fontsize="medium")
    times: list[float] = []
    for learner in comparison.learners:
        asked = [_mean_time(comparison, learner, percent) for percent in PERCENTAGES]
        if all(asked):
            sampled = " (Gibbs sampling)" if learner in comparison.networks else ""
            axes.plot(PERCENTAGES, asked, ".-", label=learner + sampled)
            times += asked
    if times:
        axes.set_yscale("log")
        axes.set_ylim(10 ** floor(log10(min(times))), 10 ** (floor(log10(max(times))) + 1))  # whole decades
        axes.legend(fontsize="x-small", frameon=False)


def _mean_time(comparison: Comparison, learner: str, percent: int) -> float:
    """The mean; zero where nothing was asked."""
    asked = [comparison.answers(dataset, learner, percent) for dataset in comparison.datasets]
    times = [answers.alone_ms for answers in asked if answers is not None]
    return sum(times) / len(times) if times else 0.0


def _name_lines(axes: "Axes", comparison: Comparison) -> None:
    axes.set_yticks(range(len(comparison.learners)), comparison.learners, fontsize="small")
    axes.set_ylim(max(len(comparison.learners), 1) - 0.5, -0.5)
