"""Networks as circuits: a network is compiled while it is read, a circuit is written as the network it is.

A circuit that was learned as a Markov network is written as its features; any other one as a single table
over all of its columns, if that is not too large.
"""

from math import prod
from pathlib import Path

import numpy as np

from tractable.circuit.features import FeatureTable
from tractable.circuit.graph import Graph
from tractable.formats.atomic import write_text
from tractable.formats.document import Document
from tractable.networks import READERS, WRITERS, FeatureFactor, Network, TableFactor, compile_network

LARGEST_TABLE = 1 << 20  # entries


def read_network(path: Path) -> Document:
    """The compiled circuit of a network file; the suffix says which format it is in.

    Raises:
        ValueError: naming the line that is wrong, or how large the circuit would be.
    """
    network = READERS[path.suffix.lower()](path)
    return Document(compile_network(network), {"network": network.kind})


def write_network(document: Document, path: Path) -> None:
    """Save a circuit as a Markov network; the suffix says in which format.

    Raises:
        ValueError: if a column is not categorical, or if the circuit has no features and many columns.
    """
    write_text(path, WRITERS[path.suffix.lower()](markov_network(document.graph)))


def markov_network(graph: Graph) -> Network:
    """The network of a circuit's features, or of its values as one table.

    Raises:
        ValueError: if a column is not categorical, or the table would be too large.
    """
    if graph.features is not None:
        return Network(graph.schema, tuple(_feature_factors(graph.features)), "markov")
    from tractable.engine import log_values

    network = Network(graph.schema, (), "markov")  # which refuses numbers by name
    shape = tuple(graph.schema.cardinalities.tolist())
    if prod(shape) > LARGEST_TABLE:
        raise ValueError(
            "the circuit was not learned as a Markov network: it has no features to write,"
            f" and one table of its values would have {prod(shape):.3g} entries"
        )
    rows = np.indices(shape).reshape(len(shape), -1).T.astype(np.float64)
    table = TableFactor(tuple(range(len(shape))), log_values(graph, rows).reshape(shape))
    return Network(network.schema, (table,), "markov")


def _feature_factors(features: FeatureTable) -> list[FeatureFactor]:
    start = features.start.tolist()
    return [
        FeatureFactor(
            tuple(features.column[start[i] : start[i + 1]].tolist()),
            tuple(features.state[start[i] : start[i + 1]].tolist()),
            tuple(features.equals[start[i] : start[i + 1]].tolist()),
            float(features.log_weight[i]),
        )
        for i in range(len(features))
    ]
