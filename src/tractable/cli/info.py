"""`tractable info`: the contents of a model file."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tractable.cli import options
from tractable.cli.output import answer, lines
from tractable.cli.tried import tried_table

if TYPE_CHECKING:
    from tractable.data import Variable

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
