"""The class of generalised circuits, with its queries and its files."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from tractable.base.arrays import Floats
from tractable.circuit import Graph
from tractable.circuit import generalised as queries
from tractable.circuit.generalised import GeneralisedGraph, Perceptron
from tractable.data import Schema
from tractable.formats.generalised import read_generalised, write_generalised
from tractable.model import Circuit, rows_table


class GeneralisedCircuit:
    """A conditional distribution as a graph of sums, products and non-linear operators.

    Targets that are below no operator, and over which sums are complete and products decomposable, are
    tractable: all of them are summed out in one pass. The states of the others are enumerated, which is
    refused if there are too many combinations; see `enumeration_size`.
    """

    def __init__(self, graph: GeneralisedGraph, about: Mapping[str, Any] | None = None) -> None:
        self.graph = graph
        self.about = dict(about or {})

    @classmethod
    def from_circuit(cls, circuit: Circuit | Graph) -> "GeneralisedCircuit":
        """The generalised form of a circuit of sums and products, with any networks below it unrolled.

        Raises:
            ValueError: if a leaf is over a numeric target.
        """
        graph = circuit.graph if isinstance(circuit, Circuit) else circuit
        return cls(queries.generalise(graph))

    @classmethod
    def from_sequential(cls, module: Any, schema: Schema) -> "GeneralisedCircuit":
        """The generalised circuit of a `torch.nn.Sequential` of linear layers and operators with one output.

        Numeric columns are inputs of the network, categorical columns are one-hot encoded.

        Raises:
            ValueError: if the network has other layers, or does not fit the columns.
        """
        states = tuple(schema.cardinalities.tolist())
        network = Perceptron(schema.names, states, queries.layers_of(module))
        return cls(queries.perceptron_graph(network, schema))

    @property
    def schema(self) -> Schema:
        """The columns, their kinds, states and roles."""
        return self.graph.schema

    @property
    def columns(self) -> tuple[Any, ...]:
        """The column labels: names, or the labels of any type in the training frame."""
        return self.schema.headings

    @property
    def tractable_targets(self) -> tuple[str, ...]:
        """The targets that one pass sums out."""
        return tuple(self.schema[c].name for c in queries.tractable_targets(self.graph).tolist())

    @property
    def intractable_targets(self) -> tuple[str, ...]:
        """The targets whose states must be enumerated."""
        return tuple(self.schema[c].name for c in queries.intractable_targets(self.graph).tolist())

    @property
    def enumeration_size(self) -> int:
        """The number of combinations of states that are enumerated to sum out all targets of a row."""
        return queries.enumeration_size(self.graph)

    def log_prob(self, rows: Any) -> Floats:
        """log P(targets | inputs) of each row; missing targets are summed out."""
        return queries.log_prob(self.graph, self._values(rows))

    def log_partition(self, rows: Any) -> Floats:
        """log Z of each row: the logarithm of the sum over its missing targets."""
        return queries.log_partition(self.graph, self._values(rows))

    def marginals(self, rows: Any) -> dict[str, Floats]:
        """The posterior of every target, as arrays (rows, states)."""
        posteriors = queries.marginals(self.graph, self._values(rows))
        return {self.schema[c].name: posterior for c, posterior in posteriors.items()}

    def save(self, path: str | PathLike[str]) -> None:
        """Write the circuit to a `.gac` file."""
        write_generalised(self.graph, self.about, Path(path))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "GeneralisedCircuit":
        """The circuit in a `.gac` file. Loading never runs code and checks everything."""
        return cls(*read_generalised(Path(path)))

    def __repr__(self) -> str:
        size = f"{self.graph.nodes:,} nodes, {self.graph.edges:,} edges"
        return f"<GeneralisedCircuit over {len(self.schema)} columns, {size}>"

    def _values(self, rows: Any) -> Floats:
        return rows_table(rows, self.schema).values
