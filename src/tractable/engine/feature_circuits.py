"""A network made of circuits: features of the inputs, and weighted sums of circuits over these features."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.late import special
from tractable.base.named_arrays import NamedArrays, require_array, require_names, split_below, with_prefix
from tractable.circuit.blocks import NetworkBlock
from tractable.circuit.check import check_magnitudes
from tractable.circuit.codec import decode_graph, encode_graph
from tractable.circuit.graph import Graph
from tractable.circuit.leaves.perceptron import Perceptron
from tractable.circuit.properties import explain_decomposable, parameter_count
from tractable.data.schema import Schema, Variable
from tractable.engine.shared import log_values

CHUNK = 4096  # rows whose features are held at once


def feature_schema(features: int) -> Schema:
    """The columns of circuits over features: the numbers `z1`, `z2`, ..."""
    return Schema(tuple(Variable(f"z{i + 1}", "real") for i in range(features)))


@dataclass(frozen=True, eq=False)
class FeatureCircuits:
    """Each output is a weighted sum of the values of circuits over features of the inputs.

    With a circuit for each class, which is the density of the features of its rows, and the shares of the
    classes as weights, the outputs are the joint densities of features and class. All outputs of a row are
    divided by the largest value of a circuit there: only their ratios count in a conditional distribution.
    """

    kind: ClassVar[str] = "feature-circuits"

    perceptron: Perceptron  # the features, which may be negative
    graphs: tuple[Graph, ...]  # over `feature_schema`
    weights: Floats  # (outputs, circuits)

    def __post_init__(self) -> None:
        schema = feature_schema(self.perceptron.outputs)
        if any(graph.schema != schema for graph in self.graphs):
            raise ValueError("a circuit of a network is not over the features of the network")
        if any(graph.blocks_of(NetworkBlock) for graph in self.graphs):
            raise ValueError("a circuit of a network reads a network itself")
        if self.weights.ndim != 2 or self.weights.shape[1] != len(self.graphs):
            raise ValueError(f"weights of shape {self.weights.shape} do not fit {len(self.graphs)} circuits")
        if not (np.isfinite(self.weights).all() and (self.weights >= 0).all()):
            raise ValueError("a weight of a circuit of a network is negative or not finite")
        if not self.weights.any(axis=1).all():
            raise ValueError("an output of a network has no circuit")

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that it reads."""
        return self.perceptron.columns

    @property
    def states(self) -> tuple[int, ...]:
        """The number of states of each column, zero for a numeric one."""
        return self.perceptron.states

    @property
    def outputs(self) -> int:
        """How many numbers it gives."""
        return len(self.weights)

    @cached_property
    def parameters(self) -> int:
        """The number of parameters of the features, of the circuits, and of weights that are not zero."""
        inside = sum(parameter_count(graph) for graph in self.graphs)
        return self.perceptron.parameters + inside + int(np.count_nonzero(self.weights))

    def log_outputs(self, cells: Floats) -> Floats:
        """The logarithms of the outputs for the cells of its columns. Shape (rows, outputs)."""
        parts = [cells[first : first + CHUNK] for first in range(0, max(len(cells), 1), CHUNK)]
        features = [self.perceptron(part) for part in parts]
        far = [np.where(np.isnan(z), np.inf, z) for z in features]  # what is too large, not what is missing
        return np.concatenate([log_sums(self.graphs, self.weights, z) for z in far])

    def encode(self) -> tuple[dict[str, Any], NamedArrays]:
        """The network as plain values and arrays."""
        arrays = with_prefix("features.", self.perceptron.arrays) | {"weights": self.weights}
        circuits = []
        for number, graph in enumerate(self.graphs):
            plain, inside = encode_graph(graph)
            circuits.append(plain)
            arrays |= with_prefix(f"circuit.{number}.", inside)
        return self.perceptron.plain | {"circuits": circuits}, arrays

    @classmethod
    def decode(cls, plain: Mapping[str, Any], arrays: NamedArrays) -> Self:
        """The network that `encode` has described.

        Raises:
            ValueError: naming the array, or the node of a circuit, that is wrong.
        """
        circuits = plain["circuits"]
        names = [f"circuit.{number}." for number in range(len(circuits))]
        (layers, *inside), rest = split_below(arrays, ["features.", *names])
        require_names(rest, {"weights"})
        perceptron = Perceptron.decode(plain, layers)
        schema = feature_schema(perceptron.outputs)
        graphs = tuple(decode_graph(facts, own, schema) for facts, own in zip(circuits, inside, strict=True))
        for graph in graphs:
            check_magnitudes(graph)
            fault = explain_decomposable(graph)
            if fault is not None:
                raise ValueError(fault)
        return cls(perceptron, graphs, require_array(rest, "weights", np.float64, 2))


def log_sums(graphs: Sequence[Graph], weights: Floats, z: Floats) -> Floats:
    """The logarithms of weighted sums of circuits at rows of features, up to a number for each row.

    Densities may be far below the smallest double, and so far below that even their logarithms leave no
    digits for the weights: the largest of a row counts as one. Where features are so far away that all
    densities are zero, all count as one. Shape (rows, sums).
    """
    logs = np.stack([log_values(graph, z) for graph in graphs], axis=1)
    logs = np.where(np.isnan(logs), -np.inf, logs)  # from squares that are no numbers
    top = logs.max(axis=1, keepdims=True)
    logs = np.where(np.isneginf(top), 0.0, logs - np.where(np.isneginf(top), 0.0, top))
    found = np.empty((len(z), len(weights)))
    for sum_, line in enumerate(weights):
        used = np.flatnonzero(line)
        found[:, sum_] = special.logsumexp(logs[:, used] + np.log(line[used]), axis=1)
    return found
