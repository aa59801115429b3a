"""Figures that papers print, kept in `published/*.csv` so that they can stand beside measured ones.

`methods.csv` names the source of each method's figures and the learner that is meant to repeat them. In
`log_likelihood.csv` the last column is the paper's own verdict against ID-SPN (the dots of its table).
"""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tractable.cli.benchmark.significance import Verdict

REFERENCE = "ID-SPN"  # the method that the published marks compare with
BEST = "best tractable"


@dataclass(frozen=True)
class Figure:
    """A published mean log-likelihood, and whether it was found to differ from that of ID-SPN."""

    mean: float
    against_reference: Verdict


def _lines(name: str) -> list[dict[str, str]]:
    text = files("tractable.cli.benchmark").joinpath("published", name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@cache
def methods() -> dict[str, str]:
    """Published methods in the order of the tables, and the source of each."""
    return {line["method"]: line["source"] for line in _lines("methods.csv")}


@cache
def counterparts() -> dict[str, str]:
    """Learners, as typed, and the published method that each repeats."""
    return {line["learner"]: line["method"] for line in _lines("methods.csv") if line["learner"]}


@cache
def titles() -> dict[str, str]:
    """Data sets by the names of their files, in the order of the tables, and what papers call them."""
    return {line["dataset"]: line["title"] for line in _lines("data_sets.csv")}


@cache
def log_likelihoods() -> dict[tuple[str, str], Figure]:
    """Mean test log-likelihood by data set and method."""
    verdicts: dict[str, Verdict] = {"better": "better", "worse": "worse", "": ""}
    return {
        (line["dataset"], line["method"]): Figure(float(line["mean"]), verdicts[line["against_idspn"]])
        for line in _lines("log_likelihood.csv")
    }


@cache
def wins() -> dict[tuple[str, str], int]:
    """On how many of the twenty data sets the first method is significantly better than the second."""
    return {(line["method"], line["other"]): int(line["data_sets"]) for line in _lines("wins.csv")}


@cache
def conditionals() -> dict[tuple[str, str, int], float]:
    """Conditional log-likelihood a query variable, by data set, method and percentage of query variables."""
    return {
        (line["dataset"], line["method"], int(line["percent"])): float(line["mean"])
        for line in _lines("conditional.csv")
    }


@cache
def conditionals_a_cell() -> dict[tuple[str, str, int], float]:
    """Conditional log-likelihoods per queried cell, if the number of queried cells seems to differ.

    Where the percentage of the variables is a whole number, the printed means are those of one variable fewer
    divided by that number: 100 variables, 10 percent, the sum of 9 divided by 10 (docs/results.md).
    """
    variables = {line["dataset"]: int(line["variables"]) for line in _lines("data_sets.csv")}
    means = {}
    for (dataset, method, percent), mean in conditionals().items():
        asked, part = divmod(variables[dataset] * percent, 100)
        if part == 0:
            means[dataset, method, percent] = mean * asked / (asked - 1)
    return means


@cache
def given_inputs() -> dict[tuple[str, str, int], float]:
    """Mean log P(targets | inputs) of test rows, by data set, learner and percentage of inputs.

    Rooshenas 2017, tables 4.2 and 5.1; which columns were inputs is not published.
    """
    return {
        (line["dataset"], line["learner"], int(line["inputs"])): float(line["mean"])
        for line in _lines("targets_given_inputs.csv")
    }


@cache
def query_times() -> dict[tuple[str, int], tuple[float, float]]:
    """Milliseconds a question by method and percentage: mean and largest of the data sets' averages."""
    return {
        (line["method"], int(line["percent"])): (float(line["mean_ms"]), float(line["max_ms"]))
        for line in _lines("query_times.csv")
    }
