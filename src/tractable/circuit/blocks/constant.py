"""Constant leaves, which are the parameters of an arithmetic circuit."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import ClassVar, Self

import numpy as np

from tractable.base.arrays import AnyArray, Floats, Ints
from tractable.circuit.blocks.block import Block, Layout, LeafNumbers, MissingCells, check_lines
from tractable.circuit.blocks.univariate import LEAF_LAYOUT
from tractable.data.evidence import Region
from tractable.data.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class ConstantBlock(Block):
    """Leaves with a constant value."""

    section: ClassVar[str] = "leaf"
    layout: ClassVar[Layout] = LEAF_LAYOUT
    per_leaf: ClassVar[tuple[str, ...]] = ("node", "log_value")
    name: ClassVar[str] = "constant"

    node: Ints  # (leaves,) the node that each leaf is, ascending
    log_value: Floats  # (leaves,)

    @property
    def key(self) -> Hashable:
        """A key that is equal for all constants, whose width in files is one."""
        return self.name, 1

    def first_column(self, schema: Schema) -> Ints:
        """No column."""
        return np.full(self.node.size, -1)

    def over(self, place: Ints) -> Self:
        """The block itself."""
        return self

    def check(self, schema: Schema) -> None:
        """Refuse values that are infinite or no numbers."""
        check_lines(self)
        if np.isnan(self.log_value).any() or (self.log_value == np.inf).any():
            raise ValueError("a constant leaf must have no column, and its log value must be finite or -inf")

    def describe(self, schema: Schema) -> list[str]:
        """The numbers."""
        return [f"{exp(min(log, 700)):.3g}" for log in self.log_value.tolist()]

    def write_log_values(self, rows: Floats, schema: Schema, missing: MissingCells, out: Floats) -> None:
        """Write the constants to every column."""
        out[:] = self.log_value[:, None]

    def observe(
        self, row: Floats, regions: Mapping[int, Region], schema: Schema, numbers: LeafNumbers
    ) -> Sequence[Block]:
        """The block, all of whose leaves are numbers."""
        numbers.log_value[self.node] = self.log_value
        numbers.known[self.node] = True
        return [self]

    @property
    def parameters(self) -> Floats:
        """The logarithms. Shape (leaves, 1)."""
        return self.log_value[:, None]

    def with_parameters(self, parameters: Floats) -> Self:
        """The block with other logarithms."""
        return replace(self, log_value=parameters[:, 0])

    @property
    def arrays(self) -> dict[str, AnyArray]:
        """The block as arrays, where the column of a constant is -1."""
        return {"node": self.node, "column": np.full(self.node.size, -1), "params": self.log_value[:, None]}
