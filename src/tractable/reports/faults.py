"""Which properties a circuit lacks, why, and whether it is a distribution."""

from tractable import circuit
from tractable.circuit import Graph
from tractable.queries import require_distribution


def missing_properties(graph: Graph) -> dict[str, str | None]:
    """For each property what stands in its way, in words; None when it holds."""
    return {
        "smooth": circuit.explain_smooth(graph),
        "decomposable": circuit.explain_decomposable(graph),
        "deterministic": circuit.explain_deterministic(graph),
        "regular selective": circuit.explain_regular_selective(graph),
    }


def explain_fault(graph: Graph) -> str | None:
    """What keeps the circuit from being a (conditional) distribution, in words; None if it is one."""
    if graph.schema.is_given.any():
        return circuit.explain_validity(graph, graph.schema.targets)
    fault = circuit.explain_smooth(graph) or circuit.explain_decomposable(graph)
    if fault is not None:
        return fault
    try:
        require_distribution(graph)
    except ValueError as zero:
        return str(zero)
    return None
