"""Leaves that are factors of one cell each: potentials, and intervals of inputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit.blocks.block import Block, LeafNumbers, MissingCells
from tractable.circuit.blocks.univariate import ColumnBlock
from tractable.circuit.leaves.factor import Factor, Potential
from tractable.data.evidence import Region
from tractable.data.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class FactorBlock(ColumnBlock):
    """Factors of one kind over one cell each, which are not distributions and have nothing to fit."""

    family: Factor
    node: Ints  # (leaves,) the node that each leaf is, ascending
    column: Ints  # (leaves,) the column that it reads
    params: Floats  # (leaves, width)

    @property
    def is_potential(self) -> bool:
        """Whether the factors arrive with each row."""
        return isinstance(self.family, Potential)

    @property
    def reads(self) -> Ints:
        """The columns of the leaves."""
        return np.unique(self.column)

    def write_log_values(self, rows: Floats, schema: Schema, missing: MissingCells, out: Floats) -> None:
        """Write the factors of the cells: that of the region of a missing one, or one."""
        x = rows.T[self.column]
        seen = ~np.isnan(x)
        out[:] = np.where(seen, self.family.log_value(self.params, np.where(seen, x, 0.0)), 0.0)
        for column, region in missing.regions.items():
            here = np.flatnonzero(self.column == column)
            if here.size:
                beside = self.family.log_mass(self.params[here], region)[:, None]
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
