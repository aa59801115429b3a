"""Generalised circuits as files (`.gac`): safetensors, so that loading never runs code."""

from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from tractable.base.named_arrays import NamedArrays
from tractable.circuit.generalised.graph import GeneralisedGraph
from tractable.formats.atomic import replacing, write_bytes
from tractable.formats.header import VERSION, Header, package_version, plain_schema, read_header, to_json
from tractable.formats.same import differs, reading_back, require_same_arrays, require_same_schema
from tractable.formats.tract import digest, in_order, open_tensors

SUFFIX = ".gac"
FORMAT = "tractable generalised circuit"
_ARRAYS = {
    "kind": np.uint8,
    "start": np.int64,
    "child": np.int64,
    "column": np.int64,
    "code": np.int64,
    "value": np.float64,
}


def write_generalised(graph: GeneralisedGraph, about: dict[str, Any], path: Path) -> None:
    """Save a generalised circuit; a file that is already there stays as it was until the new one is whole."""
    _check_suffix(path)
    tensors = {name: np.ascontiguousarray(getattr(graph, name)) for name in _ARRAYS}
    header = to_json(
        {
            "format": FORMAT,
            "version": VERSION,
            "package": package_version(),
            "schema": plain_schema(graph.schema),
            "about": about,
        }
    )
    metadata = {"circuit": header, "digest": digest(header, tensors)}
    try:
        with replacing(path) as place:
            write_bytes(place, in_order(save(tensors, metadata=metadata), metadata))
            with reading_back():
                _compare(graph, about, place)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _compare(graph: GeneralisedGraph, about: dict[str, Any], path: Path) -> None:
    """Refuse a file that does not hold a circuit and what is known about it."""
    back, facts = _read(path)
    require_same_schema(graph.schema, back.schema)
    require_same_arrays(graph, back, tuple(_ARRAYS))
    if to_json(about) != to_json(facts):
        raise ValueError(differs("about"))


def read_generalised(path: Path) -> tuple[GeneralisedGraph, dict[str, Any]]:
    """The generalised circuit of a file, and what is known about it.

    Raises:
        ValueError: naming the file and what is wrong with it.
    """
    _check_suffix(path)
    try:
        return _read(path)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _read(path: Path) -> tuple[GeneralisedGraph, dict[str, Any]]:
    tensors, metadata = open_tensors(path)
    header = read_header(metadata.get("circuit", "{}"), FORMAT)
    graph = _graph(header, tensors)
    if metadata.get("digest") != digest(metadata["circuit"], tensors):
        raise ValueError("the file is damaged: its contents do not match its checksum")
    return graph, header.about


def _graph(header: Header, tensors: NamedArrays) -> GeneralisedGraph:
    if set(tensors) != set(_ARRAYS):
        raise ValueError("the arrays are not those of a generalised circuit")
    for name, dtype in _ARRAYS.items():
        if tensors[name].dtype != dtype or tensors[name].ndim != 1:
            raise ValueError(f"the array '{name}' is not a one-dimensional array of {np.dtype(dtype)}")
    return GeneralisedGraph(header.schema, *(tensors[name] for name in _ARRAYS))


def _check_suffix(path: Path) -> None:
    if path.suffix.lower() != SUFFIX:
        raise ValueError(f"{path}: a generalised circuit is saved in a {SUFFIX} file")
