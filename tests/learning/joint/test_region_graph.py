"""Region graphs: rectangles of a grid, clusters of columns, and the circuits over them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tractable.circuit import is_decomposable, is_smooth
from tractable.data import Grid, Table, discrete_schema, with_grid
from tractable.engine import log_values
from tractable.learning.joint.region_graph.learner import DennisVenturaLearner, RegionGridLearner
from tractable.learning.joint.region_graph.regions import RegionGraph, cluster_graph, rectangle_graph
from tractable.learning.statistics.number_matrix import number_matrix

MANY = 100


def grid(height: int, width: int) -> Grid:
    return Grid(np.arange(height * width).reshape(height, width))


def is_whole(graph: RegionGraph) -> bool:
    """Whether every region but the patches has partitions, each into two parts that make it up."""
    return all(
        len(region) == 1
        or all(
            a and b and not a & b and a | b == region and graph.partitions[region]
            for a, b in graph.partitions[region]
        )
        for region in graph.reached()
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5), st.integers(1, 5))
def test_the_regions_of_a_grid_are_all_its_rectangles(height: int, width: int) -> None:
    graph = rectangle_graph(grid(height, width), np.array([], dtype=np.int64), MANY, MANY)
    assert is_whole(graph)
    assert len(graph.reached()) == (height * (height + 1) // 2) * (width * (width + 1) // 2)
    cuts = sum(len(found) for found in graph.partitions.values())
    assert cuts == sum(
        (h - 1 + w - 1) * (height - h + 1) * (width - w + 1)
        for h in range(1, height + 1)
        for w in range(1, width + 1)
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 4), st.integers(1, 3), st.integers(0, 2))
def test_patches_cover_all_columns_once(height: int, width: int, side: int, cuts: int, others: int) -> None:
    more = height * width + np.arange(others)
    graph = rectangle_graph(grid(height, width), more, side, cuts)
    assert is_whole(graph)
    assert sorted(np.concatenate(graph.patches).tolist()) == list(range(height * width + others))
    assert len(graph.patches) <= side**2 + others


def test_a_grid_may_have_holes() -> None:
    cells = np.array([[0, -1, -1], [-1, -1, 1]])
    graph = rectangle_graph(Grid(cells), np.array([], dtype=np.int64), MANY, MANY)
    assert is_whole(graph)
    assert [p.tolist() for p in graph.patches] == [[0], [1]]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 8), st.integers(1, 4))
def test_clusters_of_columns_make_a_region_graph(seed: int, columns: int, clusters: int) -> None:
    rng = np.random.default_rng(seed)
    table = Table(discrete_schema([2] * columns), rng.integers(0, 2, (30, columns)).astype(np.float64))
    graph = cluster_graph(number_matrix(table, "indicators"), clusters, rng)
    assert is_whole(graph)
    assert len(graph.partitions.get(graph.root, [])) <= clusters


def test_regions_that_two_clusters_find_are_shared() -> None:
    """Columns 0 and 1 belong together in all rows, columns 2 and 3 as well: so there are few regions."""
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 2, (300, 2))
    table = Table(discrete_schema([2] * 4), np.repeat(pairs, 2, axis=1).astype(np.float64))
    graph = cluster_graph(number_matrix(table, "indicators"), 4, rng)
    assert frozenset({0, 1}) in graph.reached()
    assert len(graph.reached()) <= 7 + 2


def stripes(rows: int = 400, seed: int = 0) -> Table:
    """Images of 4 x 4 binary pixels: the left or the right half is bright, and some noise."""
    rng = np.random.default_rng(seed)
    left = rng.random((rows, 1, 1)) < 0.5
    images = np.broadcast_to((np.arange(4) < 2) == left, (rows, 4, 4))
    values = (images ^ (rng.random((rows, 4, 4)) < 0.05)).reshape(rows, 16).astype(np.float64)
    return Table(with_grid(discrete_schema([2] * 16), (4, 4)), values)


@pytest.mark.parametrize("learner", [RegionGridLearner(), RegionGridLearner(side=2), DennisVenturaLearner()])
def test_images_are_learned(learner: RegionGridLearner | DennisVenturaLearner) -> None:
    graph = learner.learn(stripes(), np.random.default_rng(0))
    assert is_smooth(graph)
    assert is_decomposable(graph)
    noise = -16 * (0.05 * np.log(0.05) + 0.95 * np.log(0.95)) + np.log(2)
    assert log_values(graph, stripes(200, 1).values).mean() > -noise - 0.8


def test_fitting_never_makes_the_rows_less_likely() -> None:
    table = stripes()
    begin, end = (
        log_values(
            RegionGridLearner(iterations=n, smoothing=0.0, weight_smoothing=0.0).learn(
                table, np.random.default_rng(0)
            ),
            table.values,
        ).mean()
        for n in (0, 10)
    )
    assert end >= begin - 1e-6
