"""The relevant factors of a query: tables of the columns concerned, restricted to the known states.

Columns that are not ancestors of known or queried columns sum to one and are left out. Evidence divides the
rest into independent components. For the distribution of a target, another component matters only if it may
be impossible.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.base.compiled import njit
from tractable.networks.network import Network, Source, TableFactor, TreeFactor
from tractable.networks.tables import tree_table

# ---- the tables of a Bayesian network as flat arrays for compiled loops ---------------------------------


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


class Known(NamedTuple):
    """The evidence about the columns."""

    state: Ints  # (columns,) -1 where it is not known
    limited: Bools  # (columns,) whether some states are impossible
    first: Ints  # (columns,) where the states of a column begin in `possible`
    possible: Floats  # (states of all columns,) one where a state is possible, zero elsewhere


class Factors(NamedTuple):
    """Factors over the variables, which are the relevant columns without known values."""

    column: Ints  # (variables,) the column of each variable
    first: Ints  # (factors + 1,) the axes of factor f are first[f]:first[f + 1]
    axis: Ints  # (axes,) a variable ...
    stride: Ints  # (axes,) ... and how far one state more goes
    base: Ints  # (factors,) the place of the first number
    is_limit: Bools  # (factors,) whether the numbers are in `possible` and not in a table
    positive: Bools  # (factors,) whether none of them is zero


@njit(cache=True, nogil=True)
def relevant_columns(start: Ints, scope: Ints, known: Known, target: int) -> Bools:
    """Which columns have evidence, are the target, or are an ancestor of one of these. (columns,)."""
    chosen = np.zeros(known.state.size, dtype=np.bool_)
    waiting = np.empty(known.state.size, dtype=np.int64)
    count = 0
    for c in range(known.state.size):
        if known.state[c] >= 0 or known.limited[c] or c == target:
            chosen[c] = True
            waiting[count] = c
            count += 1
    while count > 0:
        count -= 1
        c = waiting[count]
        for e in range(start[c] + 1, start[c + 1]):
            if not chosen[scope[e]]:
                chosen[scope[e]] = True
                waiting[count] = scope[e]
                count += 1
    return chosen


@njit(cache=True, nogil=True)
def list_factors(tables: Tables, known: Known, chosen: Bools) -> Factors:  # noqa: C901
    """The tables of the chosen columns, and the bounds of their states."""
    columns, variables, factors, axes = known.state.size, 0, 0, 0
    variable = np.full(columns, -1, dtype=np.int64)
    for c in range(columns):
        if chosen[c]:
            factors += 1
            axes += tables.start[c + 1] - tables.start[c]
            if known.state[c] < 0:
                variable[c] = variables
                variables += 1
                factors += known.limited[c]
                axes += known.limited[c]
    column = np.empty(variables, dtype=np.int64)
    for c in range(columns):
        if variable[c] >= 0:
            column[variable[c]] = c
    first, base = np.zeros(factors + 1, dtype=np.int64), np.empty(factors, dtype=np.int64)
    axis, stride = np.empty(axes, dtype=np.int64), np.empty(axes, dtype=np.int64)
    is_limit, positive = np.zeros(factors, dtype=np.bool_), np.zeros(factors, dtype=np.bool_)
    f, a = 0, 0
    for c in range(columns):
        if not chosen[c]:
            continue
        base[f], positive[f] = tables.offset[c], tables.positive[c]
        for e in range(tables.start[c], tables.start[c + 1]):
            o = tables.scope[e]
            if known.state[o] >= 0:
                base[f] += known.state[o] * tables.stride[e]
            else:
                axis[a], stride[a] = variable[o], tables.stride[e]
                a += 1
        f += 1
        first[f] = a
        if known.limited[c] and known.state[c] < 0:
            base[f], is_limit[f], axis[a], stride[a] = known.first[c], True, variable[c], 1
            a += 1
            f += 1
            first[f] = a
    return Factors(column, first, axis[:a], stride[:a], base, is_limit, positive)


@njit(cache=True, nogil=True)
def needed_variables(factors: Factors, target: int) -> Bools:
    """The variables of the relevant components: all of them without a target (-1).

    With a target these are its component and those with zero entries. Shape (variables,).
    """
    part = np.arange(factors.column.size)
    for f in range(factors.base.size):
        for e in range(factors.first[f] + 1, factors.first[f + 1]):
            part[_name(part, factors.axis[e])] = _name(part, factors.axis[e - 1])
    needed = np.full(part.size, target < 0)
    if target >= 0:
        needed[_name(part, target)] = True
    for f in range(factors.base.size):
        if not factors.positive[f] and factors.first[f] < factors.first[f + 1]:
            needed[_name(part, factors.axis[factors.first[f]])] = True
    for v in range(part.size):
        needed[v] = needed[_name(part, v)]
    return needed


@njit(cache=True, nogil=True)
def _name(part: Ints, one: int) -> int:
    """The representative of a component in a disjoint-set forest, with path compression."""
    while part[one] != one:
        part[one] = part[part[one]]
        one = part[one]
    return one
