"""The factors of a network as flat arrays for compiled loops.

Trees and tables are rules: tests that lead to a leaf with a lookup table over a few columns. The leaf of a
tree has a table over its child alone; a table is a single leaf over all of its columns.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Int32s, Ints
from tractable.base.compiled import njit
from tractable.data.table import Table
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


# ---- compiled loops over the factors of networks --------------------------------------------------------


@njit(cache=True, nogil=True)
def add_log_values(features: Features, rules: Rules, codes: Int32s, answer: Floats) -> None:
    """Add the logarithm of the product of all factors to `answer` (rows,) for each row of `codes`."""
    for r in range(codes.shape[0]):
        row = codes[r]
        for f in range(features.log_weight.size):
            if feature_holds(features, f, row):
                answer[r] += features.log_weight[f]
        for rule in range(rules.root.size):
            answer[r] += rule_value(rules, rule, row)


@njit(cache=True, nogil=True)
def feature_holds(features: Features, f: int, row: Int32s) -> bool:
    """Whether all conditions of a feature hold of a row."""
    i, end = features.start[f], features.start[f + 1]
    while i < end and (row[features.column[i]] == features.state[i]) == features.equals[i]:
        i += 1
    return i == end


@njit(cache=True, nogil=True)
def rule_value(rules: Rules, rule: int, row: Int32s) -> float:
    """The log-value of a tree or table for a row."""
    node = rules.root[rule]
    while rules.column[node] >= 0:
        holds = row[rules.column[node]] == rules.state[node]
        node = rules.then[node] if holds else rules.otherwise[node]
    at = rules.offset[node]
    for i in range(rules.start[node], rules.start[node + 1]):
        at += row[rules.key[i]] * rules.stride[i]
    return rules.value[at]


# ---- log-probabilities of complete rows under a network, without compilation ----------------------------


def log_prob_of_rows(network: Network, rows: Floats) -> Floats:
    """The logarithm of the product of all factors for each complete row. Shape (rows,).

    In a Bayesian network it is the log-probability of the row; in a Markov network it exceeds that by log Z.

    Raises:
        ValueError: naming a cell that is missing or invalid.
    """
    from tractable.networks.flat import add_log_values

    answer = np.zeros(len(rows))
    add_log_values(*flatten_factors(network), complete_codes(network, rows), answer)
    return answer


def complete_codes(network: Network, rows: Floats) -> Int32s:
    """The states of complete rows. Shape (rows, columns)."""
    missing = Table(network.schema, rows).missing
    if missing.any():
        row, column = np.argwhere(missing)[0].tolist()
        raise ValueError(f"row {row} has no value in column '{network.schema[column].name}'")
    return np.ascontiguousarray(rows.astype(np.int32))
