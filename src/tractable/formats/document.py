"""What a file holds, and what must hold of it beyond what every graph is checked for."""

from dataclasses import dataclass, field
from typing import Any

from tractable.circuit.check import check_magnitudes
from tractable.circuit.graph import Graph
from tractable.circuit.properties import explain_decomposable, explain_validity
from tractable.data.problems import caution
from tractable.data.schema import Schema
from tractable.formats.features import check_features

# ---- the content of a model file: a circuit and its provenance ------------------------------------------


@dataclass(frozen=True, eq=False)
class Document:
    """A circuit and its provenance: learner, settings, seed, ..."""

    graph: Graph
    about: dict[str, Any] = field(default_factory=dict)


# ---- roles of columns, which file formats of other programs do not support ------------------------------


def warn_of_lost_roles(schema: Schema, suffix: str) -> None:
    """Warn that a file does not record the inputs of a circuit."""
    given = [v.name for v in schema if v.role != "target"]
    if given:
        some = ", ".join(f"'{name}'" for name in given[:4]) + (", ..." if len(given) > 4 else "")
        caution(
            f"a {suffix} file does not record that {some} are inputs: specify them again when it is read"
            " (Circuit.conditional_on, tractable convert --inputs)"
        )


# ---- checks of circuits in files beyond those of every graph --------------------------------------------


def check_circuit(graph: Graph) -> None:
    """Refuse a circuit whose feature table belongs to another one, or whose products share columns.

    Refused as well are parameters that are too large to compute with.

    Of a circuit of P(targets | inputs) only the targets count.

    Raises:
        ValueError: naming the feature, or the product and the column.
    """
    check_magnitudes(graph)
    if graph.features is not None:
        check_features(graph.features, graph)
    schema = graph.schema
    fault = explain_validity(graph, schema.targets) if schema.inputs.size else explain_decomposable(graph)
    if fault is not None:
        raise ValueError(fault)
