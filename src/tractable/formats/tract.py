"""The package's own format (`.tract`): a safetensors file, so that loading never runs code.

The arrays of the graph are its tensors. Its metadata has two entries: `circuit`, a JSON text with the schema,
the families of the leaves and what is known about the circuit; and `digest`, a checksum of that text and of
every tensor. Everything is checked on the way in; the checksum comes last, so that a fault that has a name is
reported by name. What the tensors are is described in `circuit/codec.py`.
"""

import json
from hashlib import blake2b
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save

from tractable.base.named_arrays import NamedArrays
from tractable.circuit.check import check_magnitudes
from tractable.circuit.codec import decode_graph, encode_graph
from tractable.formats.atomic import write_bytes
from tractable.formats.document import Document, check_circuit
from tractable.formats.header import VERSION, package_version, plain_schema, read_header, to_json
from tractable.formats.source_network import attach_source, source_tensors, without_source

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
