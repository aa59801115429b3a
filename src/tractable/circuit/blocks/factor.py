"""Leaves that are factors of one cell each: potentials, and intervals of inputs."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit.blocks.block import Block, Layout, LeafNumbers, MissingCells, check_lines
from tractable.circuit.blocks.univariate import LEAF_LAYOUT, by_column, check_columns
from tractable.circuit.leaves.factor import Factor, Potential
from tractable.data.regions import Region
from tractable.data.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class FactorBlock(Block):
    """All factors of one kind, each of one cell. They are no distributions, and data do not change them."""

    section: ClassVar[str] = "leaf"
    layout: ClassVar[Layout] = LEAF_LAYOUT
    per_leaf: ClassVar[tuple[str, ...]] = ("node", "column", "params")

    factor: Factor
    node: Ints  # (leaves,) the node that each leaf is, ascending
    column: Ints  # (leaves,) the column that it reads
    params: Floats  # (leaves, width)

    @property
    def name(self) -> str:
        """The name of the kind of factor."""
        return self.factor.name

    @property
    def key(self) -> Hashable:
        """The kind of factor and the number of parameters of a leaf."""
        return self.factor.name, self.params.shape[1]

    @property
    def is_potential(self) -> bool:
        """Whether the factors arrive with each row."""
        return isinstance(self.factor, Potential)

    @property
    def reads(self) -> Ints:
        """The columns of the leaves."""
        return np.unique(self.column)

    def first_column(self, schema: Schema) -> Ints:
        """The column of each leaf."""
        return self.column

    def over(self, place: Ints) -> Self:
        """The block where column j is called `place[j]`."""
        return replace(self, column=place[self.column])

    def check(self, schema: Schema) -> None:
        """Refuse factors of columns of another kind, and wrong parameters."""
        check_lines(self)
        check_columns(self, schema)
        for column, here in by_column(self.column):
            variable = schema[column]
            if not self.factor.accepts(variable):
                raise ValueError(
                    f"leaf {int(self.node[here][0])}: a {self.name} leaf cannot stand over the"
                    f" {variable.kind} column '{variable.name}'"
                )
            fault = self.factor.check(self.params[here])
            if fault is not None:
                raise ValueError(f"{self.name} leaves over column '{variable.name}': {fault}")

    def describe(self, schema: Schema) -> list[str]:
        """Each leaf in the words of its kind."""
        lines = zip(self.column.tolist(), self.params.tolist(), strict=True)
        return [self.factor.describe(params, schema[column]) for column, params in lines]

    def write_log_values(self, rows: Floats, schema: Schema, missing: MissingCells, out: Floats) -> None:
        """Write the factors of the cells: that of the region of a missing one, or one."""
        x = rows.T[self.column]
        seen = ~np.isnan(x)
        out[:] = np.where(seen, self.factor.log_value(self.params, np.where(seen, x, 0.0)), 0.0)
        for column, region in missing.regions.items():
            here = np.flatnonzero(self.column == column)
            if here.size:
                beside = self.factor.log_mass(self.params[here], region)[:, None]
                out[here] = np.where(seen[here], out[here], beside)

    def unsummable(self, schema: Schema) -> str | None:
        """That a column holds potentials."""
        if not self.is_potential or not self.node.size:
            return None
        return f"column '{schema[int(self.column[0])].name}' holds potentials"

    def observe(
        self, row: Floats, regions: Mapping[int, Region], schema: Schema, numbers: LeafNumbers
    ) -> Sequence[Block]:
        """The block, of which factors of known cells became numbers."""
        cells = row[self.column]
        known = ~np.isnan(cells) | np.isin(self.column, list(regions))
        here = self.select(np.flatnonzero(known))
        numbers.log_value[here.node] = here.log_values(row[None], schema, MissingCells(regions))[:, 0]
        numbers.known[here.node] = True
        return [self]

    @property
    def parameters(self) -> Floats:
        """The parameters of all leaves."""
        return self.params

    def with_parameters(self, parameters: Floats) -> Self:
        """The block with other parameters."""
        return replace(self, params=parameters)
