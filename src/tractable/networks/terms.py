"""The terminals of compilation: products of circuit nodes and numbers, each kept once.

A term is a sorted tuple of parts. A part from 0 up is a circuit node; a negative part -k-1 is the k-th
distinct number. Numbers become the weights of sums, so no constant leaves are made for them.
"""

from math import inf

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.circuit.builder import Builder

ZERO, ONE = 0, 1


class Terms:
    """A pool of terms by number; term 0 is nought and term 1 is the empty product."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._parts: list[tuple[int, ...]] = [(), ()]
        self._number: dict[tuple[int, ...], int] = {(): ONE}
        self._log_values: list[float] = []
        self._log_number: dict[float, int] = {}
        self._products: dict[tuple[int, ...], int] = {}

    def node(self, node: int) -> int:
        """The term that is one circuit node."""
        return self._term((node,))

    def numbers(self, log_values: Floats) -> Ints:
        """The terms of an array of logarithms, in its shape."""
        distinct, index = np.unique(log_values, return_inverse=True)
        terms = np.array([self._number_term(float(v)) for v in distinct], dtype=np.int64)
        return terms[index].reshape(log_values.shape)

    def times(self, left: Ints, right: Ints) -> Ints:
        """The products of pairs of terms. Shape (pairs,)."""
        parts = self._parts
        made = [
            ZERO if ZERO in (a, b) else self._term(tuple(sorted(parts[a] + parts[b])))
            for a, b in zip(left.tolist(), right.tolist(), strict=True)
        ]
        return np.array(made, dtype=np.int64)

    def summed_out(self, column: int, lines: Ints) -> Ints:
        """For each line, the sum over the states of `column` of its indicator times the line's term.

        `lines` is (nodes, states); the answer is (nodes,).
        """
        return np.array([self._sum(column, line) for line in lines.tolist()], dtype=np.int64)

    def circuit(self, term: int) -> int:
        """The circuit node of a whole term."""
        if term == ZERO:
            raise ValueError("every combination of states has probability zero")
        log_value, nodes = self._divided(term)
        node = self._product(nodes)
        return node if log_value == 0 else self.builder.sum([node], [log_value])

    def _sum(self, column: int, line: list[int]) -> int:
        children, log_weights = [], []
        for state, term in enumerate(line):
            if term != ZERO:
                log_weight, nodes = self._divided(term)
                children.append(self._product((self.builder.indicator(column, state), *nodes)))
                log_weights.append(log_weight)
        if not children:
            return ZERO
        return self.node(self.builder.sum(children, log_weights))

    def _product(self, nodes: tuple[int, ...]) -> int:
        key = tuple(sorted(nodes))
        if key not in self._products:
            self._products[key] = self.builder.product(key)
        return self._products[key]

    def _divided(self, term: int) -> tuple[float, tuple[int, ...]]:
        """A term's number, as a logarithm, and its circuit nodes."""
        parts = self._parts[term]
        log_value = sum((self._log_values[-part - 1] for part in parts if part < 0), 0.0)
        return log_value, tuple(part for part in parts if part >= 0)

    def _number_term(self, log_value: float) -> int:
        if log_value == -inf:
            return ZERO
        if log_value == 0:
            return ONE
        if log_value not in self._log_number:
            self._log_number[log_value] = len(self._log_values)
            self._log_values.append(log_value)
        return self._term((-self._log_number[log_value] - 1,))

    def _term(self, parts: tuple[int, ...]) -> int:
        number = self._number.get(parts)
        if number is None:
            number = self._number[parts] = len(self._parts)
            self._parts.append(parts)
        return number
