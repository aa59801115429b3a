"""The content of a model file: a circuit and its provenance."""

from dataclasses import dataclass, field
from typing import Any

from tractable.circuit.graph import Graph


@dataclass(frozen=True, eq=False)
class Document:
    """A circuit and its provenance: learner, settings, seed, ..."""

    graph: Graph
    about: dict[str, Any] = field(default_factory=dict)
