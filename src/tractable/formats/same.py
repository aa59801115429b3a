"""Verification of written files, which are read and compared before they replace anything.

A format that keeps everything must bring back the very same arrays, schema and facts. One that keeps answers
must give the same values for 32 rows of random states, of which none, a half, most or all are missing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit.blocks import Block, NetworkBlock, join_blocks
from tractable.circuit.features import FeatureTable
from tractable.circuit.graph import Graph
from tractable.data.schema import Schema
from tractable.formats.document import Document
from tractable.formats.header import plain_schema, to_json

ROWS = 8  # that are compared, of each share of missing cells
MISSING = (0.0, 0.5, 0.9, 1.0)
CLOSE = 1e-6  # a difference of log-values, as a part of their size, that is no other answer

Parts = Iterator[tuple[str, Any]]  # what there is to compare, with names


@contextmanager
def reading_back() -> Iterator[None]:
    """Say of whatever is found wrong in a new file that it is not kept.

    Raises:
        ValueError: if something is.
    """
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{error}; the file would not be read back unchanged, so it is not saved") from None


def require_same_circuit(document: Document, read: Callable[[Path], Document], path: Path) -> None:
    """Refuse a file that does not hold the very same circuit, schema and facts.

    Raises:
        ValueError: naming what differs.
    """
    back = read(path)
    _compare(_circuit_parts(document.graph), _circuit_parts(back.graph))
    _compare(iter([("about", to_json(document.about))]), iter([("about", to_json(back.about))]))


def require_same_answers(document: Document, read: Callable[[Path], Document], path: Path) -> None:
    """Refuse a file whose circuit has other values, but for a factor of all of them.

    Raises:
        ValueError: if the values differ.
    """
    from tractable.engine import log_values

    graph, back = document.graph, read(path).graph
    if graph.schema.cardinalities.tolist() != back.schema.cardinalities.tolist():
        raise ValueError(differs("the number of states of a column"))
    rows = probe_rows(graph.schema)
    require_close(log_values(graph, rows), log_values(back, rows))


def require_same_arrays(one: Any, other: Any, names: tuple[str, ...]) -> None:
    """Refuse two objects whose arrays of some names are not the same.

    Raises:
        ValueError: naming the array.
    """
    _compare(_arrays(one, names), _arrays(other, names))


def require_same_schema(one: Schema, other: Schema) -> None:
    """Refuse schemas that do not have the same columns, states and roles.

    Raises:
        ValueError: if they differ.
    """
    _compare(iter([("schema", to_json(plain_schema(one)))]), iter([("schema", to_json(plain_schema(other)))]))


def require_close(logs: Floats, back: Floats) -> None:
    """Refuse log-values that are not the same, but for one number that is added to all of them.

    Raises:
        ValueError: if they differ.
    """
    known = np.isfinite(logs)
    if (known != np.isfinite(back)).any():
        raise ValueError(differs("a probability of zero"))
    if known.any():
        place = int(np.where(known, logs, -np.inf).argmax())
        own, difference_read = (each[known] - each[place] for each in (logs, back))
        if (np.abs(own - difference_read) > CLOSE * (1 + np.abs(logs[known]))).any():
            raise ValueError(differs("a probability"))


def probe_rows(schema: Schema, shares: tuple[float, ...] = MISSING) -> Floats:
    """Rows of random states, with these shares of missing cells; inputs are never missing."""
    rng = np.random.default_rng(0)
    rows = rng.integers(schema.cardinalities, size=(ROWS * len(shares), len(schema))).astype(np.float64)
    missing = rng.random(rows.shape) < np.repeat(shares, ROWS)[:, None]
    rows[missing & ~schema.is_given] = np.nan
    return rows


def differs(name: str) -> str:
    """The error that a part of a file differs from what was written."""
    return f"{name} is another one"


def _compare(written: Parts, back: Parts) -> None:
    """Refuse parts that are not the same.

    Raises:
        ValueError: naming the first.
    """
    end = ("the number of its parts", None)
    while True:
        (name, one), (other_name, other) = next(written, end), next(back, end)
        if name != other_name or not _is_same(one, other):
            raise ValueError(differs(name))
        if (name, one) == end:
            return


def _is_same(one: Any, other: Any) -> bool:
    """Whether two arrays, lists of arrays or plain values are the same."""
    if isinstance(one, np.ndarray):
        same = isinstance(other, np.ndarray) and one.dtype == other.dtype
        return same and np.array_equal(one, other)
    if isinstance(one, list | tuple):
        fits = isinstance(other, list | tuple) and len(one) == len(other)
        return fits and all(map(_is_same, one, other))
    if isinstance(one, dict):
        fits = isinstance(other, dict) and list(one) == list(other)
        return fits and all(_is_same(one[key], other[key]) for key in one)
    return bool(one == other)


def _circuit_parts(graph: Graph) -> Parts:
    """Everything that makes a circuit; the order of blocks does not count."""
    yield "schema", to_json(plain_schema(graph.schema))
    yield from _arrays(graph, ("kind", "start", "child", "log_weight"))
    yield from _sorted_leaves([b for b in graph.blocks if set(b.arrays) == set(b.per_leaf)])
    shared = [b for b in graph.blocks if set(b.arrays) != set(b.per_leaf)]
    for number, block in enumerate(sorted(shared, key=lambda block: block.name)):
        yield f"{block.name} leaves {number}", list(block.arrays.values())
    yield "networks", [list(block.network.encode()) for block in graph.blocks_of(NetworkBlock)]
    yield "features", graph.features is not None
    if graph.features is not None:
        yield from _arrays(graph.features, tuple(FeatureTable.__dataclass_fields__))


def _sorted_leaves(blocks: list[Block]) -> Parts:
    """Leaves by name and the shapes of their arrays, and by ascending nodes among those."""
    groups: dict[str, list[Block]] = {}
    for block in blocks:
        shapes = [array.shape[1:] for array in block.arrays.values()]
        groups.setdefault(f"{block.name} leaves of the shapes {shapes}", []).append(block)
    for name in sorted(groups):
        whole = join_blocks(groups[name])
        if whole.node.size:
            yield name, list(whole.select(np.argsort(whole.node, kind="stable")).arrays.values())


def _arrays(owner: Any, names: tuple[str, ...]) -> Parts:
    for name in names:
        yield f"the array '{name}'", getattr(owner, name)
