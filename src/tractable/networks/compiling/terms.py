"""The terminals of diagrams: products of a number and a node of the circuit, or numbers alone."""

from dataclasses import dataclass

import numpy as np

from tractable.base.arrays import Bools, Floats, Int32s, Ints
from tractable.networks.compiling.lines import group_lines

NO_NODE = -1  # of a term that is a number alone


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Products of a number and a circuit node; a zero term has no node."""

    node: Int32s  # (terms,)
    log_number: Floats  # (terms,)

    @property
    def is_zero(self) -> Bools:
        """Which terms are zero. Shape (terms,)."""
        return np.isneginf(self.log_number)

    def take(self, index: Int32s | Ints) -> "Terms":
        """A selection of the terms."""
        return Terms(self.node[index], self.log_number[index])


def numbers(log_numbers: Floats) -> Terms:
    """Terms without nodes."""
    return Terms(np.full(log_numbers.shape, NO_NODE, dtype=np.int32), log_numbers)


def distinct_terms(terms: Terms) -> tuple[Terms, Int32s]:
    """The distinct terms, and the index of each term among them."""
    lines = np.empty((terms.node.size, 3), dtype=np.int32)
    lines[:, 0] = terms.node
    lines[:, 1:] = (terms.log_number + 0.0).view(np.int32).reshape(-1, 2)  # -0.0 becomes 0.0
    first, number = group_lines(lines)
    return terms.take(first), number


def distinct_numbers(log_values: Floats) -> tuple[Terms, Int32s]:
    """The distinct numbers of a table as terms, and the index of each entry, in the table's shape."""
    values, index = np.unique(log_values, return_inverse=True)
    return numbers(values), index.reshape(log_values.shape).astype(np.int32)
