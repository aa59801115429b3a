"""Libra's sum-product networks (`.spn`): reading a tree of sums and products over leaf circuits.

In the folder the file `spac.m` holds the tree, `spac-<id>.ac` the leaf circuit of node <id>. A leaf circuit
stands for its distribution, so it is divided by its total on the way in.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tractable.circuit.builder import Builder
from tractable.circuit.graph import Graph
from tractable.data.schema import discrete_schema
from tractable.engine import log_partition_function
from tractable.formats.ac import ac_graph
from tractable.formats.document import Document


@dataclass(frozen=True, slots=True)
class _Node:
    kind: str  # + * ac null
    children: tuple[int, ...] = ()
    log_weights: tuple[float, ...] = ()
    scope: tuple[int, ...] = ()


def read_spn(path: Path) -> Document:
    """The circuit of a .spn folder; columns are binary and called x0, x1, ...

    Raises:
        ValueError: naming the line or the leaf file that is wrong.
    """
    if not path.is_dir():
        raise ValueError("a .spn is a folder")
    try:
        text = (path / "spac.m").read_text(encoding="latin-1")
    except FileNotFoundError:
        raise ValueError("there is no spac.m in the folder") from None
    tree = _Tree(text.splitlines()).nodes()
    builder = Builder(discrete_schema([2] * _columns(tree)))
    made: dict[int, int] = {}
    for number in _children_first(tree):
        made[number] = _add(builder, path, number, tree[number], made)
    return Document(builder.freeze(made[0]))


class _Tree:
    """The lines of spac.m, taken one after another."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.at = 0

    def nodes(self) -> list[_Node]:
        """All nodes, in the order of their numbers."""
        if self._words() != ["spac"]:
            raise self._fault("spac.m must start with the word spac")
        count = self._whole_numbers()
        if len(count) != 1:
            raise self._fault("the number of nodes is expected")
        nodes = [self._node(number) for number in range(min(count[0], len(self.lines)))]
        if len(nodes) < max(1, count[0]):
            raise self._fault("the file ends too early")
        return nodes

    def _node(self, number: int) -> _Node:
        words = self._words()
        if len(words) != 4 or words[:2] != ["n", str(number)] or words[2] not in ("+", "*", "ac", "null"):
            raise self._fault(
                f"node {number} is expected as: n {number} TYPE PARENT, TYPE one of + * ac null"
            )
        kind = words[2]
        if kind == "null":
            return _Node(kind)
        children = self._whole_numbers() if kind in "+*" else ()
        log_weights = self._log_weights(len(children)) if kind == "+" else ()
        return _Node(kind, children, log_weights, self._whole_numbers())

    def _whole_numbers(self) -> tuple[int, ...]:
        words = self._words()
        if not all(w.isascii() and w.isdigit() and len(w) < 10 for w in words):
            raise self._fault("whole numbers are expected")
        return tuple(map(int, words))

    def _log_weights(self, count: int) -> tuple[float, ...]:
        try:
            weights = tuple(map(float, self._words()))
        except ValueError:
            raise self._fault("log weights are expected") from None
        if len(weights) != count or not all(w < np.inf for w in weights):
            raise self._fault(f"{count} log weights are expected, none of them infinite")
        return weights

    def _words(self) -> list[str]:
        if self.at == len(self.lines):
            raise self._fault("the file ends too early")
        self.at += 1
        return self.lines[self.at - 1].split()

    def _fault(self, message: str) -> ValueError:
        return ValueError(f"spac.m, line {self.at}: {message}")


def _columns(tree: list[_Node]) -> int:
    """The number of columns that the nodes mention, which are numbered from 0 without a gap."""
    columns = {column for node in tree for column in node.scope}
    for column in range(len(columns)):
        if column not in columns:
            raise ValueError(f"spac.m: column {column} is not in any scope, but later columns are")
    return len(columns)


def _children_first(tree: list[_Node]) -> list[int]:
    """The nodes below node 0, each after its children."""
    order, waiting = [], [0]
    while waiting:
        number = waiting.pop()
        order.append(number)
        if len(order) > len(tree):
            raise ValueError("spac.m: a node has two parents")
        for child in tree[number].children:
            if child >= len(tree):
                raise ValueError(f"spac.m: node {number} has child {child}, which does not exist")
        waiting += tree[number].children
    if len(set(order)) < len(order):
        raise ValueError("spac.m: a node has two parents")
    return order[::-1]


def _add(builder: Builder, folder: Path, number: int, node: _Node, made: dict[int, int]) -> int:
    """Put a node into the circuit; a leaf circuit comes as a sum of one, which divides it by its total."""
    if node.kind == "null" or (node.kind in "+*" and not node.children):
        raise ValueError(f"spac.m: node {number} has nothing below it")
    if node.kind == "*":
        return builder.product([made[child] for child in node.children])
    if node.kind == "+":
        return builder.sum([made[child] for child in node.children], node.log_weights)
    leaf = _leaf_circuit(folder / f"spac-{number}.ac", len(node.scope))
    total = log_partition_function(leaf)
    if not np.isfinite(total):
        raise ValueError(f"spac-{number}.ac: the circuit is zero everywhere")
    root = builder.splice(leaf, node.scope)
    return root if abs(total) < 1e-12 else builder.sum([root], [-total])


def _leaf_circuit(path: Path, columns: int) -> Graph:
    try:
        graph = ac_graph(path.read_bytes())
    except FileNotFoundError:
        raise ValueError(f"there is no {path.name} in the folder") from None
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None
    if len(graph.schema) != columns:
        raise ValueError(f"{path.name} has {len(graph.schema)} columns; spac.m says {columns}")
    if (graph.schema.cardinalities != 2).any():
        raise ValueError(f"{path.name}: the columns of a .spn must be binary")
    return graph
