"""The tables of a Bayesian network as flat arrays for compiled loops."""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.networks.network import Network, Source, TableFactor, TreeFactor
from tractable.networks.tables import tree_table

MOST_ENTRIES = 1 << 20  # of the table of a tree that is written out
TOLERANCE = 1e-12  # by which the probabilities of a distribution may miss one
SMALLEST_LOG = -600.0  # of a probability that is not zero: smaller ones would vanish in a product of numbers


class Tables(NamedTuple):
    """The concatenated conditional distributions of the columns."""

    states: Ints  # (columns,)
    start: Ints  # (columns + 1,) the scope of column c is start[c]:start[c + 1], itself first
    scope: Ints  # (scopes,) a column ...
    stride: Ints  # (scopes,) ... and how far one state more goes in `value`
    offset: Ints  # (columns,) where the table of a column begins
    value: Floats  # the probabilities of all tables
    positive: Bools  # (columns,) whether no probability is zero
    sequence: Ints  # (columns,) a good order of elimination of all columns


def flat_tables(source: Source) -> Tables | None:
    """The tables of a network; None if it has no `distributions`."""
    network = source.network
    own = distributions(network)
    if own is None:
        return None
    values = [np.exp(table.log_values) for table in own]
    return Tables(
        network.schema.cardinalities.astype(np.int64),
        np.cumsum([0, *(len(table.columns) for table in own)]).astype(np.int64),
        np.array([c for table in own for c in table.columns], dtype=np.int64),
        np.concatenate([_strides(v.shape) for v in values]),
        np.cumsum([0, *(v.size for v in values[:-1])]).astype(np.int64),
        np.concatenate([v.ravel() for v in values]),
        np.array([(v > 0).all() for v in values]),
        source.order,
    )


def distributions(network: Network) -> list[TableFactor] | None:
    """The distribution of each column given its parents, with trees expanded to tables.

    None if it is not a Bayesian network, its distributions do not sum to one, a product of probabilities
    might underflow, or the table of a tree is large.
    """
    if network.kind != "bayes":
        return None
    tables = [_table(network, factor) for factor in network.factors]
    own = [table for table in tables if table is not None]
    if len(own) < len(tables) or not all(_is_plain(table.log_values) for table in own):
        return None
    return sorted(own, key=lambda table: table.columns[0])


def _is_plain(logs: Floats) -> bool:
    """Whether a table has distributions along its first axis whose products do not underflow."""
    sums = np.exp(logs).sum(axis=0)
    tiny = (logs < SMALLEST_LOG) & (logs > -np.inf)
    return not tiny.any() and bool((np.abs(sums - 1) <= TOLERANCE).all())


def _table(network: Network, factor: object) -> TableFactor | None:
    if isinstance(factor, TableFactor):
        return factor
    assert isinstance(factor, TreeFactor)  # a Bayesian network has no features
    size = np.prod(network.schema.cardinalities[list(factor.scope)].astype(np.float64))
    return tree_table(factor, network.schema) if size <= MOST_ENTRIES else None


def _strides(shape: tuple[int, ...]) -> Ints:
    return np.cumprod([1, *reversed(shape[1:])])[::-1].astype(np.int64)
