"""Short words for the nodes of a picture."""

from math import exp

from tractable.circuit.graph import LEAF, PRODUCT, Graph

LONGEST = 28


def node_labels(graph: Graph) -> list[str]:
    """A label for every node: what a leaf says of its column, or the sign of a sum or product."""
    labels = ["" if kind == LEAF else "×" if kind == PRODUCT else "+" for kind in graph.kind.tolist()]
    for block in graph.leaves:
        lines = zip(block.node.tolist(), block.column.tolist(), block.params.tolist(), strict=True)
        for node, column, params in lines:
            labels[node] = shortened(_leaf_label(graph, block.family.name, column, params))
    return labels


def _leaf_label(graph: Graph, family: str, column: int, params: list[float]) -> str:
    if column < 0:
        return f"{exp(min(params[0], 700)):.3g}"
    variable = graph.schema[column]
    if family == "indicator":
        return f"{variable.name} = {variable.states[int(params[0])]}"
    if family == "categorical":
        return f"{variable.name}: {' '.join(f'{exp(p):.2g}' for p in params)}"
    return f"{variable.name} ~ {family}({', '.join(f'{p:.3g}' for p in params)})"


def shortened(text: str) -> str:
    """The text on one line, cut where it is too long for a picture."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
