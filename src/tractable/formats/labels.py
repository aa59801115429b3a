"""Short words for the nodes of a picture."""

from tractable.circuit.graph import LEAF, PRODUCT, Graph

LONGEST = 28


def node_labels(graph: Graph) -> list[str]:
    """A label for every node: what a leaf says of its column, or the sign of a sum or product."""
    labels = ["" if kind == LEAF else "×" if kind == PRODUCT else "+" for kind in graph.kind.tolist()]
    for block in graph.blocks:
        for node, words in zip(block.node.tolist(), block.describe(graph.schema), strict=True):
            labels[node] = shorten(words)
    return labels


def shorten(text: str) -> str:
    """The text on one line, cut where it is too long for a picture."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
