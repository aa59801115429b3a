"""`tractable check`: the properties of a circuit, and the reasons why others do not hold."""

import typer

from tractable.cli import options
from tractable.cli.output import answer


def check(model: options.Model, as_json: options.AsJson = False, quiet: options.Quiet = False) -> None:
    """Print the properties of MODEL and, for each property that does not hold, the reason.

    The exit code is 0 if the circuit is a distribution: smooth, decomposable (both over the targets only if
    it is conditional) and not zero everywhere. It is 1 if it is not a distribution, and 2 if the file is
    damaged. Determinism and regular selectivity make some queries faster but do not change any answer.

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
    report = [f"yes  {name}" if c is None else f"no   {name}: {c}" for name, c in culprits.items()]
    verdict = f"a {what}" if fault is None else f"not a {what}: {fault}"
    return "\n".join([*report, f"The circuit is {verdict}."])
