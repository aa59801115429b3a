"""The factors of a network as flat arrays for compiled loops.

Trees and tables are rules: tests that lead to a leaf with a lookup table over a few columns. The leaf of a
tree has a table over its child alone; a table is a single leaf over all of its columns.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.networks.network import FeatureFactor, Network, TableFactor, TreeFactor


class Features(NamedTuple):
    """Conjunctions of conditions, concatenated."""

    start: Ints  # (features + 1,) feature f's conditions are start[f]:start[f + 1]
    column: Ints  # (conditions,)
    state: Ints  # (conditions,)
    equals: Bools  # (conditions,)
    log_weight: Floats  # (features,)


class Rules(NamedTuple):
    """Trees and tables, concatenated."""

    root: Ints  # (rules,) the first node of each
    column: Ints  # (nodes,) what a node asks about; -1 at a leaf
    state: Ints  # (nodes,)
    then: Ints  # (nodes,)
    otherwise: Ints  # (nodes,)
    start: Ints  # (nodes + 1,) the keys of a leaf are start[n]:start[n + 1]
    key: Ints  # (keys,) a column ...
    stride: Ints  # (keys,) ... and how far one state more goes in `value`
    offset: Ints  # (nodes,) where a leaf's numbers begin
    value: Floats  # the log values of all leaves


def flat_features(factors: Sequence[FeatureFactor]) -> Features:
    """Features as flat arrays."""
    return Features(
        np.cumsum([0, *(len(f.columns) for f in factors)]),
        np.array([c for f in factors for c in f.columns], dtype=np.int64),
        np.array([s for f in factors for s in f.states], dtype=np.int64),
        np.array([e for f in factors for e in f.equals], dtype=np.bool_),
        np.array([f.log_weight for f in factors], dtype=np.float64),
    )


def flat_rules(factors: Iterable[TableFactor | TreeFactor]) -> Rules:
    """Tables and trees as flat arrays."""
    parts = [_tree_rule(f) if isinstance(f, TreeFactor) else _table_rule(f) for f in factors]
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        return Rules(none, none, none, none, none, np.zeros(1, np.int64), none, none, none, np.zeros(0))
    nodes = np.cumsum([0, *(part.column.size for part in parts)])
    keys = np.cumsum([0, *(part.key.size for part in parts)])
    values = np.cumsum([0, *(part.value.size for part in parts)])
    numbered = [
        part._replace(
            root=part.root + node,
            then=part.then + node,
            otherwise=part.otherwise + node,
            start=part.start[1:] + key,
            offset=part.offset + value,
        )
        for part, node, key, value in zip(parts, nodes, keys, values, strict=False)
    ]
    joined = Rules(*(np.concatenate(arrays) for arrays in zip(*numbered, strict=True)))
    return joined._replace(start=np.concatenate([[0], joined.start]))


def _tree_rule(tree: TreeFactor) -> Rules:
    nodes, states = tree.log_prob.shape
    ends = tree.column < 0
    return Rules(
        np.zeros(1, dtype=np.int64),
        tree.column,
        tree.state,
        tree.then,
        tree.otherwise,
        np.concatenate([[0], np.cumsum(ends)]),
        np.full(int(ends.sum()), tree.child, dtype=np.int64),
        np.ones(int(ends.sum()), dtype=np.int64),
        np.arange(nodes) * states,
        tree.log_prob.ravel(),
    )


def _table_rule(table: TableFactor) -> Rules:
    leaf, zero = np.full(1, -1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    shape = table.log_values.shape
    stride = np.cumprod([1, *reversed(shape[1:])])[::-1] if shape else np.ones(0, dtype=np.int64)
    columns = np.array(table.columns, dtype=np.int64)
    return Rules(
        zero, leaf, zero, zero, zero, np.array([0, columns.size]), columns, stride.astype(np.int64), zero,
        table.log_values.ravel(),
    )  # fmt: skip


def flatten_factors(network: Network) -> tuple[Features, Rules]:
    """All factors of a network."""
    features = [f for f in network.factors if isinstance(f, FeatureFactor)]
    rules = [f for f in network.factors if not isinstance(f, FeatureFactor)]
    return flat_features(features), flat_rules(rules)
