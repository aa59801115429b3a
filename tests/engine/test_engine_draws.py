"""Draws: their distribution, and what they never do."""

import math
from typing import Any

import numpy as np
import oracle
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from random_circuits import random_graph
from scipy import stats

from tractable.base.arrays import Floats
from tractable.circuit.builder import Builder
from tractable.circuit.graph import Graph
from tractable.data.evidence import Interval, Region, States
from tractable.data.schema import Schema, Variable
from tractable.engine import backward, completions, draw, samples
from tractable.engine.trace import list_draws

NOTHING = math.nan


@given(st.sampled_from([{}, {"mixed": True}, {"normalised": False}, {"deterministic": True}]), st.data())
def test_no_draw_is_impossible_or_contradicts_what_is_known(
    kind: dict[str, Any], data: st.DataObject
) -> None:
    graph = data.draw(strategies.circuits(**kind))
    row, regions = data.draw(strategies.evidence(graph.schema))
    drawn = samples(graph, row, 5, data.draw(st.integers(0, 2**63)), regions)
    if oracle.log_value(graph, row, regions) == -math.inf:
        assert np.array_equal(drawn, np.tile(row, (5, 1)), equal_nan=True)
        return
    assert not np.isnan(drawn).any()
    for full in drawn:
        assert oracle.log_value(graph, full) > -math.inf
        assert np.array_equal(full[~np.isnan(row)], row[~np.isnan(row)])
        assert all(_inside(full[column], region) for column, region in regions.items())


def _inside(x: float, region: Region) -> bool:
    if isinstance(region, States):
        return bool(region.allowed[int(x)])
    return region.low <= x <= region.high


CASES: list[tuple[list[float], dict[int, Region]]] = [
    ([NOTHING] * 3, {}),
    ([NOTHING, 2.0, NOTHING], {}),
    ([NOTHING] * 3, {0: States(np.array([True, False, True])), 2: States(np.array([False, True, True]))}),
    ([0.0, NOTHING, NOTHING], {1: States(np.array([True, True, False]))}),
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("way", ["samples", "completions"])
@pytest.mark.parametrize("states", [2, 3])
def test_draws_come_in_proportion_to_their_probability(
    case: tuple[list[float], dict[int, Region]], way: str, states: int
) -> None:
    row = np.array([min(x, states - 1.0) for x in case[0]])
    regions: dict[int, Region] = {c: _first_states(r, states) for c, r in case[1].items()}
    graph = random_graph(np.random.default_rng(3), 3, 60, states=states)
    drawn = _drawn(graph, row, regions, way, 6000)
    possible = oracle.completions(graph.schema, row, regions)
    wanted = np.exp([oracle.log_value(graph, full) for full in possible])
    found = [int((drawn == full).all(axis=1).sum()) for full in possible]
    assert sum(found) == 6000
    assert stats.chisquare(found, 6000 * wanted / wanted.sum()).pvalue > 1e-3


def _first_states(region: Region, states: int) -> States:
    assert isinstance(region, States)
    allowed = region.allowed[:states]
    return States(allowed if allowed.any() else ~allowed)


def _drawn(graph: Graph, row: Floats, regions: dict[int, Region], way: str, count: int) -> Floats:
    if way == "samples":
        return samples(graph, row, count, 11, regions)
    return completions(graph, np.tile(row, (count, 1)), 12, regions)


def test_tiny_terms_are_drawn_in_proportion() -> None:
    """Terms near exp(-3000) that differ by small factors, among others that are far smaller still."""
    builder = Builder(Schema((Variable("a", "categorical", (0, 1, 2, 3)),)))
    logs = np.array([-3000.0, -3001.0, -3000.5, -4000.0])
    parts = [builder.product([builder.indicator(0, k), builder.constant(-1500.0)]) for k in range(4)]
    builder.sum(parts, logs)
    drawn = samples(builder.freeze(), np.array([NOTHING]), 6000, 4)[:, 0]
    wanted = np.exp(logs + 3000) / np.exp(logs + 3000).sum()
    found = np.bincount(drawn.astype(int), minlength=4)
    assert found[3] == 0
    assert stats.chisquare(found[:3], 6000 * wanted[:3]).pvalue > 1e-3


def _numbers() -> Graph:
    builder = Builder(
        Schema((Variable("c", "count"), Variable("k", "categorical", (0, 1)), Variable("x", "real")))
    )
    parts = [
        builder.product(
            [builder.leaf("poisson", 0, [m]), builder.indicator(1, k), builder.leaf("gaussian", 2, [m, 0.0])]
        )
        for k, m in enumerate((-1.0, 2.0))
    ]
    builder.sum(parts, np.log([0.3, 0.7]))
    return builder.freeze()


def test_numbers_are_drawn_from_the_leaf_that_is_chosen() -> None:
    drawn = samples(_numbers(), np.full(3, NOTHING), 4000, 8)
    for k, mean in enumerate((-1.0, 2.0)):
        chosen = drawn[drawn[:, 1] == k]
        assert stats.kstest(chosen[:, 2], stats.norm(mean, 1).cdf).pvalue > 1e-3
        assert chosen[:, 0].mean() == pytest.approx(
            math.exp(mean), abs=5 * math.exp(mean / 2) / len(chosen) ** 0.5
        )
        assert abs(np.corrcoef(chosen[:, 0], chosen[:, 2])[0, 1]) < 0.1
    assert abs((drawn[:, 1] == 1).mean() - 0.7) < 0.03


def test_numbers_stay_in_their_interval() -> None:
    drawn = samples(_numbers(), np.full(3, NOTHING), 500, 9, {2: Interval(0.5, 1.0), 0: Interval(3, 5)})
    assert ((drawn[:, 2] >= 0.5) & (drawn[:, 2] <= 1.0)).all()
    assert set(drawn[:, 0]) == {3.0, 4.0, 5.0}


def test_a_seed_gives_the_same_draws_whatever_the_number_of_threads() -> None:
    graph = random_graph(np.random.default_rng(0), 10, 500, states=3)
    everything = np.full(10, NOTHING)
    one = samples(graph, everything, 301, 5, threads=1)
    assert np.array_equal(one, samples(graph, everything, 301, 5, threads=2))
    assert np.array_equal(one[:100], samples(graph, everything, 100, 5, threads=1))
    assert not np.array_equal(one, samples(graph, everything, 301, 6))


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_a_set_of_draws_is_listed_in_ascending_order(share: float) -> None:
    compiled: Any = njit(lambda waiting, who: list_draws(waiting, 1, who))
    rng = np.random.default_rng(0)
    for _ in range(20):
        chosen = rng.random(256) < share
        chosen[[0, 63, 64, 255]] = rng.random(4) < 0.5
        waiting, who = np.zeros((3, 4), np.uint64), np.zeros(256, np.uint32)
        waiting[1] = draw._set_of(chosen)
        count = compiled(waiting, who)
        assert who[:count].tolist() == np.flatnonzero(chosen).tolist()


@pytest.mark.parametrize("size", [64, 128, 512])
@pytest.mark.parametrize("missing", [1, 9, 30])
def test_draws_of_a_row_are_those_of_as_many_equal_rows(
    size: int, missing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = random_graph(np.random.default_rng(2), 30, 900, states=3)
    row = np.ones(30)
    row[:missing] = NOTHING
    monkeypatch.setattr(draw, "DRAWS_TILE", size)
    assert np.array_equal(samples(graph, row, 300, 7), completions(graph, np.tile(row, (300, 1)), 7))


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("stretch", [1, 2, 7, 30])
def test_completions_do_not_depend_on_where_a_program_is_cut(
    seed: int | None, stretch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def circuit() -> Graph:
        return random_graph(np.random.default_rng(2), 30, 900, states=3)

    rows = np.full((130, 30), math.nan)
    rows[::3, :9], rows[1::5, 20:] = 1.0, 2.0
    usual = completions(circuit(), rows, seed)
    monkeypatch.setattr(backward, "WHOLE", 0)
    monkeypatch.setattr(backward, "STRETCH", stretch)
    assert np.array_equal(completions(circuit(), rows, seed), usual)
    monkeypatch.setattr(draw, "STRETCH_TILE", 32)
    monkeypatch.setattr(draw, "TILE", 16)
    assert np.array_equal(completions(circuit(), rows, seed), usual)
