"""Leaves over one column each: distributions of a family."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from tractable.base.arrays import AnyArray, Bools, Floats, Ints
from tractable.circuit.blocks.block import Block, Layout, LeafCounts, LeafNumbers, MissingCells, check_lines
from tractable.circuit.leaves.factor import Factor
from tractable.circuit.leaves.family import Family
from tractable.data.evidence import Region
from tractable.data.schema import Schema

MANY_CELLS = 10_000  # of the leaves over one column, from which it pays to look at that column by itself
LEAF_LAYOUT: Layout = {"node": (np.int64, 1), "column": (np.int64, 1), "params": (np.float64, 2)}


class ColumnBlock(Block):
    """Leaves of one family and width, each of which depends on one column."""

    section: ClassVar[str] = "leaf"
    layout: ClassVar[Layout] = LEAF_LAYOUT
    per_leaf: ClassVar[tuple[str, ...]] = ("node", "column", "params")

    family: Family | Factor
    column: Ints  # (leaves,) the column that each leaf depends on
    params: Floats  # (leaves, width)

    @property
    def name(self) -> str:
        """The family's name."""
        return self.family.name

    @property
    def key(self) -> Hashable:
        """The family and the number of parameters of a leaf."""
        return self.family.name, self.params.shape[1]

    def first_column(self, schema: Schema) -> Ints:
        """The column of each leaf."""
        return self.column

    def over(self, place: Ints) -> Self:
        """The block where column j is called `place[j]`."""
        return replace(self, column=place[self.column])  # type: ignore[type-var]

    def check(self, schema: Schema) -> None:
        """Refuse leaves over columns of another kind, and wrong parameters."""
        check_lines(self)
        outside = np.flatnonzero((self.column < 0) | (self.column >= len(schema)))
        if outside.size:
            node, column = int(self.node[outside[0]]), int(self.column[outside[0]])
            raise ValueError(f"leaf {node} is over column {column}, out of range")
        order = np.argsort(self.column, kind="stable")
        columns, first = np.unique(self.column[order], return_index=True)
        for column, here in zip(columns.tolist(), np.split(order, first)[1:], strict=True):
            variable = schema[column]
            if not self.family.accepts(variable):
                raise ValueError(
                    f"leaf {int(self.node[here][0])}: a {self.name} leaf cannot stand over the"
                    f" {variable.kind} column '{variable.name}'"
                )
            fault = self.family.check(self.params[here], variable)
            if fault is not None:
                raise ValueError(f"{self.name} leaves over column '{variable.name}': {fault}")

    def describe(self, schema: Schema) -> list[str]:
        """Each leaf in the words of its family."""
        lines = zip(self.column.tolist(), self.params.tolist(), strict=True)
        return [self.family.describe(params, schema[column]) for column, params in lines]


@dataclass(frozen=True, slots=True, eq=False)
class LeafBlock(ColumnBlock):
    """All distributions of one family and width, each over one column."""

    family: Family
    node: Ints  # (leaves,) the node that each leaf is, ascending
    column: Ints  # (leaves,) the column it is over
    params: Floats  # (leaves, width)

    @property
    def is_fixed(self) -> bool:  # type: ignore[override]
        """Whether the family has no parameter that data can change."""
        return self.family.is_fixed

    @property
    def scope(self) -> Ints:
        """The column of each leaf. Shape (leaves, 1)."""
        return self.column[:, None]

    # ---- values

    def is_tabular(self, schema: Schema) -> bool:
        """Whether the columns are categorical."""
        return bool(self.node.size) and int(schema.cardinalities[self.column[0]]) > 0

    def table(self, states: int) -> Floats:
        """The log-probabilities of a number of states. Shape (leaves, states)."""
        return self.family.log_prob(self.params, np.arange(states, dtype=np.float64)[None, :])

    def write_log_values(self, rows: Floats, schema: Schema, missing: MissingCells, out: Floats) -> None:
        """Write log-values: at the cell, or over its region if it is missing.

        Where there are many cells, the leaves of a column share its line of cells.
        """
        columns = np.unique(self.column)
        if out.size < MANY_CELLS * columns.size:
            out[:] = self._few_log_values(rows, missing)
            return
        beside = self._missing_log_values(missing)
        for column in columns:
            here = _as_slice(np.flatnonzero(self.column == column))
            x = np.ascontiguousarray(rows[:, column])
            unknown = np.isnan(x)
            if unknown.all():
                out[here] = beside[here, None]
                continue
            if unknown.any():
                x[unknown] = x[~unknown][0]  # any number will do
            out[here] = self.family.log_prob(self.params[here], x[None, :])
            lines = here if isinstance(here, slice) else here[:, None]
            out[lines, np.flatnonzero(unknown)] = beside[here, None]

    def _few_log_values(self, rows: Floats, missing: MissingCells) -> Floats:
        x = rows.T[self.column]
        seen = ~np.isnan(x)
        if seen.all():
            return self.family.log_prob(self.params, x)
        beside = self._missing_log_values(missing)
        if not seen.any():
            return np.broadcast_to(beside[:, None], x.shape)
        mode = self.family.mode(self.params)[:, None]
        value = self.family.log_prob(self.params, np.where(seen, x, mode))
        return np.where(seen, value, beside[:, None])

    def _missing_log_values(self, missing: MissingCells) -> Floats:
        """The log-value of each leaf where its cell is missing. Shape (leaves,)."""
        value = np.zeros(self.node.size)
        for column in {*missing.regions, *missing.best}.intersection(self.column.tolist()):
            here = self.column == column
            region, params = missing.regions.get(column), self.params[here]
            if column in missing.best:
                best = self.family.mode(params, region)[:, None]
                value[here] = self.family.log_prob(params, best)[:, 0]
            elif region is not None:
                value[here] = self.family.log_mass(params, region)
        return value

    def observe(
        self, row: Floats, regions: Mapping[int, Region], schema: Schema, numbers: LeafNumbers
    ) -> Sequence[Block]:
        """The block, of which leaves over known columns became numbers."""
        known = ~np.isnan(row)[self.column]
        x = row[self.column[known]][:, None]
        numbers.log_value[self.node[known]] = self.family.log_prob(self.params[known], x)[:, 0]
        numbers.known[self.node[known]] = True
        for column, region in regions.items():
            here = self.column == column
            if here.any():
                numbers.log_value[self.node[here]] = self.family.log_mass(self.params[here], region)
                numbers.known[self.node[here]] = True
        return [self]

    def sum_out(self, stays: Bools, schema: Schema, numbers: LeafNumbers) -> Sequence[Block]:
        """The block, of which leaves over other columns became ones."""
        numbers.known[self.node[~stays[self.column]]] = True
        return [self]

    def complete(
        self,
        rows: Floats,
        answer: Floats,
        chosen: Callable[[int], Ints],
        schema: Schema,
        missing: MissingCells,
        uniform: Callable[[AnyArray, int], Floats],
    ) -> None:
        """Write modes or draws of the chosen leaves to the missing cells."""
        for column in np.unique(self.column).tolist():
            leaf = chosen(column)
            here = (leaf >= 0) & (leaf < self.node.size) & np.isnan(rows[:, column])
            params, region = self.params[leaf[here]], missing.regions.get(column)
            if missing.best:
                answer[here, column] = self.family.mode(params, region)
            else:
                answer[here, column] = self.family.draw(params, uniform(here, column), region)

    def moments(self, regions: Mapping[int, Region]) -> Floats:
        """Mean, rounding error of the mean, and standard deviation within the regions; zeros for mass zero.

        Shape (leaves, 3).
        """
        answer = np.stack(self._moments(self.params, None), axis=1)
        for column, region in regions.items():
            here = np.flatnonzero(self.column == column)
            if here.size:
                possible = np.isfinite(self.family.log_mass(self.params[here], region))
                answer[here] = 0.0
                if possible.any():
                    inside = here[possible]
                    answer[inside] = np.stack(self._moments(self.params[inside], region), axis=1)
        return answer

    def _moments(self, params: Floats, region: Region | None) -> tuple[Floats, Floats, Floats]:
        moments = self.family.moments(params, region)
        return moments.mean, moments.rest, moments.sd

    # ---- parameters

    @property
    def parameter_count(self) -> int:
        """The number of parameters; an indicator has none."""
        return 0 if self.family.is_indicator else self.params.size

    def refit(
        self, counts: LeafCounts, values: Floats, schema: Schema, smoothing: float, step: float = 1.0
    ) -> Self:
        """Leaves of maximum likelihood; those over numeric columns move only a step towards it.

        Leaves that nothing was counted for stay as they are.
        """
        if self.family.is_fixed:
            return self
        params = self.params.copy()
        for leaves, column in self._alike(schema):
            variable = schema[column]
            if variable.is_categorical:
                x = np.arange(variable.cardinality, dtype=np.float64)
                weight = counts.states[leaves, : variable.cardinality]
            else:
                seen = ~np.isnan(values[:, column])
                x, weight = values[seen, column], counts.flows[np.ix_(leaves, seen)]
            used = weight.sum(axis=1) > 0
            some = leaves[used]
            params[some] = self.family.refit(self.params[some], x, weight[used], variable, smoothing)
        if step < 1 and not counts.states.size:
            params = self.family.blend(self.params, params, step)
        return replace(self, params=params)

    def _alike(self, schema: Schema) -> list[tuple[Ints, int]]:
        """Groups of leaves that can be fitted together, each with one of its columns.

        Leaves over columns with equally many states form a group; each numeric column has a group of its own.
        """
        states = schema.cardinalities[self.column]
        key = np.where(states > 0, -states, self.column)
        return [(leaves := np.flatnonzero(key == k), int(self.column[leaves[0]])) for k in np.unique(key)]

    def randomise(self, rng: np.random.Generator) -> Self:
        """Random parameters of leaves over categorical columns."""
        return replace(self, params=self.family.randomise(self.params, rng))

    def entropy(self, schema: Schema) -> Floats:
        """The entropy of each leaf."""
        return self.family.entropy(self.params)


def _as_slice(places: Ints) -> Ints | slice:
    """Ascending places as a slice where no place is left out, which needs no copies."""
    first, last = int(places[0]), int(places[-1])
    return slice(first, last + 1) if last - first + 1 == places.size else places
