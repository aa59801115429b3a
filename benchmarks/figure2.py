"""Four methods of parameter learning from one random start: figure 2 of Zhao, Poupart and Gordon, «A Unified
Approach for Learning the Parameters of Sum-Product Networks», NIPS 2016.

For each table LearnSPN finds a structure, its parameters are drawn at random, and every method takes 50
iterations from there. The picture shows the training log-likelihood, one panel a table.

    python benchmarks/figure2.py --data DIR [--datasets nltcs,plants] [--out figure2.svg] [--json]
"""

import argparse
import json
import sys
from collections.abc import Iterator
from math import ceil
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from training import data_folder, data_options, learned_structure, training_table

from tractable.circuit import Graph
from tractable.data import Table
from tractable.learning.parameters import Method, fit, randomise
from tractable.learning.parameters.cccp import CCCP
from tractable.learning.parameters.gradient import EG, PGD, SMA
from tractable.model import load

COLOURS = {"pgd": "#4c78a8", "eg": "#f58518", "sma": "#54a24b", "cccp": "#c44e52"}
DATASETS = "nltcs,plants,baudio,jester"
SMOOTHING = 0.001  # of CCCP, as in the paper; the gradient methods have the paper's settings by default
MOST_ACROSS = 5  # panels


class Panel(NamedTuple):
    """How every method went on one table."""

    name: str
    rows: int
    edges: int
    train: dict[str, list[float]]  # mean log-likelihood after 0, 1, 2, ... iterations

    def facts(self) -> dict[str, object]:
        """What there is to tell: where each method ended, and which is highest."""
        final = {method: curve[-1] for method, curve in self.train.items()}
        wins = max(final, key=final.__getitem__)
        start = self.train[wins][0]
        return {"rows": self.rows, "edges": self.edges, "start": start, "train_ll": final, "wins": wins}


# ---- running -------------------------------------------------------------------------------------------


def methods(iterations: int) -> list[Method]:
    """The four, none of which stops early."""
    return [
        PGD(iterations=iterations, tolerance=0.0),
        EG(iterations=iterations, tolerance=0.0),
        SMA(iterations=iterations, tolerance=0.0),
        CCCP(iterations=iterations, tolerance=0.0, smoothing=SMOOTHING, leaf_smoothing=SMOOTHING),
    ]


def problem(options: argparse.Namespace, folder: Path, name: str) -> tuple[Graph, Table]:
    """A structure, given or learned, and the training rows."""
    if options.structures is not None:
        graph = load(options.structures / f"{name}.tract").graph
        return graph, training_table(folder, name, options.rows, graph.schema)
    table = training_table(folder, name, options.rows)
    return learned_structure(table, options.seed), table


def panels(options: argparse.Namespace, folder: Path) -> Iterator[Panel]:
    """Every table's panel, as soon as it is there."""
    for name in options.datasets.split(","):
        structure, table = problem(options, folder, name)
        start = randomise(structure, np.random.default_rng(options.seed))
        train = {
            how.name: fit(start, table, how, np.random.default_rng(options.seed)).train
            for how in methods(options.iterations)
        }
        yield Panel(name, len(table), structure.edges, train)


# ---- reporting -----------------------------------------------------------------------------------------


def draw(shown: list[Panel], path: Path) -> None:
    """Save the picture."""
    across = min(len(shown), MOST_ACROSS)
    down = ceil(len(shown) / across)
    figure = Figure(figsize=(max(3.4 * across, 4.8), 2.6 * down + 0.7), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False).ravel()
    for axes, panel in zip(grid, shown, strict=False):
        draw_panel(axes, panel)
    for axes in grid[len(shown) :]:
        axes.set_axis_off()
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    figure.supxlabel("iterations", fontsize="medium")
    figure.supylabel("mean training log-likelihood, nats", fontsize="medium")
    figure.savefig(path)


def draw_panel(axes: Axes, panel: Panel) -> None:
    """One table's curves."""
    for method, curve in panel.train.items():
        axes.plot(curve, color=COLOURS[method], label=method.upper(), linewidth=1.4)
    axes.set_title(panel.name)


def line(panel: Panel) -> str:
    """One table's figures as text."""
    final = "  ".join(f"{method} {curve[-1]:10.4f}" for method, curve in panel.train.items())
    return f"{panel.name:<12}{panel.edges:>9,} edges  {final}   {panel.facts()['wins']} wins"


def main() -> None:
    parser = data_options(__doc__)
    parser.add_argument("--datasets", default=DATASETS, help=f"with commas between; {DATASETS} if not given")
    parser.add_argument("--structures", type=Path, help="a folder of NAME.tract to take instead of learning")
    parser.add_argument("--out", type=Path, default=Path("figure2.svg"), help="the picture: .svg, .png, .pdf")
    parser.add_argument("--iterations", type=int, default=50)
    parser.add_argument("--rows", type=int, help="at most so many training rows")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder = data_folder(options.data)
    if folder is None:
        sys.exit("figure2: give --data DIR, or set TRACTABLE_DATA")
    shown = []
    for panel in panels(options, folder):
        shown.append(panel)
        print(line(panel), file=sys.stderr if options.json else sys.stdout, flush=True)
    draw(shown, options.out)
    if options.json:
        print(json.dumps({panel.name: panel.facts() for panel in shown}))


if __name__ == "__main__":
    main()
