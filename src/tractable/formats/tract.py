"""The package's own format (`.tract`): a safetensors file, so that loading never runs code.

The arrays of the graph are its tensors. Its metadata has two entries: `circuit`, a JSON text with the schema,
the families of the leaves and what is known about the circuit; and `digest`, a checksum of that text and of
every tensor. Everything is checked on the way in; the checksum comes last, so that a fault that has a name is
reported by name. What the tensors are is described in `circuit/codec.py`.
"""

from pathlib import Path

import numpy as np
from safetensors.numpy import save

from tractable.base.named_arrays import NamedArrays
from tractable.circuit.check import check_magnitudes
from tractable.circuit.codec import decode_graph, encode_graph
from tractable.formats.atomic import write_bytes
from tractable.formats.check import check_circuit
from tractable.formats.document import Document
from tractable.formats.header import VERSION, package_version, plain_schema, read_header, to_json
from tractable.formats.sealed import digest, in_order, open_tensors
from tractable.formats.source_network import attach_source, source_tensors, without_source


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
