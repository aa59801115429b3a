"""The best split of each product of a selective tree."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.learners.selective.kernels import HALF, SUM_EDGE, best_split
from tractable.learners.selective.nodes import PRODUCT_EDGE, Decision, Product, Sum
from tractable.learners.selective.tree import SelectiveTree


class Split(NamedTuple):
    """A split: the arguments of `SelectiveTree.split`, what the score would gain, and the edges to add."""

    product: Product
    first: Sum
    second: Sum
    column: int
    state: int
    score: float
    edges: int


class Price(NamedTuple):
    """What size costs."""

    penalty: float  # nats for each unit of inference cost
    least: float  # what a change must gain: less may be rounding error
    edges: float  # that a change may add, at most


def cost_and_edges(size: int) -> tuple[int, int]:
    """The inference cost of a packed size, and the number of edges."""
    sums = (size + HALF) >> 32
    products = size - (sums << 32)
    return 2 * sums + products, sums + products


@dataclass(eq=False, slots=True)
class Factors:
    """The factors of a product that have more than one state, as arrays."""

    product: Product
    lines: Ints
    own: Ints  # (slots of the factors,) the line that each slot belongs to
    slots: Ints
    count: Floats  # (slots + 1,) the weight of the rows with each slot, and of all rows
    of_line: dict[int, Sum]

    def best(self, tree: SelectiveTree, price: Price) -> Split | None:
        """The split of the product that gains most, if one gains at all."""
        if self.lines.size < 2:
            return None
        scores, answer = tree.forming.lines, np.array([price.least, -1.0, -1.0, 0.0])
        best_split(
            scores.gain,
            scores.correction,
            scores.size,
            self.lines,
            self.slots,
            self.own,
            self.count,
            self._overhead(tree),
            np.array([price.penalty, price.edges]),
            answer,
        )
        place = int(answer[1])
        if place < 0:
            return None
        slots, slot = tree.forming.slots, self.slots[place]
        first, second = self.of_line[int(self.own[place])], self.of_line[int(answer[2])]
        column, state = int(slots.column[slot]), int(slots.state[slot])
        return Split(self.product, first, second, column, state, float(answer[0]), int(answer[3]))

    def _overhead(self, tree: SelectiveTree) -> Ints:
        """The size that a split adds beside its copies: a decision between two products of two factors."""
        alone = len(self.product.children) == 2  # then the decision replaces the product
        size = 2 * SUM_EDGE + (2 if alone else 3) * PRODUCT_EDGE
        answer = np.full(self.slots.size, size, dtype=np.int64)
        if alone and isinstance(self.product.parent, Decision):
            same = tree.forming.slots.column[self.slots] == self.product.parent.column
            answer[same] -= SUM_EDGE  # the decision is joined to the one above
        return answer


def factors_of(product: Product, tree: SelectiveTree) -> Factors:
    """The factors of a product."""
    several = [child for child in product.children if child.line]
    lines = np.array([child.line for child in several], dtype=np.int64)
    slots = np.concatenate([np.zeros(0, dtype=np.int64), *(child.slots for child in several)])
    own = np.repeat(lines, [child.slots.size for child in several])
    counts = tree.forming.slot_counts(product.rows)
    of_line = {child.line: child for child in several}
    return Factors(product, lines, own, slots, np.append(counts[slots], counts[-1]), of_line)
