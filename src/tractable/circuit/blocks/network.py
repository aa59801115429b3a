"""Leaves that are outputs of a network over several inputs."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from tractable.base.arrays import AnyArray, Floats, Ints
from tractable.circuit.blocks.block import Block, Layout, LeafNumbers, MissingCells, check_lines
from tractable.circuit.blocks.univariate import LEAF_LAYOUT
from tractable.data.evidence import Region
from tractable.data.schema import Schema


class Network(Protocol):
    """The interface of networks with positive outputs, such as a `Committee` of perceptrons."""

    kind: ClassVar[str]  # what it is called in messages

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that it reads."""

    @property
    def states(self) -> tuple[int, ...]:
        """The number of states of each column, zero for a numeric one."""

    @property
    def outputs(self) -> int:
        """How many numbers it gives."""

    @property
    def parameters(self) -> int:
        """The number of its parameters."""

    def log_outputs(self, cells: Floats) -> Floats:
        """The logarithms of the outputs for the cells of its columns. Shape (rows, outputs)."""

    def encode(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Plain facts and arrays from which files and checkpoints make it again.

        Raises:
            ValueError: if it cannot be written down.
        """


@dataclass(frozen=True, slots=True, eq=False)
class NetworkBlock(Block):
    """Outputs of one network, which are positive and are not distributions."""

    section: ClassVar[str] = "leaf"
    layout: ClassVar[Layout] = LEAF_LAYOUT
    per_leaf: ClassVar[tuple[str, ...]] = ("node", "output")
    name: ClassVar[str] = "network-output"

    network: Network
    columns: Ints  # (columns of the network,) where they are in the schema
    node: Ints  # (leaves,) the node that each leaf is, ascending
    output: Ints  # (leaves,) the output that it is

    @property
    def key(self) -> Hashable:
        """The network, and where it finds its columns."""
        return self.name, id(self.network), tuple(self.columns.tolist())

    @property
    def reads(self) -> Ints:
        """The inputs of the network."""
        return np.unique(self.columns)

    def first_column(self, schema: Schema) -> Ints:
        """The first column that the network reads."""
        return np.full(self.node.size, self.columns[0])

    def over(self, place: Ints) -> Self:
        """The block where column j is called `place[j]`."""
        return replace(self, columns=place[self.columns])

    def check(self, schema: Schema) -> None:
        """Refuse outputs that do not exist, and columns that are not suitable inputs."""
        check_lines(self)
        if ((self.output < 0) | (self.output >= self.network.outputs)).any():
            raise ValueError(f"{self.name} leaves: the network has {self.network.outputs} outputs")
        lines = zip(self.network.columns, self.network.states, self.columns.tolist(), strict=True)
        for name, states, column in lines:
            if not 0 <= column < len(schema) or schema[column].name != name:
                raise ValueError(
                    f"{self.name} leaves: the network reads column '{name}', which the circuit does not have"
                )
            if schema[column].role != "input" or schema[column].cardinality != states:
                raise ValueError(
                    f"{self.name} leaves: the network reads column '{name}' as an input of {states} states,"
                    " which it is not"
                )

    def describe(self, schema: Schema) -> list[str]:
        """The numbers of the outputs."""
        return [f"network output {output}" for output in self.output.tolist()]

    def write_log_values(self, rows: Floats, schema: Schema, missing: MissingCells, out: Floats) -> None:
        """Write the logarithms of the outputs; no input is ever missing."""
        out[:] = self.network.log_outputs(rows[:, self.columns]).T[self.output]

    def unsummable(self, schema: Schema) -> str | None:
        """That a column is read by the network."""
        return f"column '{self.network.columns[0]}' is read by a network"

    def observe(
        self, row: Floats, regions: Mapping[int, Region], schema: Schema, numbers: LeafNumbers
    ) -> Sequence[Block]:
        """The block, whose leaves become numbers if all inputs are known.

        Raises:
            ValueError: if some inputs are known and others are not.
        """
        lacking = np.isnan(row[self.columns])
        if not lacking.all():
            if lacking.any():
                name = self.network.columns[int(np.flatnonzero(lacking)[0])]
                raise ValueError(
                    f"column '{name}' has no value: either all inputs of a network or none of them must have"
                    " values"
                )
            numbers.log_value[self.node] = self.log_values(row[None], schema)[:, 0]
            numbers.known[self.node] = True
        return [self]

    @property
    def parameter_count(self) -> int:
        """The number of parameters of the network."""
        return self.network.parameters

    @property
    def arrays(self) -> dict[str, AnyArray]:
        """The block as arrays, where each leaf counts for the first column; the network is not included."""
        first = np.full(self.node.size, self.columns[0])
        return {"node": self.node, "column": first, "params": self.output[:, None].astype(np.float64)}


def network_block(network: Network, schema: Schema, node: Ints, output: Ints) -> NetworkBlock:
    """Outputs of a network that finds its columns in a schema by their names.

    Raises:
        ValueError: if it does not.
    """
    return NetworkBlock(network, np.array(schema.columns(network.columns), dtype=np.int64), node, output)
