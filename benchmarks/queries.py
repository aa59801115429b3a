"""Questions with more and less evidence: figures 2 and 3 of Lowd and Rooshenas, «Learning Markov Networks
With Arithmetic Circuits», AISTATS 2013.

Of each test row a random part of the columns is asked about given the others. Circuits answer with the exact
log-likelihood of all of these cells together (CLL), networks too large for a circuit with that of each cell
apart, by Gibbs sampling (CMLL); both are divided by the number of cells. The picture shows them, and the
seconds a question takes, against the part that is asked about.

    python benchmarks/queries.py --data DIR [--datasets nltcs,plants] [--methods acmn,l1-markov,gssl]
                                 [--queries 100] [--out queries.svg] [--json]
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from training import data_folder, data_options

from tractable.base.arrays import Bools, Floats
from tractable.base.progress import Watch
from tractable.circuit import Graph
from tractable.data import Table, read
from tractable.engine import log_values
from tractable.learning.joint import LEARNERS
from tractable.learning.joint.bayesian.network import BayesianNetworkLearner
from tractable.learning.networks import NETWORK_LEARNERS
from tractable.learning.networks.indicators import conditional_marginal_log_likelihood
from tractable.networks import Network
from tractable.networks.gibbs.sampler import GibbsSampler

METHODS = "latent-tree,learnspn,acmn,l1-markov,gssl"
BAYES_GIBBS = "bayes-gibbs"  # a Bayesian network that is sampled instead of compiled
FRACTIONS = tuple(tenth / 10 for tenth in range(1, 10))

Tables: TypeAlias = dict[str, Table]  # train, valid and test
Answer: TypeAlias = Callable[[Floats, Bools], Floats]  # rows and what is asked of them -> log-likelihoods


class Result(NamedTuple):
    """How one method did on one table."""

    dataset: str
    method: str
    measure: str  # CLL or CMLL
    learning_seconds: float
    likelihood: list[float]  # for each fraction, the mean over questions, a cell
    seconds: list[float]  # for each fraction, a question


# ---- methods -------------------------------------------------------------------------------------------


def learn_model(method: str, tables: Tables, seed: int, budget: float | None) -> Graph | Network:
    """A circuit, or a network that will be sampled."""
    rng, watch = np.random.default_rng(seed), Watch(seconds=budget)
    train, valid = tables["train"], tables["valid"]
    if method == BAYES_GIBBS:
        learner = BayesianNetworkLearner(limit=1)  # nothing asks the circuit
        _, extras = learner.learn_with_extras(train, rng, valid=valid, watch=watch)
        return extras["network"]
    if method in NETWORK_LEARNERS:
        return NETWORK_LEARNERS[method]().learn(train, rng, valid=valid, watch=watch)
    return LEARNERS[method]().learn(train, rng, valid=valid, watch=watch)


def answers(model: Graph | Network, seed: int) -> tuple[str, Answer]:
    """What a model is measured by, and how it answers."""
    if isinstance(model, Graph):
        return "CLL", lambda rows, asked: _log_conditional(model, rows, asked)
    sampler = GibbsSampler(model)
    return "CMLL", lambda rows, asked: conditional_marginal_log_likelihood(sampler, rows, asked, seed=seed)


def _log_conditional(graph: Graph, rows: Floats, asked: Bools) -> Floats:
    return log_values(graph, rows) - log_values(graph, np.where(asked, np.nan, rows))


def known_method(name: str) -> str:
    """The name, if it is one of a method."""
    known = [*LEARNERS, *NETWORK_LEARNERS, BAYES_GIBBS]
    if name not in known:
        sys.exit(f"queries: there is no method '{name}' (methods: {', '.join(known)})")
    return name


# ---- running -------------------------------------------------------------------------------------------


def benchmark_tables(folder: Path, name: str, most_rows: int | None) -> Tables:
    """The three parts of a binary benchmark table; at most so many rows of each."""
    train = read(folder / "binary" / f"{name}.train.data.gz")
    others = {
        p: read(folder / "binary" / f"{name}.{p}.data.gz", schema=train.schema) for p in ("valid", "test")
    }
    return {part: table.take(slice(most_rows)) for part, table in {"train": train, **others}.items()}


def questions(table: Table, count: int, fraction: float, seed: int) -> tuple[Floats, Bools]:
    """The first test rows, and of each a random part of the columns, at least one."""
    rows = table.values[:count]
    asked = max(1, round(fraction * rows.shape[1]))
    order = np.random.default_rng(seed).random(rows.shape).argsort(axis=1)
    return rows, order < asked


def result(options: argparse.Namespace, name: str, tables: Tables, method: str) -> Result:
    """One method on one table."""
    begin = time.perf_counter()
    model = learn_model(method, tables, options.seed, options.budget)
    learning = time.perf_counter() - begin
    measure, answer = answers(model, options.seed)
    answer(*questions(tables["test"], 1, 0.5, options.seed))  # kernels are compiled before the clock runs
    likelihood, seconds = [], []
    for fraction in FRACTIONS:
        rows, asked = questions(tables["test"], options.queries, fraction, options.seed)
        begin = time.perf_counter()
        found = answer(rows, asked)
        seconds.append((time.perf_counter() - begin) / len(rows))
        likelihood.append(float((found / asked.sum(axis=1)).mean()))
    return Result(name, method, measure, learning, likelihood, seconds)


def results(options: argparse.Namespace, folder: Path) -> Iterator[Result]:
    """Every method on every table, as soon as it is there."""
    for name in options.datasets.split(","):
        tables = benchmark_tables(folder, name, options.rows)
        for method in options.methods.split(","):
            yield result(options, name, tables, method)


# ---- reporting -----------------------------------------------------------------------------------------


def draw(shown: list[Result], path: Path) -> None:
    """Save the picture: likelihoods above, seconds below, one table a column."""
    names = list(dict.fromkeys(r.dataset for r in shown))
    width = max(3.4 * len(names), 5.0)
    figure = Figure(figsize=(width, 6.0), layout="constrained")
    grid = figure.subplots(2, len(names), squeeze=False)
    for column, name in enumerate(names):
        here = [r for r in shown if r.dataset == name]
        draw_panel(grid[0, column], here, [r.likelihood for r in here])
        draw_panel(grid[1, column], here, [r.seconds for r in here])
        grid[0, column].set_title(name)
        grid[1, column].set_yscale("log")
    grid[0, 0].set_ylabel("normalised log-likelihood, nats")
    grid[1, 0].set_ylabel("seconds a question")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=int(width // 2.3), frameon=False)
    figure.supxlabel("columns asked about, %", fontsize="medium")
    figure.savefig(path)


def draw_panel(axes: Axes, here: list[Result], lines: list[list[float]]) -> None:
    """One line a method."""
    percent = [100 * f for f in FRACTIONS]
    for which, line in zip(here, lines, strict=True):
        style = "-" if which.measure == "CLL" else "--"
        axes.plot(percent, line, style, marker="o", markersize=3, label=f"{which.method} ({which.measure})")


def lines(found: Result) -> str:
    """One method's figures as text."""
    head = f"{found.dataset:<11}{found.method:<17}"
    first = "  ".join(f"{x:8.4f}" for x in found.likelihood)
    second = "  ".join(f"{1000 * x:8.3g}" for x in found.seconds)
    learning = f"learned in {found.learning_seconds:.1f} s"
    return f"{head}N{found.measure:<5}{first}   {learning}\n{'':<28}ms    {second}"


def main() -> None:
    parser = data_options(__doc__)
    parser.add_argument("--datasets", default="nltcs", help="with commas between; nltcs if not given")
    parser.add_argument("--methods", default=METHODS, help=f"with commas between; {METHODS} if not given")
    parser.add_argument("--queries", type=int, default=100, help="test rows that are asked about, at most")
    parser.add_argument("--out", type=Path, default=Path("queries.svg"), help="the picture: .svg, .png, .pdf")
    parser.add_argument("--budget", type=float, help="seconds that learning one model may take")
    parser.add_argument("--rows", type=int, help="at most so many rows of each part of a table")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder = data_folder(options.data)
    if folder is None:
        sys.exit("queries: give --data DIR, or set TRACTABLE_DATA")
    options.methods = ",".join(known_method(name) for name in options.methods.split(","))
    shown = []
    if not options.json:
        print(f"{'':<34}" + "  ".join(f"{f'{100 * f:.0f} %':>8}" for f in FRACTIONS) + "   asked about")
    for found in results(options, folder):
        shown.append(found)
        if not options.json:
            print(lines(found), flush=True)
    draw(shown, options.out)
    if options.json:
        print(json.dumps([found._asdict() for found in shown]))
    else:
        print(f"drawn in {options.out}")


if __name__ == "__main__":
    main()
