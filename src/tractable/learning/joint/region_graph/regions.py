"""Region graphs: sets of columns, and the ways in which each is divided into two.

The smallest regions are patches: columns that are not divided further. A region is named by its patches, so
that regions with the same columns are one region, however they are reached.

The region graph of Dennis and Ventura, «Learning the Architecture of Sum-Product Networks Using Clustering on
Variables», NIPS 2012, comes from clusters: rows are clustered once, and columns within each cluster again
and again. That of Poon and Domingos, «Sum-Product Networks: A New Deep Architecture», UAI 2011, has the
rectangles of a grid, each divided into two by a straight cut.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.data import Grid
from tractable.learning.statistics.clustering import k_means
from tractable.learning.statistics.number_matrix import NumberMatrix, standardised

Region: TypeAlias = frozenset[int]  # the numbers of its patches


class Partition(NamedTuple):
    """Two regions that make up a third."""

    first: Region
    second: Region


@dataclass(slots=True)
class RegionGraph:
    """The regions below a root that has all patches, and the partitions of each."""

    patches: list[Ints]  # the columns of each patch, ascending
    partitions: dict[Region, list[Partition]] = field(default_factory=dict)  # none for a single patch

    @property
    def root(self) -> Region:
        """The region of all columns."""
        return frozenset(range(len(self.patches)))

    def divide(self, region: Region, first: Region) -> None:
        """Add a partition of a region, unless it has it already."""
        partitions = self.partitions.setdefault(region, [])
        partition = Partition(first, region - first)
        if partition not in partitions and Partition(region - first, first) not in partitions:
            partitions.append(partition)

    def reached(self) -> list[Region]:
        """All regions below the root, smaller ones first, in an order that is always the same."""
        reached, waiting = {self.root}, [self.root]
        while waiting:
            for partition in self.partitions.get(waiting.pop(), []):
                for part in partition:
                    if part not in reached:
                        reached.add(part)
                        waiting.append(part)
        return sorted(reached, key=lambda region: (len(region), sorted(region)))


RESTARTS = 2


def cluster_graph(matrix: NumberMatrix, clusters: int, rng: np.random.Generator) -> RegionGraph:
    """A region for each set of columns that some cluster of rows keeps together; each column is a patch."""
    graph = RegionGraph([np.array([c]) for c in range(matrix.columns)])
    x = standardised(matrix)
    label = k_means(x, matrix.weights, clusters, rng, restarts=RESTARTS)
    points = x[:, _typical_numbers(matrix)].T * np.sqrt(matrix.weights)
    for cluster in np.unique(label).tolist():
        _divide_columns(graph, points[:, label == cluster], rng)
    return graph


def _typical_numbers(matrix: NumberMatrix) -> Ints:
    """The number that stands for each column: itself, or the indicator of its most frequent state."""
    total = matrix.weights @ matrix.values
    order = np.lexsort((-total, matrix.owner))
    return order[np.searchsorted(matrix.owner, np.arange(matrix.columns))]


def _divide_columns(graph: RegionGraph, points: Floats, rng: np.random.Generator) -> None:
    """Add the regions that two-means finds among the columns, (columns, rows)."""
    waiting = [graph.root] if len(graph.patches) > 1 else []
    while waiting:
        region = waiting.pop()
        first = _half(points, region, rng)
        graph.divide(region, first)
        waiting.extend(part for part in (first, region - first) if len(part) > 1)


def _half(points: Floats, region: Region, rng: np.random.Generator) -> Region:
    """One of two clusters of columns."""
    columns = np.array(sorted(region))
    label = k_means(points[columns], np.ones(columns.size), 2, rng, restarts=RESTARTS)
    if label.all() or not label.any():  # all alike: any half is as good as another
        label = np.arange(columns.size) % 2
    return frozenset(columns[label == 0].tolist())


class _Rectangle(NamedTuple):
    top: int
    bottom: int  # the first row below it
    left: int
    right: int

    @property
    def halves(self) -> "list[tuple[_Rectangle, _Rectangle]]":
        """All ways to divide it by a straight cut."""
        across = [
            (self._replace(bottom=cut), self._replace(top=cut)) for cut in range(self.top + 1, self.bottom)
        ]
        down = [
            (self._replace(right=cut), self._replace(left=cut)) for cut in range(self.left + 1, self.right)
        ]
        return across + down


def rectangle_graph(grid: Grid, others: Ints, side: int, cuts: int) -> RegionGraph:
    """The rectangles of a grid of patches, and columns that are in no grid as one more patch each.

    Patches are squares of cells, so large that there are at most `side` of them in each direction. A
    rectangle has at most `cuts` partitions in each direction, as near to the middle as there are.
    """
    patches, number = _patches(grid, side)
    graph = RegionGraph(patches)
    whole = _Rectangle(0, number.shape[0], 0, number.shape[1])
    waiting, known = [whole], {whole}
    while waiting:
        rectangle = waiting.pop()
        for first, second in _central(rectangle, cuts):
            inside = _region(number, rectangle)
            part = _region(number, first)
            if part and part != inside:
                graph.divide(inside, part)
            for smaller in (first, second):
                if smaller not in known:
                    known.add(smaller)
                    waiting.append(smaller)
    rest = frozenset(range(len(patches)))
    for column in others.tolist():
        patches.append(np.array([column]))
        if rest:
            graph.divide(rest | {len(patches) - 1}, rest)
        rest = rest | {len(patches) - 1}
    return graph


def _central(rectangle: _Rectangle, cuts: int) -> list[tuple[_Rectangle, _Rectangle]]:
    """The partitions nearest to the middle, in each direction."""
    height = rectangle.bottom - rectangle.top
    across, down = rectangle.halves[: height - 1], rectangle.halves[height - 1 :]
    return _middle(across, cuts) + _middle(down, cuts)


def _middle(halves: list[tuple[_Rectangle, _Rectangle]], count: int) -> list[tuple[_Rectangle, _Rectangle]]:
    first = (len(halves) - count + 1) // 2
    return halves[max(first, 0) : max(first, 0) + count]


def _patches(grid: Grid, side: int) -> tuple[list[Ints], Ints]:
    """The columns of each patch that has some, and the numbers of patches as a smaller grid, -1 if empty."""
    size = -(-max(grid.columns.shape) // side)
    height, width = (-(-n // size) for n in grid.columns.shape)
    number = np.full((height, width), -1, dtype=np.int64)
    patches: list[Ints] = []
    for row, column in np.ndindex(height, width):
        cells = grid.columns[row * size : (row + 1) * size, column * size : (column + 1) * size]
        inside = np.sort(cells[cells >= 0])
        if inside.size:
            number[row, column] = len(patches)
            patches.append(inside)
    return patches, number


def _region(number: Ints, rectangle: _Rectangle) -> Region:
    """The patches within a rectangle."""
    inside = number[rectangle.top : rectangle.bottom, rectangle.left : rectangle.right]
    return frozenset(inside[inside >= 0].tolist())
