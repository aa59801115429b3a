"""`tractable check`: which properties a circuit has, and what stands in the way of the others."""

from typing import TYPE_CHECKING

import typer

from tractable.cli import options
from tractable.cli.output import answer

if TYPE_CHECKING:
    from tractable.circuit import Graph


def check(model: options.Model, as_json: options.AsJson = False, quiet: options.Quiet = False) -> None:
    """Print which properties hold of MODEL, with the culprit of each that does not.

    The exit code is 0 when the circuit is a distribution: smooth, decomposable and somewhere above zero (of a
    conditional one only its targets count). It is 1 when it is none, and 2 when the file is damaged.
    Being deterministic and regular selective makes some questions cheaper; no answer depends on it.

    Example: tractable check clinic.tract
    """
    from tractable.model import load

    graph = load(model).graph
    culprits = _culprits(graph)
    fault = _fault(graph, culprits)
    facts = {
        "valid": fault is None,
        "fault": fault,
        "properties": {name: culprit is None for name, culprit in culprits.items()},
        "culprits": {name: culprit for name, culprit in culprits.items() if culprit is not None},
    }
    answer(facts, _words(culprits, fault), as_json)
    if fault is not None:
        raise typer.Exit(1)


def _words(culprits: dict[str, str | None], fault: str | None) -> str:
    told = [f"yes  {name}" if c is None else f"no   {name}: {c}" for name, c in culprits.items()]
    verdict = "a distribution" if fault is None else f"not a distribution: {fault}"
    return "\n".join([*told, f"The circuit is {verdict}."])


def _culprits(graph: "Graph") -> dict[str, str | None]:
    """For each property what stands in its way, in words; None when it holds."""
    from tractable import circuit

    return {
        "smooth": circuit.explain_smooth(graph),
        "decomposable": circuit.explain_decomposable(graph),
        "deterministic": circuit.explain_deterministic(graph),
        "regular selective": circuit.explain_regular_selective(graph),
    }


def _fault(graph: "Graph", culprits: dict[str, str | None]) -> str | None:
    """What keeps the circuit from being a (conditional) distribution, in words."""
    from tractable.circuit import explain_validity
    from tractable.queries import require_distribution

    if graph.schema.is_given.any():
        return explain_validity(graph, graph.schema.targets)
    fault = culprits["smooth"] or culprits["decomposable"]
    if fault is not None:
        return fault
    try:
        require_distribution(graph)
    except ValueError as zero:
        return str(zero)
    return None
