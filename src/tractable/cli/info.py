"""`tractable info`: what a model's file holds."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tractable.cli import options
from tractable.cli.output import answer, lines

if TYPE_CHECKING:
    from tractable.circuit import Graph
    from tractable.data import Variable

MOST_STATES = 8  # shown of a column


def info(
    model: options.Model,
    features: Annotated[
        bool, typer.Option("--features", help="List the conjunctions of a Markov network and their weights.")
    ] = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Print what MODEL is: how it was learned, its columns, its properties and its size.

    Example: tractable info clinic.tract
    """
    from tractable.model import load

    circuit = load(model)
    facts = {"model": model, "about": circuit.about, **_properties(circuit.graph)}
    facts["leaves"] = _leaf_counts(circuit.graph)
    facts["columns"] = [
        {"name": v.name, "kind": v.kind, "role": v.role, "states": v.states} for v in circuit.schema
    ]
    told = [_sizes(facts), _columns(list(circuit.schema))]
    if features:
        facts["features"] = feature_list(circuit.graph)
        told.append("\n".join(f"{f['log_weight']:+.6g}  {f['conditions']}" for f in facts["features"]))
    answer(facts, "\n\n".join(told), as_json)


def _properties(graph: "Graph") -> dict[str, Any]:
    from dataclasses import asdict

    from tractable.circuit import properties

    return asdict(properties(graph))


def _leaf_counts(graph: "Graph") -> dict[str, int]:
    """How many leaves there are of each family."""
    counts: Counter[str] = Counter()
    for block in graph.leaves:
        counts[block.family.name] += block.node.size
    return dict(counts)


def _sizes(facts: dict[str, Any]) -> str:
    about = {name: _fact(value) for name, value in facts["about"].items()}
    names = ("variables", "nodes", "edges", "depth", "parameters")
    flags = ("smooth", "decomposable", "deterministic", "regular_selective")
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


def feature_list(graph: "Graph") -> list[dict[str, Any]]:
    """The features of a circuit that was learned as a Markov network, in words, with their log weights.

    Raises:
        ValueError: if the circuit has none.
    """
    table = graph.features
    if table is None:
        raise ValueError("the model has no features: it was not learned as a Markov network")
    words = [
        f"{graph.schema[c].name}{'=' if equals else '!='}{graph.schema[c].states[s]}"
        for c, s, equals in zip(
            table.column.tolist(), table.state.tolist(), table.equals.tolist(), strict=True
        )
    ]
    ends = table.start.tolist()
    return [
        {"log_weight": log_weight, "conditions": ", ".join(words[first:last]) or "always"}
        for log_weight, first, last in zip(table.log_weight.tolist(), ends[:-1], ends[1:], strict=True)
    ]
