"""Circuits and networks as files, whose formats are selected by suffix.

To add a format: a file with a function that reads a path, or one that writes a document to a path, or both,
and a line in the table below. A format is imported when a file of it is read or written.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from tractable.circuit.blocks import GateBlock, NetworkBlock
from tractable.circuit.check import check_graph
from tractable.formats.atomic import replacing, require_replaceable
from tractable.formats.document import Document
from tractable.formats.late import late
from tractable.formats.same import reading_back, require_same_answers, require_same_circuit

Compare: TypeAlias = Callable[[Document, Callable[[Path], Document], Path], None]


@dataclass(frozen=True, slots=True)
class Format:
    """The readers and writers of one suffix."""

    title: str
    read: Callable[[Path], Document] | None = None
    write: Callable[[Document, Path], None] | None = None
    compare: Compare = require_same_answers  # what is read from a new file with what was written
    check_place: Callable[[Path], None] = require_replaceable  # refuses what stands there and must stay
    holds_gates: bool = False  # regressions on inputs
    holds_networks: bool = False  # neural networks below the circuit


_read_network, _write_network = late("network_files", "read_network"), late("network_files", "write_network")
_compare_network = late("network_files", "require_same_network")

FORMATS: dict[str, Format] = {
    ".tract": Format(
        "the package's own",
        late("tract", "read_tract"),
        late("tract", "write_tract"),
        require_same_circuit,
        holds_gates=True,
        holds_networks=True,
    ),
    ".json": Format(
        "readable text",
        late("readable", "read_json"),
        late("readable", "write_json"),
        require_same_circuit,
        holds_gates=True,
    ),
    ".ac": Format("Libra's arithmetic circuits", late("ac", "read_ac"), late("ac", "write_ac")),
    ".spn": Format(
        "Libra's sum-product networks",
        late("spn", "read_spn"),
        late("spn", "write_spn"),
        check_place=late("spn", "require_own_folder"),
    ),
    ".bif": Format("Bayesian networks, Interchange Format", read=_read_network),
    ".uai": Format("networks of the UAI competitions", _read_network, _write_network, _compare_network),
    ".bn": Format("Libra's Bayesian networks", read=_read_network),
    ".mn": Format("Libra's Markov networks", _read_network, _write_network, _compare_network),
    ".dot": Format("Graphviz", write=late("pictures", "write_dot"), holds_gates=True, holds_networks=True),
    ".svg": Format("a picture", write=late("pictures", "write_svg"), holds_gates=True, holds_networks=True),
}


def read_circuit(path: str | PathLike[str]) -> Document:
    """The circuit in a file and its metadata.

    Raises:
        ValueError: naming the file and what is wrong with it.
        OSError: if the file cannot be opened.
    """
    where = Path(path)
    with _name_file_in_errors(where):
        read = _format(where).read
        if read is None:
            raise ValueError(
                f"a {where.suffix} file can be written but not read (readable: {_suffixes('read')})"
            )
        return read(where)


def write_circuit(document: Document, path: str | PathLike[str]) -> None:
    """Save a circuit; an existing file is replaced only when the new one is complete.

    The new file is read and compared with the circuit before it takes its place, unless it is a picture.

    Raises:
        ValueError: if the format cannot hold this circuit, or the new file does not.
        OSError: if the file cannot be written.
    """
    where = Path(path)
    with _name_file_in_errors(where):
        format = _format(where)
        write = format.write
        if write is None:
            raise ValueError(
                f"a {where.suffix} file can be read but not written (writable: {_suffixes('write')})"
            )
        if document.graph.blocks_of(GateBlock) and not format.holds_gates:
            raise ValueError(
                f"a {where.suffix} file cannot hold regressions on inputs: save the model as .tract, or"
                " condition it on a row of inputs first"
            )
        if document.graph.blocks_of(NetworkBlock) and not format.holds_networks:
            raise ValueError(f"a {where.suffix} file holds no neural networks: save the circuit as .tract")
        check_graph(document.graph)  # learning changes parameters without it
        with replacing(where, format.check_place) as place:
            write(document, place)
            if format.read is not None:
                with reading_back():
                    format.compare(document, format.read, place)


@contextmanager
def _name_file_in_errors(path: Path) -> Iterator[None]:
    """Prefix errors with the name of the file."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from None


def _format(path: Path) -> Format:
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise ValueError(f"the suffix '{suffix}' is unknown (known: {', '.join(FORMATS)})")
    return FORMATS[suffix]


def _suffixes(what: str) -> str:
    return ", ".join(suffix for suffix, format in FORMATS.items() if getattr(format, what) is not None)


__all__ = ["FORMATS", "Document", "Format", "read_circuit", "write_circuit"]
