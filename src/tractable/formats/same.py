"""What was written is what is read: a file is read and compared before it takes its place.

A format that keeps everything must bring back the very same arrays, schema and facts. One that keeps answers
must give the same values for 32 rows of random states, of which none, a half, most or all are missing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tractable.base.arrays import AnyArray, Floats
from tractable.circuit.features import FeatureTable
from tractable.circuit.graph import Graph
from tractable.circuit.leaves.output import NetworkOutput, network_state
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
        raise ValueError(f"{error}; what was written does not come back, so that it is not saved") from None


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
        own, found = (each[known] - each[place] for each in (logs, back))
        if (np.abs(own - found) > CLOSE * (1 + np.abs(logs[known]))).any():
            raise ValueError(differs("a probability"))


def probe_rows(schema: Schema, shares: tuple[float, ...] = MISSING) -> Floats:
    """Rows of random states, with these shares of missing cells; inputs are never missing."""
    rng = np.random.default_rng(0)
    rows = rng.integers(schema.cardinalities, size=(ROWS * len(shares), len(schema))).astype(np.float64)
    missing = rng.random(rows.shape) < np.repeat(shares, ROWS)[:, None]
    rows[missing & ~schema.is_given] = np.nan
    return rows


def differs(name: str) -> str:
    """That a part of a file is not what was written, in words."""
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
    outputs = [b for b in graph.leaves if isinstance(b.family, NetworkOutput)]
    yield "networks", [network_state(block.family.network) for block in outputs]  # type: ignore[attr-defined]
    for number, block in enumerate(outputs):
        yield f"outputs of network {number}", [block.node, block.column, block.params]
    plain = [b for b in graph.leaves if not isinstance(b.family, NetworkOutput)]
    yield from _sorted_blocks([(b.family.name, b.node, b.column, b.params) for b in plain])
    yield from _sorted_blocks([(b.family.name, b.node, b.columns, b.params) for b in graph.joints])
    for number, gate in enumerate(graph.gates):
        yield f"gates {number}", list(gate.arrays)
    yield "features", graph.features is not None
    if graph.features is not None:
        yield from _arrays(graph.features, tuple(FeatureTable.__dataclass_fields__))


def _sorted_blocks(blocks: list[tuple[str, AnyArray, AnyArray, AnyArray]]) -> Parts:
    """Leaves by family and width, and by ascending nodes among those."""
    found: dict[str, list[tuple[AnyArray, ...]]] = {}
    for family, node, columns, params in blocks:
        if node.size:
            key = f"{family} leaves of {params.shape[1]} parameters and {columns.shape[1:]} columns"
            found.setdefault(key, []).append((node, columns, params))
    for key in sorted(found):
        node, columns, params = (np.concatenate(arrays) for arrays in zip(*found[key], strict=True))
        order = np.argsort(node, kind="stable")
        yield key, [node[order], columns[order], params[order]]


def _arrays(owner: Any, names: tuple[str, ...]) -> Parts:
    for name in names:
        yield f"the array '{name}'", getattr(owner, name)
