"""Short words for the nodes of a picture."""

from math import exp

from tractable.circuit.graph import LEAF, PRODUCT, Graph
from tractable.circuit.leaves import Family

LONGEST = 28


def node_labels(graph: Graph) -> list[str]:
    """A label for every node: what a leaf says of its column, or the sign of a sum or product."""
    labels = ["" if kind == LEAF else "×" if kind == PRODUCT else "+" for kind in graph.kind.tolist()]
    for block in graph.leaves:
        lines = zip(block.node.tolist(), block.column.tolist(), block.params.tolist(), strict=True)
        for node, column, params in lines:
            labels[node] = shorten(_leaf_label(graph, block.family, column, params))
    for joint in graph.joints:
        for node, columns in zip(joint.node.tolist(), joint.columns.tolist(), strict=True):
            labels[node] = shorten(joint.family.describe([graph.schema[c] for c in columns]))
    for gate in graph.gates:
        lines = zip(gate.node.tolist(), gate.regression.tolist(), gate.outcome.tolist(), strict=True)
        for node, regression, outcome in lines:
            labels[node] = f"gate {regression}, outcome {outcome}"
    return labels


def _leaf_label(graph: Graph, family: Family, column: int, params: list[float]) -> str:
    if family.is_constant:
        return f"{exp(min(params[0], 700)):.3g}"
    return family.describe(params, graph.schema[column])


def shorten(text: str) -> str:
    """The text on one line, cut where it is too long for a picture."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
