"""The package's own format (`.tract`): a safetensors file, so that loading never runs code.

The arrays of the graph are its tensors. Its metadata has two entries: `circuit`, a JSON text with the schema,
the families of the leaves and what is known about the circuit; and `digest`, a checksum of that text and of
every tensor. Everything is checked on the way in; the checksum comes last, so that a fault that has a name is
reported by name. What the tensors are is described in `circuit/codec.py`.
"""

import json
from hashlib import blake2b
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save

from tractable.base.named_arrays import NamedArrays, below
from tractable.circuit.check import check_magnitudes
from tractable.circuit.codec import decode_graph, encode_graph
from tractable.circuit.facts import NETWORK, attach
from tractable.circuit.graph import Graph
from tractable.formats.atomic import write_bytes
from tractable.formats.document import Document, check_circuit
from tractable.formats.header import VERSION, package_version, plain_schema, read_header, to_json

# ---- namedArrays and a header in one safetensors file, with a checksum of both --------------------------


def in_order(data: bytes, metadata: dict[str, str]) -> bytes:
    """The file with sorted metadata, which the safetensors library writes in varying order.

    A safetensors file begins with the size of its header as eight bytes. The header is JSON, and spaces make
    its size a multiple of eight.
    """
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size]) | {"__metadata__": metadata}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data[8 + size :]


def digest(header: str, tensors: NamedArrays) -> str:
    """A checksum of the header and of every tensor."""
    checksum = blake2b(header.encode("utf-8"), digest_size=16)
    for name in sorted(tensors):
        array = tensors[name]
        checksum.update(f"{name} {array.dtype.str} {array.shape}".encode())
        checksum.update(array.data)
    return checksum.hexdigest()


def open_tensors(path: Path) -> tuple[NamedArrays, dict[str, str]]:
    """The tensors and the metadata of a safetensors file."""
    with path.open("rb"):
        pass  # a file that cannot be opened is the system's error, not a damaged file
    try:
        with safe_open(path, framework="np") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except Exception as error:  # the library reports damage by many types of exception
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"the file is damaged or cut short ({reason})") from None


def write_tract(document: Document, path: Path) -> None:
    """Save a circuit with everything that is known about it."""
    check_magnitudes(document.graph)  # what is written can be read
    graph = document.graph
    facts, arrays = encode_graph(graph)
    arrays |= source_tensors(graph)
    tensors: NamedArrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    header = to_json(
        {
            "format": "tractable circuit",
            "version": VERSION,
            "package": package_version(),
            "schema": plain_schema(document.graph.schema),
            **facts,
            "about": document.about,
        }
    )
    metadata = {"circuit": header, "digest": digest(header, tensors)}
    write_bytes(path, in_order(save(tensors, metadata=metadata), metadata))


def read_tract(path: Path) -> Document:
    """The circuit of a .tract file.

    Raises:
        ValueError: naming what is wrong with it.
    """
    tensors, metadata = open_tensors(path)
    schema, about, entries = read_header(metadata.get("circuit", "{}"))
    graph = decode_graph(entries, without_source(tensors), schema)
    check_circuit(graph)
    attach_source(graph, tensors)
    if metadata.get("digest") != digest(metadata["circuit"], tensors):
        raise ValueError("the file is damaged: its contents do not match its checksum")
    return Document(graph, about)


# ---- The Bayesian network that a circuit was compiled from, beside it in a file: for quick single
#      questions.
#
# Its tables are stored end to end, in the order of the columns that they are distributions of.
# `source.start` says where the scope of each begins in `source.scope`; `source.log_value` has the
# logarithms of probabilities. `source.order` is the order in which the columns were summed out.


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
