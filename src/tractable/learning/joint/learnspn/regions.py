"""Recursive partitioning of a table into independent groups of columns and clusters of rows.

The partitions form a tree of regions. The largest region is partitioned first, so that the smallest regions
remain if the time runs out. Small regions keep the leaf that they might become: truncating the tree at
several region sizes gives several circuits.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Literal, NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Key, Stopped, Watch
from tractable.circuit import Builder, Graph
from tractable.data import Schema
from tractable.learning.joint.learnspn.gaussian_blocks import GaussianBlock, gaussian_block
from tractable.learning.statistics.clustering import Clustering, cluster_rows
from tractable.learning.statistics.conditionals import forest_tables
from tractable.learning.statistics.dependence import dependent_groups, pair_gains
from tractable.learning.statistics.encoding import Encoding
from tractable.learning.statistics.forests import Forest, best_forest, categorical_mask, forest_node
from tractable.learning.statistics.link_gains import link_parameters

Leaf = Literal["chow-liu", "univariate"]


@dataclass(frozen=True, kw_only=True)
class Partitioning:
    """The settings for partitioning a table."""

    sizes: tuple[int, ...]  # regions of less weight are leaves; the smallest size ends the recursion
    threshold: float  # G statistic above which two binary columns are dependent
    clustering: Clustering
    leaf: Leaf
    smoothing: float  # pseudo-counts of each distribution of a leaf
    link_cost: float  # nats that a link of a leaf's tree must gain for each parameter


class RegionLeaf(NamedTuple):
    """A region that is not partitioned: a forest with its distributions and a Gaussian over other columns."""

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
    """A block of rows and columns, and its partition."""

    columns: Ints  # positions in the whole table, ascending
    weight: float  # of the rows
    leaf: RegionLeaf | None = None  # None where the region is a leaf of no circuit
    kind: Literal["leaf", "product", "sum"] = "leaf"
    children: list[int] = field(default_factory=list)  # positions of later regions


@dataclass(slots=True)
class _Block:
    """A region that is still to be partitioned."""

    encoding: Encoding
    columns: Ints
    rng: np.random.Generator
    gain: Floats | None = None  # among its columns, once known
    source: "tuple[_Block, Ints] | None" = None  # the block, and its columns, that the gain is a part of
    connected: bool = False  # whether its columns are known to be one group

    def knows_gain(self) -> bool:
        """Whether the gain is known or can be derived from another block."""
        return self.gain is not None or self.source is not None

    def find_gain(self, smoothing: float, watch: Watch) -> Floats:
        """The gains of pairs of columns, which are computed once, as far as there is time."""
        if self.gain is None:
            if self.source is None:
                self.gain = pair_gains(self.encoding, smoothing, watch)
            else:
                whole, group = self.source
                self.gain, self.source = whole.find_gain(smoothing, watch)[np.ix_(group, group)], None
        return self.gain


class _Partition(NamedTuple):
    """The partition of a region: the group of each of its columns, or the cluster of each distinct row."""

    kind: Literal["product", "sum"]
    label: Ints

    def parts(self, block: _Block) -> list[_Block]:
        """The blocks of the partition."""
        members = [np.flatnonzero(self.label == k) for k in range(int(self.label.max()) + 1)]
        rngs = block.rng.spawn(len(members))
        if self.kind == "sum":
            every = np.arange(block.columns.size)
            return [
                _Block(block.encoding.part(rows, every), block.columns, rng)
                for rows, rng in zip(members, rngs, strict=True)
            ]
        every_row = slice(None)
        return [
            _Block(
                block.encoding.part(every_row, group),
                block.columns[group],
                rng,
                None if block.gain is None else block.gain[np.ix_(group, group)],
                (block, group) if block.gain is None else None,
                True,
            )
            for group, rng in zip(members, rngs, strict=True)
        ]


class _Record(NamedTuple):
    """The results for a region."""

    partition: _Partition | None
    leaf: RegionLeaf | None


RECORDS = Key(__name__, "records", list[_Record])


def partition_table(
    encoding: Encoding, rng: np.random.Generator, settings: Partitioning, watch: Watch
) -> list[TableRegion]:
    """The regions of a table; the first is the whole table.

    The results of an earlier run for the first regions are reused. The random numbers of a region depend only
    on its position.
    """
    whole = _Block(encoding, np.arange(len(encoding.schema)), rng)
    regions = [TableRegion(whole.columns, encoding.total)]
    waiting = [(-encoding.total, 0)]
    blocks = {0: whole}
    records = watch.checkpoint(RECORDS) or []
    done = 0
    while waiting:
        _, number = heappop(waiting)
        block, region = blocks.pop(number), regions[number]
        is_new = done == len(records)
        if is_new:
            records.append(_examine(block, region, settings, watch))
        partition, region.leaf = records[done]
        done += 1
        if partition is not None:
            region.kind = partition.kind
            for part in partition.parts(block):
                region.children.append(len(regions))
                blocks[len(regions)] = part
                heappush(waiting, (-part.encoding.total, len(regions)))
                regions.append(TableRegion(part.columns, part.encoding.total))
        watch.report("partitioning the table", len(regions) - len(waiting), len(regions))
        if is_new:
            watch.save_checkpoint(RECORDS, lambda: records)
    return regions


def _examine(block: _Block, region: TableRegion, settings: Partitioning, watch: Watch) -> _Record:
    """The partition of a region, and its leaf if it is one in any circuit."""
    partition = None
    with suppress(Stopped):
        partition = _partition(block, region, settings, watch)
    is_leaf = partition is None or region.weight < max(settings.sizes)
    return _Record(partition, _fit_leaf(block, settings, watch) if is_leaf else None)


def _partition(block: _Block, region: TableRegion, settings: Partitioning, watch: Watch) -> _Partition | None:
    """The partition of a region by columns if they are independent, otherwise by rows; None for a leaf."""
    watch.break_off()
    if region.weight < min(settings.sizes) or region.columns.size == 1:
        return None
    gain = block.find_gain(settings.smoothing, watch)
    if not block.connected:
        groups = dependent_groups(block.encoding, gain, settings.threshold)
        if len(groups) > 1:
            label = np.zeros(region.columns.size, dtype=np.int64)
            for number, group in enumerate(groups):
                label[group] = number
            return _Partition("product", label)
    label = cluster_rows(block.encoding, block.rng, settings.clustering, watch.break_off)
    return _Partition("sum", label) if label.any() else None


def _fit_leaf(block: _Block, settings: Partitioning, watch: Watch) -> RegionLeaf:
    """A forest over the columns, or over categorical columns and a Gaussian over numeric ones.

    The forest has no edges if none are wanted or there is no time left.
    """
    encoding = block.encoding
    has_time = block.columns.size > 1 and not watch.should_stop()
    if settings.leaf == "chow-liu" and (has_time or block.knows_gain()):
        gain = block.find_gain(settings.smoothing, watch) - settings.link_cost * link_parameters(
            encoding.schema
        )
    else:
        gain = np.zeros((block.columns.size, block.columns.size))
    forest = best_forest(gain, categorical_mask(encoding.schema))
    numbers = gaussian_block(encoding) if settings.leaf != "univariate" else None
    if numbers is not None and numbers.gain > _numeric_gain(encoding, forest, gain):
        rest = np.setdiff1d(np.arange(block.columns.size), numbers.columns)
        part = encoding.part(slice(None), rest)
        forest = best_forest(gain[np.ix_(rest, rest)], categorical_mask(part.schema))
        return RegionLeaf(rest, forest, forest_tables(part, forest, settings.smoothing), numbers)
    every = np.arange(block.columns.size)
    return RegionLeaf(every, forest, forest_tables(encoding, forest, settings.smoothing), None)


def _numeric_gain(encoding: Encoding, forest: Forest, gain: Floats) -> float:
    """The gain of a forest's edges to numeric columns, in nats, minus the price of their parameters."""
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
