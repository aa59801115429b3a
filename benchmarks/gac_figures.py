"""Draws likelihood and edges against the number of features of `gaclearn`, with and without a hidden layer.

Rooshenas, «Learning Tractable Graphical Models», 2017, figures 5.2 and 5.3: circuits over a fifth of the
columns of jester given the others. Needs the extras `neural` and `plot`, and the folder of the data.
"""

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from tractable.base.progress import Progress, Watch
from tractable.data import Table, discrete_schema
from tractable.learning.conditional.gaclearn import GACLearnLearner

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"


def conditional_table(file: Path, share: float) -> Table:
    """A table of zeros and ones, of which a share of the columns, always the same, are inputs."""
    with gzip.open(file, "rt") as lines:
        values = np.loadtxt(lines, delimiter=",")
    columns = values.shape[1]
    inputs = np.random.default_rng(0).permutation(columns)[: int(share * columns + 0.5)]
    schema = discrete_schema([2] * columns).with_inputs(inputs)
    return Table(schema, values)


def curve(table: Table, layers: int, splits: int) -> dict[str, list[float]]:
    """Features, edges and negative log-likelihood of the training rows after each split."""
    found: dict[str, list[float]] = {"features": [], "edges": [], "loss": []}

    def tell(progress: Progress) -> None:
        if "edges" in progress.stage and progress.score is not None:
            found["features"].append(2 * progress.done)
            found["edges"].append(int(progress.stage.split()[0].replace(",", "")))
            found["loss"].append(-progress.score)
            watch.interrupted = progress.done >= splits

    watch = Watch(tell)
    how = GACLearnLearner(
        members=1, layers=layers, hidden=100, dropout=(0.0,), edge_cost=1e-4, split_cost=0.5, l1=0.1,
        min_support=0.001, max_edges=2_000_000,
    )  # fmt: skip
    how.learn(table, np.random.default_rng(0), watch=watch)
    return found


def draw(curves: dict[str, dict[str, list[float]]], folder: Path) -> None:
    """Write both pictures."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    pictures = {"loss": "negative CLL of the training rows (nats)", "edges": "edges of the circuit"}
    for name, label in pictures.items():
        figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
        for title, values in curves.items():
            axes.plot(values["features"], values[name], label=title)
        axes.set(xlabel="features over several targets", ylabel=label)
        axes.set_yscale("log" if name == "edges" else "linear")
        axes.legend()
        figure.savefig(folder / f"gaclearn-{name}.svg", metadata={"Date": None})
        plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with binary/jester.train.data.gz")
    parser.add_argument("--dataset", default="jester")
    parser.add_argument("--splits", type=int, default=150)
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    table = conditional_table(options.data / "binary" / f"{options.dataset}.train.data.gz", 0.8)
    curves: dict[str, Any] = {
        title: curve(table, layers, options.splits)
        for title, layers in (("no hidden layer", 0), ("one hidden layer of 100 units", 1))
    }
    draw(curves, options.out)
    ends = {title: {name: line[-1] for name, line in found.items()} for title, found in curves.items()}
    starts = {title: found["loss"][0] for title, found in curves.items()}
    print(json.dumps({"ends": ends, "starts": starts}))


if __name__ == "__main__":
    main()
