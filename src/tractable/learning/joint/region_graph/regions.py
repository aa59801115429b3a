"""Region graphs: sets of columns, and the ways in which each is divided into two.

The smallest regions are patches: columns that are not divided further. A region is named by its patches, so
that regions with the same columns are one region, however they are reached.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from tractable.base.arrays import Ints

Region: TypeAlias = frozenset[int]  # the numbers of its patches


class Partition(NamedTuple):
    """Two regions that make up a third."""

    first: Region
    second: Region


@dataclass(slots=True)
class RegionGraph:
    """The regions below a root that has all patches, and the partitions of each."""

    patches: list[Ints]  # the columns of each patch, ascending
    partitions: dict[Region, list[Partition]] = field(default_factory=dict)  # none for a single patch

    @property
    def root(self) -> Region:
        """The region of all columns."""
        return frozenset(range(len(self.patches)))

    def divide(self, region: Region, first: Region) -> None:
        """Add a partition of a region, unless it has it already."""
        found = self.partitions.setdefault(region, [])
        partition = Partition(first, region - first)
        if partition not in found and Partition(region - first, first) not in found:
            found.append(partition)

    def reached(self) -> list[Region]:
        """All regions below the root, smaller ones first, in an order that is always the same."""
        found, waiting = {self.root}, [self.root]
        while waiting:
            for partition in self.partitions.get(waiting.pop(), []):
                for part in partition:
                    if part not in found:
                        found.add(part)
                        waiting.append(part)
        return sorted(found, key=lambda region: (len(region), sorted(region)))
