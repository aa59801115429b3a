"""Networks as circuits: a `.bif` or `.uai` file is compiled while it is read."""

from pathlib import Path

from tractable.formats.document import Document
from tractable.networks import READERS, compile_network


def read_network(path: Path) -> Document:
    """The compiled circuit of a network file; the suffix says which format it is in.

    Raises:
        ValueError: naming the line that is wrong, or how large the circuit would be.
    """
    network = READERS[path.suffix.lower()](path)
    return Document(compile_network(network), {"network": network.kind})
