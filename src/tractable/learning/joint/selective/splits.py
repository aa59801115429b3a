"""The best split of each product of a selective tree."""

from typing import NamedTuple, TypeVar

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.learning.joint.selective.kernels import HALF, SUM_EDGE, Factors, Scores, best_split
from tractable.learning.joint.selective.nodes import PRODUCT_EDGE, Decision, Marginal, Product, Sum
from tractable.learning.joint.selective.tree import SelectiveTree

Size = TypeVar("Size", int, Ints)


class Split(NamedTuple):
    """A split: the arguments of `SelectiveTree.split`, what the score would gain, and the edges to add."""

    product: Product
    first: Sum
    second: Sum
    column: int
    state: int
    score: float
    edges: int


class Ties(NamedTuple):
    """Which of several splits with the same score is made."""

    preference: Floats  # (slots,)
    promise: float  # how much the gain of all factors of a product counts beside the preference


class Price(NamedTuple):
    """What size costs."""

    penalty: float  # nats for each unit of inference cost
    least: float  # what a change must gain: less may be rounding error
    edges: float  # that a change may add, at most
    ties: Ties


def cost_and_edges(size: Size) -> tuple[Size, Size]:
    """The inference cost of a packed size, and the number of edges; of one or of many."""
    sums = (size + HALF) >> 32
    products = size - (sums << 32)
    return 2 * sums + products, sums + products


class Splits:
    """The splits of one product."""

    def __init__(self, product: Product, tree: SelectiveTree) -> None:
        several = [child for child in product.children if child.line]
        single = [child for child in product.children if not child.line][:1]  # all of them are alike
        lines = np.array([child.line for child in several + single], dtype=np.int64)
        slots = np.concatenate([np.zeros(0, dtype=np.int64), *(child.slots for child in several)])
        counts = tree.forming.slot_counts(product.rows)
        self._product, self._tree = product, tree
        self._of_line = {child.line: child for child in several + single}
        self._several = several
        self._factors = Factors(
            lines,
            slots,
            np.repeat(lines[: len(several)], [child.slots.size for child in several]),
            np.zeros(slots.size, dtype=np.int64),
            np.append(counts[slots], counts[-1]),
            np.zeros(slots.size, dtype=np.int64),
        )

    def best(self, price: Price) -> tuple[Split | None, float]:
        """The split that gains most, if one gains at all, and the fewest edges of a better one."""
        factors, lines = self._factors, self._tree.forming.lines
        if factors.lines.size < 2:
            return None, np.inf
        self._find_corrections()
        self._find_overhead()
        answer = np.array([price.least, -1.0, -1.0, 0.0, np.inf])
        scores = Scores(lines.gain, lines.size, price.ties.preference)
        numbers = np.array([price.penalty, price.edges, price.ties.promise])
        best_split(scores, factors, numbers, answer)
        place, needed = int(answer[1]), float(answer[4])
        if place < 0:
            return None, needed
        slots, slot = self._tree.forming.slots, factors.slots[place]
        first, second = self._of_line[int(factors.line_of_slot[place])], self._of_line[int(answer[2])]
        column, state = int(slots.column[slot]), int(slots.state[slot])
        return Split(self._product, first, second, column, state, float(answer[0]), int(answer[3])), needed

    def _find_corrections(self) -> None:
        place, found = 0, self._factors.correction
        for child in self._several:
            own = child.own if isinstance(child, Marginal) else child.correction[child.slots]
            found[place : place + own.size] = own
            place += own.size

    def _find_overhead(self) -> None:
        """The size that a split adds beside its copies: a decision between two products of two factors."""
        product, factors = self._product, self._factors
        alone = len(product.children) == 2  # then the decision replaces the product
        factors.overhead[:] = 2 * SUM_EDGE + (2 if alone else 3) * PRODUCT_EDGE
        if alone and isinstance(product.parent, Decision):
            same = self._tree.forming.slots.column[factors.slots] == product.parent.column
            factors.overhead[same] -= SUM_EDGE  # the decision is joined to the one above
