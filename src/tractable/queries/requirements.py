"""What a query needs of a circuit; a query that lacks it refuses and says why."""

from collections.abc import Iterable

import numpy as np

from tractable.arrays import Bools, Floats
from tractable.circuit import Graph, explain_decomposable, explain_smooth, explain_validity


def require_valid(graph: Graph, columns: Iterable[int] | None = None) -> None:
    """Refuse a circuit that is not smooth and decomposable (as far as the given columns go).

    Raises:
        ValueError: naming the first node that is at fault.
    """
    faults = {"decomposable": explain_decomposable(graph), "smooth": explain_smooth(graph)}
    found = [f"the circuit is not {name}: {fault}" for name, fault in faults.items() if fault is not None]
    if found and columns is not None:
        fault = explain_validity(graph, sorted(columns))
        found = [] if fault is None else [f"those columns cannot be summed out of the circuit: {fault}"]
    if found:
        raise ValueError(found[0])


def require_possible(log_evidence: Floats) -> None:
    """Refuse evidence of probability zero.

    Raises:
        ValueError: naming the first row that is impossible.
    """
    impossible = np.flatnonzero(np.isneginf(log_evidence))
    if impossible.size:
        which = f" (row {int(impossible[0])})" if log_evidence.size > 1 else ""
        raise ValueError(f"the evidence has probability zero{which}: nothing can be said given it")


def conditions(graph: Graph) -> Bools:
    """The columns that a circuit is conditional on: inputs, and factors that come with each row. Shape (columns,)."""
    return np.array([v.role in ("input", "potential") for v in graph.schema], dtype=np.bool_)
