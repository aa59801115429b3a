"""What a model is: its provenance, its columns, its properties and its size."""

from collections import Counter
from dataclasses import asdict
from typing import Any

from tractable.circuit import Graph, properties
from tractable.circuit.features import FeatureTable
from tractable.circuit.leaves import FACTORS
from tractable.data import Schema
from tractable.model import Circuit


def model_summary(circuit: Circuit) -> dict[str, Any]:
    """Everything that `tractable info` tells of a model, but for its features."""
    return {
        "about": circuit.about,
        **asdict(properties(circuit.graph)),
        "leaves": leaf_counts(circuit.graph),
        "columns": [
            {"name": v.name, "kind": v.kind, "role": v.role, "states": v.states} for v in circuit.schema
        ],
    }


def leaf_counts(graph: Graph) -> dict[str, int]:
    """How many leaves there are of each family."""
    counts: Counter[str] = Counter()
    for block in graph.blocks:
        counts[block.name] += block.node.size
    return dict(counts)


def feature_list(graph: Graph) -> list[dict[str, Any]]:
    """The features of a circuit that was learned as a Markov network, in words, with their log weights.

    Raises:
        ValueError: if the circuit has none.
    """
    table = graph.features
    if table is None:
        raise ValueError("the model has no features: it was not learned as a Markov network")
    words = [_condition(graph.schema, table, number) for number in range(table.column.size)]
    ends = table.start.tolist()
    return [
        {"log_weight": log_weight, "conditions": ", ".join(words[first:last]) or "always"}
        for log_weight, first, last in zip(table.log_weight.tolist(), ends[:-1], ends[1:], strict=True)
    ]


def _condition(schema: Schema, table: FeatureTable, number: int) -> str:
    """A condition in words."""
    variable, equals = schema[int(table.column[number])], bool(table.equals[number])
    if variable.is_categorical or table.ends is None:
        return f"{variable.name}{'=' if equals else '!='}{variable.states[int(table.state[number])]}"
    interval = FACTORS["within"].describe(table.ends[number].tolist(), variable)
    return interval if equals else f"not {interval}"
