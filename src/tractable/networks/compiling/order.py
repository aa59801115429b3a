"""The order in which columns are summed out, and what that will cost.

Neighbourhoods are whole numbers used as bit sets, which keeps sparse and dense networks quick alike.
"""

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush

from tractable.base.progress import Watch

# ---- a bound on the work of compilation, which refuses networks that would be too large -----------------


class TooLargeError(ValueError):
    """The error that compiling a network exceeds its limit."""


class CompileLimit:
    """Counts the entries that diagrams take, and refuses to go past a limit or a time budget."""

    def __init__(self, limit: int | None, watch: Watch | None = None) -> None:
        self.limit = limit
        self.watch = watch or Watch()
        self.spent = 0

    def spend(self, entries: int) -> None:
        """Count some more entries.

        Raises:
            TooLargeError: when they are more than the limit allows, or time is over.
            Stopped: if the work should stop for another reason.
        """
        self.spent += entries
        if self.limit is not None and self.spent > self.limit:
            raise TooLargeError(
                f"compiling the network takes at least {self.spent:,} entries,"
                f" more than the limit of {self.limit:,}"
            )
        if self.watch.out_of_time():
            raise TooLargeError(
                f"compiling the network is not done within its time budget, after {self.spent:,} entries"
            )
        self.watch.break_off()


def follow_order(
    columns: int, scopes: Iterable[tuple[int, ...]], order: Iterable[int]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Columns in a given order of elimination, each with the columns that it is linked to by then."""
    near = _neighbours(columns, scopes)
    for column in order:
        around = tuple(_bits(near[column]))
        yield column, around
        _eliminate(near, column, around)


def peel_simplicial(columns: int, scopes: Iterable[tuple[int, ...]]) -> tuple[list[int], dict[int, int]]:
    """Columns that can be eliminated in turn without a new link, and the neighbours of each other column.

    Some best order begins with the former. Neighbours are bit sets.
    """
    near = _neighbours(columns, scopes)
    left, peeled, queue = set(range(columns)), [], list(range(columns))
    while queue:
        column = queue.pop()
        if column in left and _missing_links(near, column) == 0:
            left.remove(column)
            peeled.append(column)
            queue.extend(_eliminate(near, column, tuple(_bits(near[column]))))
    return peeled, {column: near[column] for column in left}


def min_fill_order(columns: int, scopes: Iterable[tuple[int, ...]]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Columns in the order of elimination, each with the columns that it is linked to by then.

    Greedy: always the column whose elimination links the fewest pairs that were not linked before; of
    equals, the one with fewest neighbours, then the lowest.
    """
    near = _neighbours(columns, scopes)
    fill = [_missing_links(near, c) for c in range(columns)]
    queue = [(fill[c], near[c].bit_count(), c) for c in range(columns)]
    heapify(queue)
    gone = [False] * columns
    while queue:
        cost, size, column = heappop(queue)
        if gone[column] or cost != fill[column] or size != near[column].bit_count():
            continue
        gone[column] = True
        around = tuple(_bits(near[column]))
        yield column, around
        for other in _eliminate(near, column, around):
            fill[other] = _missing_links(near, other)
            heappush(queue, (fill[other], near[other].bit_count(), other))


def _neighbours(columns: int, scopes: Iterable[tuple[int, ...]]) -> list[int]:
    near = [0] * columns
    for scope in scopes:
        mask = sum(1 << c for c in set(scope))
        for column in scope:
            near[column] |= mask & ~(1 << column)
    return near


def _missing_links(near: list[int], column: int) -> int:
    """Twice the number of pairs of neighbours that are not linked to each other."""
    around = near[column]
    return sum((around & ~near[other]).bit_count() - 1 for other in _bits(around))


def _eliminate(near: list[int], column: int, around: tuple[int, ...]) -> list[int]:
    """Link the neighbours of `column` to each other; the columns whose cost may have changed come back."""
    mask, here = near[column], 1 << column
    touched = mask
    for other in around:
        new = mask & ~near[other] & ~(1 << other)
        if new:
            touched |= near[other]
        near[other] = (near[other] | mask) & ~here & ~(1 << other)
    return list(_bits(touched & ~here))


def _bits(mask: int) -> Iterator[int]:
    """The positions of the ones, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
