"""Which properties a circuit lacks, why, and whether it is a distribution."""

from collections.abc import Callable

from tractable import circuit
from tractable.circuit import Graph
from tractable.queries import require_distribution, require_valid


def missing_properties(graph: Graph) -> dict[str, str | None]:
    """For each property what stands in its way, in words; None when it holds."""
    targets = graph.schema.targets
    conditional = {"conditionally valid": circuit.explain_validity(graph, targets)}
    return {
        **(conditional if targets.size < len(graph.schema) else {}),
        "smooth": circuit.explain_smooth(graph),
        "decomposable": circuit.explain_decomposable(graph),
        "deterministic": circuit.explain_deterministic(graph),
        "regular selective": circuit.explain_regular_selective(graph),
    }


def explain_fault(graph: Graph) -> str | None:
    """What keeps the circuit from being a (conditional) distribution, in words; None if it is one."""
    if graph.schema.is_given.any():
        return circuit.explain_validity(graph, graph.schema.targets) or _refusal(
            lambda: require_valid(graph, graph.schema.targets.tolist())
        )
    fault = circuit.explain_smooth(graph) or circuit.explain_decomposable(graph)
    if fault is not None:
        return fault
    return _refusal(lambda: require_distribution(graph))


def _refusal(require: Callable[[], None]) -> str | None:
    """What a requirement refuses, in words; None if it is met."""
    try:
        require()
    except ValueError as fault:
        return str(fault)
    return None
