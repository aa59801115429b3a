"""`tractable check`: which properties a circuit has, and what stands in the way of the others."""

import typer

from tractable.cli import options
from tractable.cli.output import answer


def check(model: options.Model, as_json: options.AsJson = False, quiet: options.Quiet = False) -> None:
    """Print which properties hold of MODEL, with the culprit of each that does not.

    The exit code is 0 when the circuit is a distribution: smooth, decomposable and somewhere above zero (of a
    conditional one only its targets count). It is 1 when it is none, and 2 when the file is damaged.
    Being deterministic and regular selective makes some questions cheaper; no answer depends on it.

    Example: tractable check clinic.tract
    """
    from tractable.cli.reports import explain_fault, missing_properties
    from tractable.model import load

    graph = load(model).graph
    culprits, fault = missing_properties(graph), explain_fault(graph)
    facts = {
        "valid": fault is None,
        "fault": fault,
        "properties": {name: culprit is None for name, culprit in culprits.items()},
        "culprits": {name: culprit for name, culprit in culprits.items() if culprit is not None},
    }
    is_conditional = bool(graph.schema.inputs.size)
    answer(
        facts,
        _words(culprits, fault, "conditional distribution" if is_conditional else "distribution"),
        as_json,
    )
    if fault is not None:
        raise typer.Exit(1)


def _words(culprits: dict[str, str | None], fault: str | None, what: str) -> str:
    told = [f"yes  {name}" if c is None else f"no   {name}: {c}" for name, c in culprits.items()]
    verdict = f"a {what}" if fault is None else f"not a {what}: {fault}"
    return "\n".join([*told, f"The circuit is {verdict}."])
