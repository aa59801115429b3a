"""The Bayesian network that a circuit was compiled from, beside it in a file: for quick single questions.

Its tables are stored end to end, in the order of the columns that they are distributions of. `source.start`
says where the scope of each begins in `source.scope`; `source.log_value` has the logarithms of probabilities.
`source.order` is the order in which the columns were summed out.
"""

from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from tractable.base.named_arrays import NamedArrays, below
from tractable.circuit.facts import NETWORK, attach
from tractable.circuit.graph import Graph

PREFIX = "source."
_DTYPES: dict[str, Any] = {"start": np.int64, "scope": np.int64, "log_value": np.float64, "order": np.int64}


def source_tensors(graph: Graph) -> NamedArrays:
    """The tables of the network by name, or nothing if there is no network that answers queries."""
    if NETWORK not in graph.facts:
        return {}
    from tractable.networks.answering import distributions

    tables = distributions(graph.facts[NETWORK].network)
    if tables is None:
        return {}
    arrays = (
        np.cumsum([0, *(len(table.columns) for table in tables)]).astype(np.int64),
        np.array([c for table in tables for c in table.columns], dtype=np.int64),
        np.concatenate([table.log_values.ravel() for table in tables]),
        graph.facts[NETWORK].order,
    )
    return {PREFIX + name: array for name, array in zip(_DTYPES, arrays, strict=True)}


def without_source(tensors: NamedArrays) -> NamedArrays:
    """The arrays that do not belong to the network."""
    return {name: array for name, array in tensors.items() if not name.startswith(PREFIX)}


def attach_source(graph: Graph, tensors: NamedArrays) -> None:
    """Keep the network of a file with the circuit, if the file has one.

    Raises:
        ValueError: naming what is wrong with it.
    """
    own = below(tensors, PREFIX)
    if not own:
        return
    from tractable.networks.network import Network, Source, TableFactor

    for name in sorted({*own} ^ {*_DTYPES}):
        here = "is missing" if name in _DTYPES else "does not belong here"
        raise ValueError(f"the array '{PREFIX}{name}' {here}")
    for name, array in own.items():
        if array.dtype != _DTYPES[name] or array.ndim != 1:
            raise ValueError(
                f"the array '{PREFIX}{name}' is not a one-dimensional array of {np.dtype(_DTYPES[name])}"
            )
    scopes, shapes = _scopes(graph, own)
    ends = np.cumsum([prod(shape) for shape in shapes])
    logs = np.split(own["log_value"], ends[:-1])
    factors = (TableFactor(s, log.reshape(shape)) for s, log, shape in zip(scopes, logs, shapes, strict=True))
    try:
        attach(graph, NETWORK, Source(Network(graph.schema, tuple(factors), "bayes"), own["order"]))
    except ValueError as fault:
        raise ValueError(f"the network beside the circuit: {fault}") from None


def _scopes(graph: Graph, own: NamedArrays) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """The columns of each table, and its shape."""
    start, scope, columns = own["start"], own["scope"], len(graph.schema)
    fine = (
        start.size == columns + 1 and start[0] == 0 and start[-1] == scope.size and (np.diff(start) > 0).all()
    )
    if not fine or (scope < 0).any() or (scope >= columns).any():
        raise ValueError("the scopes of the network beside the circuit are out of range")
    scopes = [tuple(scope[a:b].tolist()) for a, b in pairwise(start.tolist())]
    states = graph.schema.cardinalities.tolist()
    shapes = [tuple(states[c] for c in one) for one in scopes]
    if sum(map(prod, shapes)) != own["log_value"].size:
        raise ValueError(
            "the tables of the network beside the circuit do not have the sizes that their columns require"
        )
    return scopes, shapes
