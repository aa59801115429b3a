"""Leaves over several columns once some of those columns are known or summed out."""

from collections.abc import Mapping
from dataclasses import replace
from warnings import warn

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit.fold import LeafNumbers
from tractable.circuit.graph import Graph, JointBlock
from tractable.circuit.leaves.multivariate import Box, GaussianLeaf
from tractable.data.regions import Interval, Region
from tractable.data.schema import Schema

TELL = 1e-9  # a relative error of numerical integration from which on it is told


def joint_leaves(graph: Graph, block: JointBlock) -> list[GaussianLeaf]:
    """The distributions of a block, one a leaf."""
    whole = whole_columns(graph.schema)
    lines = zip(block.params, block.columns, strict=True)
    return [block.family.leaf(params, whole[columns]) for params, columns in lines]


def whole_columns(schema: Schema) -> Bools:
    """Which columns hold whole numbers. Shape (columns,)."""
    return np.array([v.is_whole for v in schema], dtype=np.bool_)


def region_box(regions: Mapping[int, Region], columns: Ints) -> Box:
    """The intervals of some columns, infinite where there is none."""
    low, high = np.full(columns.size, -np.inf), np.full(columns.size, np.inf)
    for place, column in enumerate(columns.tolist()):
        region = regions.get(column)
        if isinstance(region, Interval):
            low[place], high[place] = region.low, region.high
    return Box(low, high)


class IntegrationWarning(UserWarning):
    """A probability that was integrated numerically, and is exact but for a small error."""


def tell_error(error: float) -> None:
    """Warn of a probability that was integrated numerically, with its relative error."""
    if error > TELL:
        power = 10.0 ** np.ceil(np.log10(error))
        warn(
            "intervals of three or more columns that one leaf holds together were integrated numerically:"
            f" the relative error is at most about {power:.0e}",
            IntegrationWarning,
            stacklevel=2,
        )


def observe_joints(graph: Graph, row: Floats, within: Mapping[int, Region], numbers: LeafNumbers) -> Graph:
    """The graph with its joint leaves given what is known of one row.

    A leaf of which everything is known becomes a number in `numbers`. A leaf of which a part is known stays,
    over the other columns; the density of the known part is its factor in `numbers`.

    Raises:
        ValueError: if a column lies in an interval while others of its leaf stay open.
    """
    known = ~np.isnan(row)
    known[list(within)] = True
    blocks: list[JointBlock] = []
    for block in graph.joints:
        for i, leaf in enumerate(joint_leaves(graph, block)):
            columns, node = block.columns[i], block.node[i : i + 1]
            rest = np.flatnonzero(~known[columns])
            if not rest.size:
                value, error = leaf.log_value(row[None, columns], region_box(within, columns))
                tell_error(error)
                numbers.log_value[node], numbers.known[node] = value, True
                blocks.append(JointBlock(block.family, node, columns[None], block.params[i : i + 1]))
                continue
            _refuse_intervals(graph, columns, within)
            smaller, numbers.log_value[node] = leaf.given(row[columns])
            blocks.append(
                JointBlock(block.family, node, columns[rest][None], block.family.params(smaller)[None])
            )
    return replace(graph, joints=tuple(blocks)) if blocks else graph


def sum_out_of_joints(graph: Graph, stays: Bools, numbers: LeafNumbers) -> Graph:
    """The graph with its joint leaves over the columns that stay, the others summed out."""
    blocks: list[JointBlock] = []
    for block in graph.joints:
        for i, leaf in enumerate(joint_leaves(graph, block)):
            columns, node = block.columns[i], block.node[i : i + 1]
            keep = np.flatnonzero(stays[columns])
            if not keep.size:
                numbers.known[node] = True
                blocks.append(JointBlock(block.family, node, columns[None], block.params[i : i + 1]))
                continue
            params = block.params[i] if keep.size == columns.size else block.family.params(leaf.part(keep))
            blocks.append(JointBlock(block.family, node, columns[keep][None], params[None]))
    return replace(graph, joints=tuple(blocks)) if blocks else graph


def _refuse_intervals(graph: Graph, columns: Ints, within: Mapping[int, Region]) -> None:
    for column in columns.tolist():
        if column in within:
            others = next(graph.schema[c].name for c in columns.tolist() if c not in within)
            raise ValueError(
                f"column '{graph.schema[column].name}' lies in an interval and is linked with column"
                f" '{others}' by a multivariate leaf: there is no circuit of the rest; ask each question with"
                " the interval given instead"
            )
