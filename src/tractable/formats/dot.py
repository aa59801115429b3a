"""Circuits as Graphviz text (`.dot`)."""

from collections.abc import Iterator
from math import exp
from pathlib import Path

from tractable.circuit.graph import LEAF, SUM, Graph
from tractable.formats.atomic import write_text
from tractable.formats.document import Document
from tractable.formats.labels import node_labels


def write_dot(document: Document, path: Path) -> None:
    """Save a circuit as a graph that Graphviz draws."""
    write_text(path, "\n".join(_lines(document.graph)) + "\n")


def _lines(graph: Graph) -> Iterator[str]:
    yield "digraph circuit {"
    yield '  node [fontname="sans-serif"]; edge [arrowsize=0.6, fontsize=9, fontname="sans-serif"];'
    for node, (label, kind) in enumerate(zip(node_labels(graph), graph.kind.tolist(), strict=True)):
        yield f"  n{node} [label={_quote(label)}, shape={'box' if kind == LEAF else 'circle'}];"
    parents, children = graph.parent.tolist(), graph.child.tolist()
    for parent, child, weight in zip(parents, children, graph.log_weight.tolist(), strict=True):
        label = f' [label="{exp(min(weight, 700)):.3g}"]' if graph.kind[parent] == SUM and weight else ""
        yield f"  n{parent} -> n{child}{label};"
    yield "}"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
