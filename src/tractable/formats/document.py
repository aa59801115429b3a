"""What a file holds: a circuit and what is known about where it came from."""

from dataclasses import dataclass, field
from typing import Any

from tractable.circuit.graph import Graph


@dataclass(frozen=True, eq=False)
class Document:
    """A circuit, and plain facts about it that a file can carry: learner, settings, seed, ..."""

    graph: Graph
    about: dict[str, Any] = field(default_factory=dict)
