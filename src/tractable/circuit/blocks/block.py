"""The interface of blocks of leaves to circuits, the engine and files."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from tractable.base.arrays import AnyArray, Bools, Floats, Ints
from tractable.data.evidence import Region
from tractable.data.schema import Schema

B = TypeVar("B", bound="Block")

Layout = Mapping[str, tuple[Any, int]]  # the type and the number of dimensions of arrays by their names


class LeafNumbers(NamedTuple):
    """The leaves that have become constants, and their logarithms."""

    log_value: Floats  # (nodes,) of a leaf that is not known, the factor that it has gained
    known: Bools  # (nodes,)


class LeafCounts(NamedTuple):
    """The expected counts of the leaves of a block: of each state, or of each row."""

    states: Floats  # (leaves, states) over categorical columns, missing cells left out; else (leaves, 0)
    flows: Floats  # (leaves, rows) of other leaves, rows with a missing cell included; else (leaves, 0)


@dataclass(frozen=True, slots=True)
class MissingCells:
    """The treatment of missing cells: summed out within regions, or at their best values."""

    regions: Mapping[int, Region] = field(default_factory=dict)
    best: frozenset[int] = frozenset()
    errors: dict[tuple[int, ...], float] = field(default_factory=dict)  # of numerical integration, by columns

    def concerns(self, columns: Ints) -> bool:
        """Whether some of these columns lie in regions or are at their best."""
        return any(c in self.regions or c in self.best for c in columns.tolist())


class Block(ABC):
    """Leaves of one kind. Blocks are frozen dataclasses, and nothing is changed in place."""

    section: ClassVar[str]  # what the names of its arrays begin with in files
    layout: ClassVar[Layout]  # its arrays in files
    per_leaf: ClassVar[tuple[str, ...]]  # the fields that are arrays with a line for each leaf
    is_fixed: bool = True  # whether no parameter is changed by data

    node: Ints  # (leaves,) the node that each leaf is, ascending

    # ---- identity and columns

    @property
    @abstractmethod
    def name(self) -> str:
        """What its leaves are called, in files and in reports."""

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """What two blocks have in common that can be one."""

    @property
    def scope(self) -> Ints:
        """The columns that each leaf is a distribution of. Shape (leaves, columns)."""
        return np.zeros((self.node.size, 0), dtype=np.int64)

    @property
    def reads(self) -> Ints:
        """The columns that leaves depend on without being distributions of them, ascending."""
        return np.zeros(0, dtype=np.int64)

    @abstractmethod
    def first_column(self, schema: Schema) -> Ints:
        """The column that each leaf counts for where a single one is asked for. Shape (leaves,)."""

    def renumber(self, node: Ints) -> Self:
        """The block whose leaves are other nodes, which ascend in the same order."""
        return replace(self, node=node)  # type: ignore[type-var]

    def select(self, which: Ints | slice) -> Self:
        """Some of the leaves."""
        return replace(self, **{name: getattr(self, name)[which] for name in self.per_leaf})  # type: ignore[type-var]

    @abstractmethod
    def over(self, place: Ints) -> Self:
        """The block where column j is called `place[j]`."""

    @abstractmethod
    def check(self, schema: Schema) -> None:
        """Refuse arrays that do not fit together, columns of another kind, and wrong parameters.

        Raises:
            ValueError: naming the leaf, the column or the parameter that is wrong.
        """

    @abstractmethod
    def describe(self, schema: Schema) -> list[str]:
        """Each leaf in a few words, for pictures."""

    # ---- values

    @abstractmethod
    def write_log_values(self, rows: Floats, schema: Schema, missing: MissingCells, out: Floats) -> None:
        """Write the log-values of all leaves for each row to `out`, (leaves, rows)."""

    def log_values(self, rows: Floats, schema: Schema, missing: MissingCells | None = None) -> Floats:
        """The log-values of all leaves for each row. Shape (leaves, rows)."""
        out = np.empty((self.node.size, len(rows)))
        self.write_log_values(rows, schema, missing or MissingCells(), out)
        return out

    def is_tabular(self, schema: Schema) -> bool:
        """Whether each leaf is a distribution of states, whose values are a table."""
        return False

    def unsummable(self, schema: Schema) -> str | None:
        """What keeps sums over all rows from being numbers, in words; None if nothing does."""
        return None

    @abstractmethod
    def observe(
        self, row: Floats, regions: Mapping[int, Region], schema: Schema, numbers: LeafNumbers
    ) -> "Sequence[Block]":
        """The leaves over what stays open once cells of one row, and regions of others, are known.

        Leaves of which everything is known become numbers, and may be missing in the answer; those of which
        a part is known gain a factor.

        Raises:
            ValueError: if there are no such leaves.
        """

    def sum_out(self, stays: Bools, schema: Schema, numbers: LeafNumbers) -> "Sequence[Block]":
        """The leaves over the columns that stay; those over no other column become numbers."""
        return [self]

    def complete(  # noqa: B027 (what is no distribution has nothing to write)
        self,
        rows: Floats,
        answer: Floats,
        chosen: Callable[[int], Ints],
        schema: Schema,
        missing: MissingCells,
        uniform: Callable[[AnyArray, int], Floats],
    ) -> None:
        """Write missing cells of rows to `answer`, at their best if `missing` names such columns, or drawn.

        `chosen(column)` is the leaf of the block from which each row takes the column, out of range where it
        takes it from another block. `uniform(rows, column)` are numbers in [0, 1) for some of the rows.
        """

    # ---- parameters

    @property
    def parameters(self) -> Floats:
        """The parameters that learning can change, in one array."""
        parameters: Floats = getattr(self, "params", np.zeros((self.node.size, 0)))
        return parameters

    def with_parameters(self, parameters: Floats) -> Self:
        """The block with other parameters."""
        return replace(self, params=parameters) if "params" in self.per_leaf else self  # type: ignore[type-var]

    @property
    def parameter_count(self) -> int:
        """The number of parameters."""
        return self.parameters.size

    def refit(
        self, counts: LeafCounts, values: Floats, schema: Schema, smoothing: float, step: float = 1.0
    ) -> Self:
        """Leaves of maximum likelihood for expected counts; `values` are the rows that were counted.

        With a `step` below one, leaves that were counted row by row move so far from what they are.
        """
        return self

    def randomise(self, rng: np.random.Generator) -> Self:
        """Random parameters of leaves over categorical columns; others keep theirs."""
        return self

    def entropy(self, schema: Schema) -> Floats:
        """The (differential) entropy of each leaf in nats, zero for other blocks. Shape (leaves,)."""
        return np.zeros(self.node.size)

    # ---- files

    @property
    def arrays(self) -> dict[str, AnyArray]:
        """The block as arrays of its layout."""
        return {name: getattr(self, name) for name in self.layout}


def join_blocks(blocks: Sequence[B]) -> B:
    """Blocks of one key as one; its nodes are in the order of the blocks."""
    first = blocks[0]
    if len(blocks) == 1:
        return first
    arrays = {name: np.concatenate([getattr(b, name) for b in blocks]) for name in first.per_leaf}
    return replace(first, **arrays)  # type: ignore[type-var]


def check_lines(block: Block) -> None:
    """Refuse a block whose arrays have not one line for each leaf.

    Raises:
        ValueError: saying so.
    """
    for name in block.per_leaf:
        array, dimensions = getattr(block, name), block.layout.get(name, (None, 1))[1]
        if array.ndim != dimensions or len(array) != block.node.size:
            raise ValueError(f"the arrays of the {block.name} leaves do not fit together")
