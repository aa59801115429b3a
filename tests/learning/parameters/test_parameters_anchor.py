"""Anchored EM: imaginary rows that hold the weights of sums where they were at first."""

from itertools import islice

import numpy as np
import pytest
from random_circuits import random_graph

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.circuit import SUM, Builder, Graph, normalise
from tractable.data import Table, discrete_schema
from tractable.engine import log_partition_function
from tractable.learning.parameters import fit
from tractable.learning.parameters.cccp import CCCP, HardEM
from tractable.learning.parameters.method import WeightedRows

COLUMNS = 5
both_methods = pytest.mark.parametrize("method", [CCCP, HardEM])


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def start(seed: int = 0) -> Graph:
    return normalise(random_graph(rng(seed), COLUMNS, 200)).graph


def table(rows: int = 300, missing: float = 0.0) -> Table:
    """Rows in two clusters, so that there is something to learn."""
    draw = rng(1)
    cluster = draw.integers(2, size=(rows, 1))
    values = (draw.random((rows, COLUMNS)) < np.where(cluster, 0.9, 0.2)).astype(np.float64)
    values[draw.random(values.shape) < missing] = np.nan
    return Table(discrete_schema([2] * COLUMNS), values)


def weights(graph: Graph) -> Floats:
    """Those of all edges below sums."""
    return np.exp(graph.log_weight[graph.kind[graph.parent] == SUM])


def course(graph: Graph, some: Table, how: CCCP | HardEM, steps: int) -> list[tuple[Floats, float]]:
    """The weights at the beginning and after each step, with the mean log-likelihood under each."""
    rows = WeightedRows(some.values, some.row_weights)
    found = islice(how.steps(how.prepare(graph, some), rows, rng(), Watch(), None), steps + 1)
    return [(weights(step.graph), step.train) for step in found]


def coin_mixture(shares: list[float], chances: list[float]) -> Graph:
    """One column of two states, as a sum over coins."""
    builder = Builder(discrete_schema([2]))
    coins = [builder.leaf("categorical", 0, np.log([1 - p, p])) for p in chances]
    with np.errstate(divide="ignore"):
        builder.sum(coins, np.log(shares))
    return builder.freeze()


@pytest.mark.parametrize("anchor", [0.0, 3.0, 50.0])
def test_a_step_is_what_one_counts_by_hand(anchor: float) -> None:
    shares, chances = np.array([0.3, 0.7]), np.array([0.2, 0.9])
    heads, tails = 30, 10
    some = Table(discrete_schema([2]), np.array([[1.0], [0.0]]), np.array([heads, tails], dtype=np.float64))
    counts = heads * shares * chances / (shares @ chances)
    counts += tails * shares * (1 - chances) / (shares @ (1 - chances))
    wanted = (counts + anchor * shares) / (heads + tails + anchor)
    how = CCCP(smoothing=0.0, anchor=anchor)
    _, (found, _) = course(coin_mixture(shares.tolist(), chances.tolist()), some, how, 1)
    np.testing.assert_allclose(found, wanted)


def test_an_edge_of_no_weight_stays_without() -> None:
    some = Table(discrete_schema([2]), np.array([[1.0], [0.0]]))
    how = CCCP(smoothing=0.0, anchor=1e9)
    found = fit(coin_mixture([0.0, 0.4, 0.6], [0.2, 0.9, 0.5]), some, how, rng()).graph
    np.testing.assert_allclose(weights(found), [0.4, 0.6], atol=1e-6)


@both_methods
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_huge_anchor_keeps_the_weights(method: type[CCCP | HardEM], missing: float) -> None:
    how = method(smoothing=0.0, anchor=1e12)
    before, *_, (after, _) = course(start(), table(missing=missing), how, 5)
    np.testing.assert_allclose(after, before[0], atol=1e-8)
    *_, (free, _) = course(start(), table(missing=missing), method(smoothing=0.0), 5)
    assert np.abs(free - before[0]).max() > 0.1


@both_methods
def test_without_an_anchor_em_is_plain(method: type[CCCP | HardEM]) -> None:
    one, other = (fit(start(), table(), how, rng()).graph for how in (method(), method(anchor=0.0)))
    assert np.array_equal(one.log_weight, other.log_weight)
    nearly = fit(start(), table(), method(anchor=1e-9), rng()).graph
    np.testing.assert_allclose(weights(nearly), weights(one), atol=1e-5)


def test_the_more_rows_hold_the_weights_the_less_far_they_go() -> None:
    moved = []
    for anchor in (0.0, 10.0, 100.0, 1000.0):
        (first, _), *_, (last, _) = course(start(), table(), CCCP(smoothing=0.0, anchor=anchor), 5)
        moved.append(np.abs(last - first).sum())
    assert moved == sorted(moved, reverse=True)
    assert moved[0] > 2 * moved[-1]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("anchor", [1.0, 30.0])
def test_likelihood_with_its_imaginary_rows_never_falls(seed: int, anchor: float) -> None:
    some = table()
    how = CCCP(smoothing=0.0, leaf_smoothing=0.0, anchor=anchor)
    steps = course(start(seed), some, how, 10)
    first = steps[0][0]
    goal = [some.total_weight * score + anchor * (first @ np.log(now)) for now, score in steps]
    assert (np.diff(goal) > -1e-7).all()
    assert goal[-1] > goal[0] + 1.0


def test_an_anchored_circuit_is_still_a_distribution() -> None:
    found = fit(start(), table(missing=0.2), CCCP(anchor=20.0, iterations=3), rng())
    assert log_partition_function(found.graph) == pytest.approx(0.0, abs=1e-9)


def test_one_row_can_be_learned_from() -> None:
    one = table().take(np.arange(1))
    found = fit(start(), one, CCCP(anchor=20.0, smoothing=0.0), rng()).graph
    assert np.abs(weights(found) - weights(start())).max() < 0.1


@both_methods
@pytest.mark.parametrize("anchor", [-1.0, -1e-9, float("nan")])
def test_an_anchor_that_is_no_number_of_rows_is_refused(method: type[CCCP | HardEM], anchor: float) -> None:
    with pytest.raises(ValueError, match=r"setting anchor of .* must be at least 0"):
        method(anchor=anchor)
