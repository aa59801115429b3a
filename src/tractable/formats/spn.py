"""Libra's sum-product networks (`.spn`): trees of sums and products over leaves, read and written."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.compiled import njit
from tractable.circuit.assemble import assemble, edges_of
from tractable.circuit.builder import Builder
from tractable.circuit.graph import LEAF, SUM, Graph
from tractable.circuit.scopes import root_columns
from tractable.data.schema import discrete_schema
from tractable.engine import log_partition_function
from tractable.formats.ac import ac_graph, ac_text
from tractable.formats.atomic import new_folder, write_text
from tractable.formats.document import Document, warn_of_lost_roles
from tractable.networks.writing import decimal

# ---- Compiled loops over a graph's arrays. Node i's edges are start[i]:start[i + 1], children before
#      parents.


@njit(cache=True, nogil=True)
def spread_owners(start: Ints, child: Ints, owner: Ints) -> bool:
    """Give all inner nodes below an owned node its owner (-1: none); returns whether two owners meet."""
    met = False
    for node in range(owner.size - 1, -1, -1):
        if owner[node] < 0:
            continue
        for e in range(start[node], start[node + 1]):
            below = child[e]
            if start[below] == start[below + 1]:
                continue
            met |= owner[below] >= 0 and owner[below] != owner[node]
            owner[below] = owner[node]
    return met


# ---- Libra's sum-product networks (`.spn`): reading a tree of sums and products over leaf circuits ------
#
# In the folder the file `spac.m` holds the tree, `spac-<id>.ac` the leaf circuit of node <id>. A leaf
# circuit stands for its distribution, so it is divided by its total on the way in.


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


# ---- Libra's sum-product networks (`.spn`): writing -----------------------------------------------------
#
# The children of the root become the leaf circuits, each divided by its total, so that a reader that
# divides leaves and one that does not find the same distribution. Where the children have inner nodes in
# common, which separate files would have to repeat, or are very many, the whole circuit becomes one leaf
# below a sum.


MOST_LEAVES = 256
_OWN_FILE = re.compile(r"spac(\.m|-\d+\.ac)")


class _Top(NamedTuple):
    """The node at the top of the tree and the circuits below it, which are normalised."""

    kind: str
    parts: list[Graph]
    log_weights: Floats


def write_spn(document: Document, path: Path) -> None:
    """Save a circuit over binary columns as a folder; names of columns and states are lost.

    Raises:
        ValueError: if a column is not binary or the circuit is zero everywhere.
        FileExistsError: if there is a file, or a folder that holds something else than a model.
    """
    graph = document.graph
    for variable in graph.schema:
        if variable.cardinality != 2:
            raise ValueError(f"a .spn supports only binary columns; column '{variable.name}' is not binary")
    require_own_folder(path)
    warn_of_lost_roles(graph.schema, ".spn")
    top = _top(graph)
    with new_folder(path) as folder:
        scopes = [_write_leaf(folder, number, part) for number, part in enumerate(top.parts, start=1)]
        write_text(folder / "spac.m", _tree_text(top, scopes, len(graph.schema)))


def require_own_folder(path: Path) -> None:
    """Refuse a folder that holds something else than a model: it is replaced as a whole.

    Raises:
        FileExistsError: naming what else it holds.
    """
    for file in sorted(path.iterdir()) if path.is_dir() else []:
        if not _OWN_FILE.fullmatch(file.name):
            raise FileExistsError(
                f"'{path}' holds '{file.name}', which is not part of a model: it is not overwritten"
            )


def _top(graph: Graph) -> _Top:
    edges = slice(int(graph.start[graph.root]), graph.edges)
    if graph.kind[graph.root] == LEAF or edges.stop - edges.start > MOST_LEAVES or _children_meet(graph):
        return _sum_of([graph], np.zeros(1))
    parts = [_below(graph, int(child)) for child in graph.child[edges]]
    if graph.kind[graph.root] == SUM:
        return _sum_of(parts, graph.log_weight[edges])
    # A product's constants only scale it, and a scaled circuit is the same distribution.
    scoped = [part for part in parts if root_columns(part).size]
    return _Top("*", [_normalise_part(part, log_partition_function(part)) for part in scoped], np.zeros(0))


def _sum_of(parts: list[Graph], log_weights: Floats) -> _Top:
    totals = np.array([log_partition_function(part) for part in parts])
    masses = log_weights + totals
    kept = np.flatnonzero(masses > -np.inf)
    if not kept.size:
        raise ValueError("the circuit is zero everywhere")
    shares = masses[kept] - np.logaddexp.reduce(masses[kept])
    return _Top("+", [_normalise_part(parts[i], totals[i]) for i in kept], shares)


def _normalise_part(part: Graph, total: float) -> Graph:
    if total == -np.inf:
        raise ValueError("the circuit is zero everywhere")
    if abs(total) < 1e-12:
        return part
    builder = Builder(part.schema)
    root = builder.splice(part)
    return builder.freeze(builder.product([root, builder.constant(-total)]))


def _below(graph: Graph, node: int) -> Graph:
    """The circuit at and below a node."""
    return assemble(graph.schema, graph.kind.astype(np.int64), edges_of(graph), graph.blocks, node)


def _children_meet(graph: Graph) -> bool:
    """Whether an inner node is below two children of the root."""
    owner = np.full(graph.nodes, -1, dtype=np.int64)
    children = graph.child[graph.start[graph.root] :]
    owner[children] = children
    return bool(spread_owners(graph.start, graph.child, owner)) or np.unique(children).size < children.size


def _write_leaf(folder: Path, number: int, part: Graph) -> Ints:
    """Save one leaf circuit over the columns that it depends on, which come back."""
    columns = root_columns(part)
    position = np.full(len(part.schema), -1)
    position[columns] = np.arange(columns.size)
    builder = Builder(part.schema.select(columns))
    builder.splice(part, position)
    write_text(folder / f"spac-{number}.ac", ac_text(builder.freeze()))
    return columns


def _tree_text(top: _Top, scopes: list[Ints], columns: int) -> str:
    leaves = range(1, len(scopes) + 1)
    lines = ["spac", str(len(scopes) + 1), f"n 0 {top.kind} -1", " ".join(map(str, leaves))]
    if top.kind == "+":
        lines.append(" ".join(map(decimal, top.log_weights.tolist())))
    lines.append(" ".join(map(str, range(columns))))
    for number, scope in zip(leaves, scopes, strict=True):
        lines += [f"n {number} ac 0", " ".join(map(str, scope.tolist()))]
    return "\n".join(lines) + "\n"
