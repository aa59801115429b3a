"""The nodes of a selective tree as flat arrays, and loops over them.

The size of a circuit is one integer: the edges below products, plus 2^32 for each edge below a sum. Sizes are
added and subtracted as they are, and `SUM_EDGE` takes them apart again.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import AnyArray, Bools, Floats, Ints
from tractable.base.compiled import inner, kernel, njit
from tractable.learning.joint.selective.rows import Cells, Codes

SUM_EDGE = 1 << 32
HALF = 1 << 31
CHUNK = 1 << 16

NODE = np.dtype(
    [
        ("column", np.int64),  # that a sum is about; -1 for a product
        ("parent", np.int64),  # -1 for the root
        ("edge", np.int64),  # the number of the edge from the parent
        ("nodes", np.int64),  # from this one down; one for a marginal
        ("first_edge", np.int64),  # those of the node are one after another
        ("edges", np.int64),  # none for a marginal over a single state, which is an indicator
        ("first_state", np.int64),  # as the edges
        ("states", np.int64),  # all states of the column of a sum; none for a product
        ("first_row", np.int64),  # of those that reach the node; the factors of a product share them
        ("rows", np.int64),  # training rows ...
        ("all_rows", np.int64),  # ... and with the validation rows behind them
        ("line", np.int64),  # of `gain`; zero for products and indicators
        ("total", np.int64),  # of `correction`, for decisions; zero until it is needed
        ("size", np.int64),  # packed, of everything from this node down
        ("log_likelihood", np.float64),  # of the training rows at maximum likelihood, from this node down
    ]
)


class Arrays(NamedTuple):
    """A tree over the columns of some cells."""

    nodes: AnyArray  # (nodes,) see `NODE`
    held_out: Floats  # (nodes, ways to smooth) the log-likelihood of the validation rows, from a node down
    child: Ints  # (edges,) the node below; marginals have none
    counts: Floats  # (edges,) of the training rows
    held: Floats  # (edges,) of the validation rows
    branch: Codes  # (states,) the number of the edge that a state belongs to; -1 if none
    prior: Floats  # (states, ways to smooth) what the weights of a sum are shrunk towards
    own: Ints  # (states,) a sum's part of its corrections, for each condition of its column; see `filling`
    row: Codes
    gain: (
        Floats  # (lines, conditions) by how much dividing the rows raises the log-likelihood; line 0 is zero
    )
    correction: Ints  # (lines, conditions) by how much two copies then differ from twice the size
    cells: Cells


def new_arrays(cells: Cells, ways: int) -> Arrays:
    """A tree without nodes."""
    conditions, some = cells.conditions.column.size, 64
    return Arrays(
        np.zeros(some, dtype=NODE),
        np.zeros((some, ways)),
        np.zeros(some, dtype=np.int64),
        np.zeros(some),
        np.zeros(some),
        np.zeros(some, dtype=np.int32),
        np.zeros((some, ways)),
        np.zeros(some, dtype=np.int64),
        np.zeros(some, dtype=np.int32),
        np.zeros((some, conditions)),
        np.zeros((some, conditions), dtype=np.int64),
        cells,
    )


class Numbers:
    """Numbers that are taken and returned, and arrays with an entry for each. Zero is never taken."""

    def __init__(self, *arrays: AnyArray) -> None:
        self._arrays, self.used = arrays, 1  # from here on, numbers were never taken
        self._free: list[Ints] = []

    def take(self, many: int) -> Ints:
        """Several numbers, whose entries hold anything."""
        taken: list[Ints] = []
        while many and self._free:
            free = self._free.pop()
            if free.size > many:
                self._free.append(free[many:])
            taken.append(free[:many])
            many -= taken[-1].size
        taken.append(np.arange(self.used, self.used + many))
        self.used += many
        enlarge(self._arrays, self.used)
        return np.concatenate(taken)

    def give_back(self, numbers: Ints) -> None:
        """Return numbers that are no longer needed."""
        if numbers.size:
            self._free.append(numbers)


class Ranges:
    """Arrays with ranges owned by nodes, which are compacted when ranges become free."""

    def __init__(self, nodes: AnyArray, first: str, many: str, *arrays: AnyArray) -> None:
        self._nodes, self._first, self._many, self._arrays = nodes, first, many, arrays
        self.used = 0

    def make_room(self, more: int) -> None:
        """Make sure that a number of entries is free."""
        if self.used + more > len(self._arrays[0]):
            self._close_up()
            enlarge(self._arrays, self.used + more + self.used // 4)

    def _close_up(self) -> None:
        """Move all ranges to the front. Several nodes may own the same one."""
        owners = np.flatnonzero(self._nodes[self._many])
        first, place = np.unique(self._nodes[self._first][owners], return_inverse=True)
        many = np.zeros(first.size, dtype=np.int64)
        many[place] = self._nodes[self._many][owners]
        source = indices(first, many)
        self._nodes[self._first][owners] = (np.cumsum(many) - many)[place]
        self.used = source.size
        for low in range(0, self.used, CHUNK):  # a piece at a time needs no second copy of everything
            piece = source[low : low + CHUNK]
            for array in self._arrays:
                array[low : low + piece.size] = array[piece]


def enlarge(arrays: tuple[AnyArray, ...], needed: int) -> None:
    """Let arrays be so long, and some more. They stay the same objects, and memory never holds two copies."""
    length = len(arrays[0])
    if needed > length:
        for array in arrays:
            array.resize((max(needed, length * 5 // 4), *array.shape[1:]), refcheck=False)


def indices(first: Ints, many: Ints) -> Ints:
    """All indices of some ranges, one range after the other."""
    before = np.cumsum(many) - many
    return np.repeat(first - before, many) + np.arange(int(many.sum()))


def cost_and_edges(size: int) -> tuple[int, int]:
    """The inference cost of a packed size, and the number of edges."""
    sums = (size + HALF) >> 32
    products = size - (sums << 32)
    return 2 * sums + products, sums + products


@njit(cache=True, nogil=True)
def list_nodes(tree: Arrays, top: int) -> Ints:
    """All nodes from one down, depth first: children in their order, each after its parent."""
    most = tree.nodes[top].nodes
    answer, waiting = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    waiting[0], height, listed = top, 1, 0
    while height > 0:
        height -= 1
        answer[listed] = waiting[height]
        node = tree.nodes[answer[listed]]
        listed += 1
        for e in range(node.edges if node.nodes > 1 else 0):
            waiting[height] = tree.child[node.first_edge + node.edges - 1 - e]
            height += 1
    return answer[:listed]


@kernel
def count_sums(tree: Arrays, listed: Ints, sign: int, sums: Ints) -> None:
    """Add the number of marginals and of decisions about each column, (2, columns), or subtract it."""
    for i in listed:
        node = tree.nodes[i]
        if node.column >= 0:
            sums[0 if node.nodes == 1 else 1, node.column] += sign


@njit(cache=True, nogil=True)
def mark_scope(tree: Arrays, top: int, columns: Bools) -> None:
    """Mark the columns that a node is about. All children of a decision are about the same ones."""
    waiting = np.empty(columns.size, dtype=np.int64)  # of separate scopes
    waiting[0], height = top, 1
    while height > 0:
        height -= 1
        node = tree.nodes[waiting[height]]
        if node.column >= 0:
            columns[node.column] = True
        if node.nodes > 1:
            for e in range(1 if node.column >= 0 else node.edges):
                waiting[height] = tree.child[node.first_edge + e]
                height += 1


@inner
def joined_size(tree: Arrays, parent: int, child: int) -> int:
    """The size saved when a child is merged with its new parent: products of products, equal decisions."""
    node = tree.nodes[child]
    if parent < 0 or tree.nodes[parent].column != node.column:
        return 0
    if node.column < 0:
        return 1
    return SUM_EDGE if node.nodes > 1 else 0
