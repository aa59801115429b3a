"""Small tables, and what holds of the circuits that are learned from them."""

from itertools import product

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit import Graph, is_decomposable, is_smooth
from tractable.data import Schema, Table, Variable, discrete_schema
from tractable.engine import log_values


def categorical_table(rows: int = 300, seed: int = 0) -> Table:
    """Four columns of 2, 3, 1 and 2 states; the first tells about the second, the second about the last."""
    rng = np.random.default_rng(seed)
    a = rng.random(rows) < 0.4
    b = np.where(rng.random(rows) < 0.8, 2 * a, rng.integers(0, 3, rows))
    d = np.where(rng.random(rows) < 0.9, b == 2, rng.integers(0, 2, rows))
    values = np.column_stack([a, b, np.zeros(rows), d]).astype(np.float64)
    return Table(discrete_schema([2, 3, 1, 2]), values)


MIXED = Schema(
    (
        Variable("größe", "real"),
        Variable("色", "categorical", ("赤", "青", "緑")),
        Variable("n", "count"),
        Variable("sick", "categorical", ("no", "yes")),
    )
)


def mixed_table(rows: int = 200, seed: int = 0, missing: float = 0.2) -> Table:
    """A real, a three-state, a count and a two-state column, all told by one of two classes."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, rows)
    colour = np.where(group == 1, rng.integers(1, 3, rows), rng.integers(0, 2, rows))
    values = np.column_stack(
        [rng.normal(5e4 * group, 1e4), colour, rng.poisson(1 + 6 * group), group]
    ).astype(float)
    values[rng.random(values.shape) < missing] = np.nan
    return Table(MIXED, values)


def every_row(schema: Schema) -> Floats:
    return np.array(list(product(*(range(v.cardinality) for v in schema))), dtype=np.float64)


def assert_same(one: Graph, other: Graph) -> None:
    for field in ("kind", "start", "child", "log_weight"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))
    for mine, theirs in zip(one.blocks, other.blocks, strict=True):
        np.testing.assert_array_equal(mine.node, theirs.node)
        np.testing.assert_array_equal(mine.parameters, theirs.parameters)


def is_normalised(graph: Graph) -> bool:
    everything = np.full((1, len(graph.schema)), np.nan)
    return is_smooth(graph) and is_decomposable(graph) and abs(log_values(graph, everything)[0]) < 1e-9
