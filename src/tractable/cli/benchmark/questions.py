"""Questions about test rows: some columns asked about, the others given (Rooshenas 2017, section 3.4)."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tractable.base.arrays import Bools, Floats
from tractable.circuit import Graph
from tractable.data import Table
from tractable.learning.networks.indicators import conditional_marginal_log_likelihood
from tractable.networks.gibbs.sampler import GibbsSampler
from tractable.queries import log_prob

PERCENTAGES = (10, 30, 50, 70, 90)  # of the columns, asked about
ALONE = 20  # questions that are timed one by one

Answerer: TypeAlias = Callable[[Floats, Bools], Floats]  # rows, cells asked about -> log-probability a cell


@dataclass(frozen=True)
class Answers:
    """How a model did on the questions of one percentage."""

    percent: int
    log_prob: list[float]  # of each question's true answer, divided by the number of cells asked about
    alone_ms: float  # milliseconds for a question by itself
    batch_ms: float  # milliseconds a question when all are asked at once


@dataclass(frozen=True)
class Times:
    """Milliseconds a row that a model took: for a row by itself, and when all are asked at once."""

    alone_ms: float  # log P(targets | inputs)
    batch_ms: float
    marginals_alone_ms: float  # the marginals of all targets
    marginals_batch_ms: float


def choose(table: Table, count: int, percent: int, seed: int) -> tuple[Floats, Bools]:
    """Test rows drawn at random, at most `count`, and which of their cells are asked about.

    The columns are drawn anew for each row, at least one; the same seed asks every model the same.
    """
    rng = np.random.default_rng([seed, percent])
    rows = table.values[rng.permutation(len(table))[:count]]
    asked = max(1, round(rows.shape[1] * percent / 100))
    return rows, rng.random(rows.shape).argsort(axis=1) < asked


def answer(graph: Graph, rows: Floats, asked: Bools) -> Floats:
    """log P(cells asked about | the others) a cell, for each row; -inf where even the others are impossible.

    A missing cell is summed out and counts for nothing.
    """
    evidence = log_prob(graph, np.where(asked, np.nan, rows))
    joint = log_prob(graph, rows)
    cells = (asked & ~np.isnan(rows)).sum(axis=1)
    logs = np.where(np.isneginf(evidence), -np.inf, joint - np.where(np.isneginf(evidence), 0.0, evidence))
    return logs / np.maximum(cells, 1)


def sampled_answer(sampler: GibbsSampler, rows: Floats, asked: Bools, seed: int) -> Floats:
    """The sum of log P(cell | the cells not asked about) over the cells asked about, a cell, for each row.

    Probabilities are estimated by Gibbs sampling. Each cell counts by itself (the conditional marginal
    log-likelihood): the probability of all cells together, which `answer` gives, is out of reach.
    """
    cells = (asked & ~np.isnan(rows)).sum(axis=1)
    return conditional_marginal_log_likelihood(sampler, rows, asked, seed=seed) / np.maximum(cells, 1)


def ask(answerer: Answerer, table: Table, count: int, seed: int) -> list[Answers]:
    """The answers for every percentage of `PERCENTAGES`; none where nothing is to be asked."""
    if count == 0:
        return []
    answerer(*choose(table, 1, 50, seed))  # kernels are loaded before the clock runs
    return [_ask_percentage(answerer, table, count, percent, seed) for percent in PERCENTAGES]


def _ask_percentage(answerer: Answerer, table: Table, count: int, percent: int, seed: int) -> Answers:
    rows, asked = choose(table, count, percent, seed)
    begin = time.perf_counter()
    logs = answerer(rows, asked)
    batch = (time.perf_counter() - begin) / len(rows)
    alone = min(ALONE, len(rows))
    begin = time.perf_counter()
    for i in range(alone):  # one by one is what is measured here
        answerer(rows[i : i + 1], asked[i : i + 1])
    each = (time.perf_counter() - begin) / alone
    return Answers(percent, logs.tolist(), 1000 * each, 1000 * batch)
