"""The families of leaves: those that the statistics of learners determine, and those that columns get.

EM and searches work with leaves whose sufficient statistics are weighted sums (`statistics_family`). Where
`leaf_family` is another, the leaves of the finished groups are fitted to the rows anew, weighted by their
responsibilities. That is one more step of EM; for a wider family, such as negative binomial counts in the
place of Poisson counts, it never makes the rows less likely.
"""

from collections.abc import Callable

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit import Block, Builder, Graph, LeafBlock
from tractable.circuit.assemble import assemble, edges_of
from tractable.circuit.leaves import Family, Gaussian, Poisson, Rounded, leaf_family, state_family
from tractable.data import Schema, Table, Variable
from tractable.engine.expectations import Expecter


def statistics_family(variable: Variable) -> Family:
    """The family whose leaves over a column an encoding's statistics determine."""
    if variable.is_categorical:
        return state_family(variable.cardinality)
    if variable.kind == "count":
        return Poisson()
    return Rounded(Gaussian()) if variable.is_whole else Gaussian()


def needs_rows(variable: Variable) -> bool:
    """Whether leaves over a numeric column are fitted to rows, because statistics do not determine them."""
    return variable.is_numeric and leaf_family(variable) != statistics_family(variable)


def is_replaced(variable: Variable) -> bool:
    """Whether leaves belong to another family than the statistics, even as special cases."""
    return needs_rows(variable) and leaf_family(variable).narrower != statistics_family(variable)


def columns_that_need_rows(schema: Schema) -> list[int]:
    """The columns whose leaves are fitted to rows."""
    return [column for column, variable in enumerate(schema) if needs_rows(variable)]


def disjoint_weights(x: Floats, weight: Floats, group: Ints, groups: int) -> tuple[Floats, Floats]:
    """The distinct values of a column, and their weights in each group, (groups, values), of disjoint rows.

    Rows of others than the first `groups` are left out, and so are missing values.
    """
    seen = ~np.isnan(x) & (group < groups)
    value, place = np.unique(x[seen], return_inverse=True)
    cells = np.bincount(group[seen] * value.size + place, weight[seen], groups * value.size)
    return value, cells.astype(np.float64).reshape(groups, value.size)


def add_leaf(builder: Builder, family: Family, column: int, params: Floats) -> int:
    """A leaf with the given parameters, (width,), of a family or of its special case."""
    if family.narrower is not None and family.is_narrow(params[None])[0]:
        family = family.narrower
        params = params[: family.width(builder.schema[column])]
    return builder.leaf(family.name, column, params)


def choose_leaves(
    graph: Graph, table: Table, smoothing: float, chosen: Callable[[Variable], bool] = needs_rows
) -> Graph:
    """The circuit with leaves of `leaf_family` in the place of those of `statistics_family`.

    All leaves over a column are fitted together, to the rows as they reach them: one step of EM. Leaves that
    are special cases stay as they are; so do leaves over columns that are not chosen.
    """
    families = {column: statistics_family(v) for column, v in enumerate(graph.schema) if chosen(v)}
    if not any(block.family in families.values() for block in graph.blocks_of(LeafBlock)):
        return graph
    expected = Expecter(graph).expectations(graph, table.values, table.row_weights)
    blocks: list[Block] = []
    for block, counts in zip(graph.blocks, expected.blocks, strict=True):
        if not isinstance(block, LeafBlock):
            blocks.append(block)
            continue
        kept, place = np.ones(block.node.size, dtype=np.bool_), len(blocks)
        for column in (c for c, family in families.items() if family == block.family):
            leaves, params = _chosen_params(block, column, counts.flows, table, smoothing)
            kept[leaves] = False
            over = np.full(leaves.size, column)
            blocks.append(LeafBlock(leaf_family(table.schema[column]), block.node[leaves], over, params))
        blocks.insert(place, block.select(np.flatnonzero(kept)))
    return assemble(graph.schema, graph.kind.astype(np.int64), edges_of(graph), blocks)


def _chosen_params(
    block: LeafBlock, column: int, flows: Floats, table: Table, smoothing: float
) -> tuple[Ints, Floats]:
    """Which leaves of a block become leaves of the column's `leaf_family`, and their parameters."""
    variable, x = table.schema[column], table.values[:, column]
    family, leaves = leaf_family(variable), np.flatnonzero(block.column == column)
    seen = ~np.isnan(x) & (table.row_weights > 0)
    if family.narrower == block.family:  # a leaf that no row reaches stays
        leaves = leaves[flows[np.ix_(leaves, seen)].sum(axis=1) > 0]
    if not leaves.size:
        return leaves, np.zeros((0, family.width(variable)))
    mean = float(np.average(x[seen], weights=table.row_weights[seen])) if seen.any() else 0.0
    params = family.estimate(x[seen], flows[np.ix_(leaves, seen)], variable, smoothing, mean)
    wide = ~family.is_narrow(params)
    return leaves[wide], params[wide]
