"""The region graph of a grid: rectangles, each divided into two by a straight cut.

Poon and Domingos, «Sum-Product Networks: A New Deep Architecture», UAI 2011.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Ints
from tractable.data import Grid
from tractable.learning.joint.region_graph.regions import Region, RegionGraph


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
