"""Libra's sum-product networks (`.spn`): writing.

The children of the root become the leaf circuits, each divided by its total, so that a reader that divides
leaves and one that does not find the same distribution. Where the children have inner nodes in common, which
separate files would have to repeat, or are very many, the whole circuit becomes one leaf below a sum.
"""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit.assemble import assemble, edges_of
from tractable.circuit.builder import Builder
from tractable.circuit.graph import LEAF, SUM, Graph
from tractable.circuit.scopes import root_columns
from tractable.engine import log_partition_function
from tractable.formats.ac_writing import ac_text
from tractable.formats.atomic import new_folder, write_text
from tractable.formats.document import Document
from tractable.formats.kernels import spread_owners
from tractable.formats.roles import warn_of_lost_roles
from tractable.networks.writing import decimal

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
