"""Construction of generalised circuits."""

from collections.abc import Iterable, Sequence

import numpy as np

from tractable.circuit.generalised.graph import (
    INDICATOR,
    INPUT,
    OPERATOR,
    PARAMETER,
    PRODUCT,
    SUM,
    GeneralisedGraph,
)
from tractable.circuit.leaves.perceptron import OPERATORS
from tractable.data.schema import Schema


class GeneralisedBuilder:
    """Nodes in order of creation; each method returns the number of a node."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._kind: list[int] = []
        self._children: list[tuple[int, ...]] = []
        self._column: list[int] = []
        self._code: list[int] = []
        self._value: list[float] = []
        self._leaves: dict[tuple[int, int], int] = {}  # by column and state; -1 for a numeric input

    def parameter(self, value: float) -> int:
        """A number; every call makes a parameter of its own."""
        return self._add(PARAMETER, value=value)

    def indicator(self, column: int, state: int) -> int:
        """The indicator of a state of a categorical column, the same node each time."""
        if (column, state) not in self._leaves:
            self._leaves[column, state] = self._add(INDICATOR, column=column, code=state)
        return self._leaves[column, state]

    def input(self, column: int) -> int:
        """The value of a numeric input, the same node each time."""
        if (column, -1) not in self._leaves:
            self._leaves[column, -1] = self._add(INPUT, column=column)
        return self._leaves[column, -1]

    def sum(self, children: Iterable[int]) -> int:
        """A sum; one of a single node is that node."""
        return self._inner(SUM, tuple(children))

    def product(self, children: Iterable[int]) -> int:
        """A product; one of a single node is that node."""
        return self._inner(PRODUCT, tuple(children))

    def apply(self, operator: str, child: int) -> int:
        """A non-linear operator.

        Raises:
            ValueError: if there is no such operator.
        """
        if operator not in OPERATORS:
            raise ValueError(f"there is no operator '{operator}' (operators: {', '.join(OPERATORS)})")
        return self._add(OPERATOR, (child,), code=OPERATORS.index(operator))

    def affine(self, children: Sequence[int], weights: Sequence[float], bias: float) -> int:
        """A weighted sum of nodes and a constant, each weight a parameter of its own."""
        terms = [self.product([self.parameter(w), c]) for w, c in zip(weights, children, strict=True)]
        return self.sum([*terms, self.parameter(bias)])

    def freeze(self, root: int) -> GeneralisedGraph:
        """The circuit below a node; nodes that it does not need are left out."""
        needed, stack = {root}, [root]
        while stack:
            below = set(self._children[stack.pop()]) - needed
            needed |= below
            stack.extend(below)
        order = sorted(needed)
        place = {node: i for i, node in enumerate(order)}
        children = [[place[c] for c in self._children[node]] for node in order]
        return GeneralisedGraph(
            self.schema,
            np.array([self._kind[n] for n in order], dtype=np.uint8),
            np.concatenate([[0], np.cumsum([len(c) for c in children])]).astype(np.int64),
            np.array([c for below in children for c in below], dtype=np.int64),
            np.array([self._column[n] for n in order], dtype=np.int64),
            np.array([self._code[n] for n in order], dtype=np.int64),
            np.array([self._value[n] for n in order]),
        )

    def _inner(self, kind: int, children: tuple[int, ...]) -> int:
        if not children:
            raise ValueError("a sum or product must have at least one child")
        return children[0] if len(children) == 1 else self._add(kind, children)

    def _add(
        self,
        kind: int,
        children: tuple[int, ...] = (),
        *,
        column: int = -1,
        code: int = -1,
        value: float = 0.0,
    ) -> int:
        if any(not 0 <= child < len(self._kind) for child in children):
            raise ValueError(f"there is no node {max(children)}")
        self._kind.append(kind)
        self._children.append(children)
        self._column.append(column)
        self._code.append(code)
        self._value.append(float(value))
        return len(self._kind) - 1
