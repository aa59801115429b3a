"""A table partitioned by columns into independent groups and by rows into clusters, recursively.

The partitions form a tree of regions. The largest region is partitioned first, so that a time budget that
runs out leaves the smallest regions as they are. Regions small enough to become leaves keep their leaf: the
same tree, truncated at several region sizes, gives several circuits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Literal, NamedTuple

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.circuit import Builder, Graph
from tractable.data import Schema
from tractable.progress import Watch
from tractable.statistics.clustering import Clustering, cluster_rows
from tractable.statistics.conditionals import forest_tables
from tractable.statistics.dependence import dependent_groups, pair_gains
from tractable.statistics.encoding import Encoding
from tractable.statistics.forests import Forest, best_forest, categorical_mask, forest_node
from tractable.statistics.gaussian_blocks import GaussianBlock, gaussian_block
from tractable.statistics.link_gains import link_parameters

Leaf = Literal["chow-liu", "univariate"]


@dataclass(frozen=True, kw_only=True)
class Partitioning:
    """How a table is partitioned."""

    sizes: tuple[int, ...]  # regions of less weight are leaves; the smallest size ends the recursion
    threshold: float  # G statistic above which two binary columns are dependent
    clustering: Clustering
    leaf: Leaf
    smoothing: float  # pseudo-counts of each distribution of a leaf
    link_cost: float  # nats that a link of a leaf's tree must gain for each parameter


class RegionLeaf(NamedTuple):
    """A region that is not partitioned: a forest with its distributions, beside linked numeric columns."""

    columns: Ints  # the positions in the region of the forest's columns
    forest: Forest
    tables: list[Floats]
    numbers: GaussianBlock | None

    def node(self, builder: Builder, columns: Ints) -> int:
        """The leaf's root, position j of the region being column `columns[j]` of the builder."""
        parts = [] if self.numbers is None else [self.numbers.node(builder, columns)]
        if self.columns.size:
            parts.append(forest_node(builder, self.forest, self.tables, columns[self.columns]))
        return builder.product(parts)


@dataclass(slots=True)
class TableRegion:
    """Some rows of some columns, and how they are partitioned further."""

    columns: Ints  # positions in the whole table, ascending
    weight: float  # of the rows
    leaf: RegionLeaf | None = None  # None where the region is a leaf of no circuit
    kind: Literal["leaf", "product", "sum"] = "leaf"
    children: list[int] = field(default_factory=list)  # positions of later regions


@dataclass(slots=True)
class _Block:
    """What is known of a region that waits to be partitioned."""

    encoding: Encoding
    columns: Ints
    rng: np.random.Generator
    gain: Floats | None = None  # among its columns, once known
    connected: bool = False  # whether its columns are known to be one group


class _Partition(NamedTuple):
    kind: Literal["product", "sum"]
    blocks: list[_Block]


def partition_table(
    encoding: Encoding, rng: np.random.Generator, how: Partitioning, watch: Watch
) -> list[TableRegion]:
    """The regions of a table; the first is the whole table."""
    whole = _Block(encoding, np.arange(len(encoding.schema)), rng)
    regions = [TableRegion(whole.columns, encoding.total)]
    waiting = [(-encoding.total, 0)]
    blocks = {0: whole}
    while waiting:
        _, number = heappop(waiting)
        block, region = blocks.pop(number), regions[number]
        partition = None if watch.should_stop() else _partition(block, region, how)
        if partition is None or region.weight < max(how.sizes):
            region.leaf = _fit_leaf(block, how, watch)
        if partition is not None:
            region.kind = partition.kind
            for part in partition.blocks:
                region.children.append(len(regions))
                blocks[len(regions)] = part
                heappush(waiting, (-part.encoding.total, len(regions)))
                regions.append(TableRegion(part.columns, part.encoding.total))
        watch.report("partitioning the table", len(regions) - len(waiting), len(regions))
    return regions


def _partition(block: _Block, region: TableRegion, how: Partitioning) -> _Partition | None:
    """The partition of a region by columns if they are independent, else by rows; None where it is a leaf."""
    if region.weight < min(how.sizes) or region.columns.size == 1:
        return None
    if block.gain is None:
        block.gain = pair_gains(block.encoding, how.smoothing)
    if not block.connected:
        groups = dependent_groups(block.encoding, block.gain, how.threshold)
        if len(groups) > 1:
            return _Partition("product", _column_parts(block, block.gain, groups))
    label = cluster_rows(block.encoding, block.rng, how.clustering)
    if not label.any():
        return None
    return _Partition("sum", _row_parts(block, label))


def _column_parts(block: _Block, gain: Floats, groups: list[Ints]) -> list[_Block]:
    every = slice(None)
    return [
        _Block(block.encoding.part(every, group), block.columns[group], rng, gain[np.ix_(group, group)], True)
        for group, rng in zip(groups, block.rng.spawn(len(groups)), strict=True)
    ]


def _row_parts(block: _Block, label: Ints) -> list[_Block]:
    every = np.arange(block.columns.size)
    clusters = range(int(label.max()) + 1)
    return [
        _Block(block.encoding.part(np.flatnonzero(label == k), every), block.columns, rng)
        for k, rng in zip(clusters, block.rng.spawn(len(clusters)), strict=True)
    ]


def _fit_leaf(block: _Block, how: Partitioning, watch: Watch) -> RegionLeaf:
    """A forest over the columns, or over those that are not numbers and a Gaussian over those that are.

    The forest has no links where none are wanted or no time is left to find them.
    """
    encoding = block.encoding
    if block.gain is None and how.leaf == "chow-liu" and block.columns.size > 1 and not watch.should_stop():
        block.gain = pair_gains(encoding, how.smoothing)
    if block.gain is None or how.leaf == "univariate":
        gain = np.zeros((block.columns.size, block.columns.size))
    else:
        gain = block.gain - how.link_cost * link_parameters(encoding.schema)
    forest = best_forest(gain, categorical_mask(encoding.schema))
    numbers = gaussian_block(encoding) if how.leaf != "univariate" else None
    if numbers is not None and numbers.gain > _numeric_gain(encoding, forest, gain):
        rest = np.setdiff1d(np.arange(block.columns.size), numbers.columns)
        part = encoding.part(slice(None), rest)
        forest = best_forest(gain[np.ix_(rest, rest)], categorical_mask(part.schema))
        return RegionLeaf(rest, forest, forest_tables(part, forest, how.smoothing), numbers)
    every = np.arange(block.columns.size)
    return RegionLeaf(every, forest, forest_tables(encoding, forest, how.smoothing), None)


def _numeric_gain(encoding: Encoding, forest: Forest, gain: Floats) -> float:
    """What the links of a forest to numeric columns gain, in nats, less the price of their parameters."""
    price = 0.5 * np.log(max(encoding.total, 1.0)) * link_parameters(encoding.schema)
    linked = [c for c in encoding.layout.real.tolist() if forest.parent[c] >= 0]
    return float(sum(gain[forest.parent[c], c] - price[forest.parent[c], c] for c in linked))


def region_circuit(schema: Schema, regions: Sequence[TableRegion], size: int) -> Graph:
    """The circuit of the regions, in which regions of less weight than `size` are leaves."""
    builder = Builder(schema)
    ends = [region.kind == "leaf" or region.weight < size for region in regions]
    node: dict[int, int] = {}
    for number in _reachable_regions(regions, ends)[::-1]:
        region = regions[number]
        if ends[number]:
            assert region.leaf is not None
            node[number] = region.leaf.node(builder, region.columns)
            continue
        below = [node[child] for child in region.children]
        if region.kind == "product":
            node[number] = builder.product(below)
        else:
            share = np.array([regions[child].weight for child in region.children])
            node[number] = builder.sum(below, np.log(share / share.sum()))
    return builder.freeze(node[0])


def _reachable_regions(regions: Sequence[TableRegion], ends: Sequence[bool]) -> list[int]:
    """The regions that a circuit holds, parents before children."""
    used = [0]
    for number in used:
        if not ends[number]:
            used.extend(regions[number].children)
    return used
