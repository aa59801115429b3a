"""`tractable info` and `tractable check`: what a model file holds, and which properties its circuit has."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tractable.cli import options
from tractable.cli.output import answer, lines
from tractable.cli.stack import tried_table

if TYPE_CHECKING:
    from tractable.data import Variable


# ---- `tractable info`: the contents of a model file -----------------------------------------------------


MOST_STATES = 8  # shown of a column


def info(
    model: options.Model,
    features: Annotated[
        bool, typer.Option("--features", help="List the features of a Markov network and their weights.")
    ] = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Print the provenance, columns, properties and size of MODEL.

    Example: tractable info clinic.tract
    """
    from tractable.cli.reports import feature_list, model_summary
    from tractable.model import load

    circuit = load(model)
    facts = {"model": model, **model_summary(circuit)}
    sections = [_sizes(facts), _columns(list(circuit.schema))]
    if tried := circuit.about.get("tried"):
        sections.append(tried_table(tried))
    if features:
        facts["features"] = feature_list(circuit.graph)
        sections.append("\n".join(f"{f['log_weight']:+.6g}  {f['conditions']}" for f in facts["features"]))
    answer(facts, "\n\n".join(sections), as_json)


def _sizes(facts: dict[str, Any]) -> str:
    about = {name: _fact(value) for name, value in facts["about"].items() if name != "tried"}
    names = ("variables", "nodes", "edges", "depth", "parameters")
    flags = ["smooth", "decomposable", "deterministic", "regular_selective"]
    if any(column["role"] != "target" for column in facts["columns"]):
        flags.insert(0, "conditionally_valid")
    leaves = ", ".join(f"{number:,} {family}" for family, number in facts["leaves"].items())
    return lines(
        [
            *about.items(),
            *((name, facts[name]) for name in names),
            ("leaves", leaves),
            *((name.replace("_", " "), facts[name]) for name in flags),
        ]
    )


def _fact(value: Any) -> Any:
    return ", ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else value


def _columns(variables: list["Variable"]) -> str:
    return lines([(v.name, _kind(v)) for v in variables])


def _kind(variable: "Variable") -> str:
    shown = ", ".join(map(str, variable.states[:MOST_STATES]))
    more = ", ..." if variable.cardinality > MOST_STATES else ""
    role = "" if variable.role == "target" else f" ({variable.role})"
    return f"{variable.kind}{role}" + (f": {shown}{more}" if variable.is_categorical else "")


# ---- `tractable check`: the properties of a circuit, and the reasons why others do not hold -------------


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
