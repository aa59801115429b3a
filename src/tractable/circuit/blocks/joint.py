"""Leaves over several numeric columns together."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self
from warnings import warn

import numpy as np

from tractable.base.arrays import AnyArray, Bools, Floats, Ints
from tractable.circuit.blocks.block import Block, Layout, LeafCounts, LeafNumbers, MissingCells, check_lines
from tractable.circuit.leaves.multivariate import Box, GaussianLeaf, GaussianStack, MultivariateGaussian
from tractable.data.evidence import Interval, Region
from tractable.data.schema import Schema

TELL = 1e-9  # a relative error of numerical integration from which on it is told


class IntegrationWarning(UserWarning):
    """A probability that was integrated numerically, and is exact but for a small error."""


class Stacked(NamedTuple):
    """The leaves of a block that are over the same columns."""

    leaves: Ints
    columns: Ints
    stack: GaussianStack


@dataclass(frozen=True, eq=False)
class JointBlock(Block):
    """All leaves of one family over equally many numeric columns together."""

    section: ClassVar[str] = "joint"
    layout: ClassVar[Layout] = {"node": (np.int64, 1), "columns": (np.int64, 2), "params": (np.float64, 2)}
    per_leaf: ClassVar[tuple[str, ...]] = ("node", "columns", "params")
    is_fixed: ClassVar[bool] = False  # type: ignore[misc]

    family: MultivariateGaussian
    node: Ints  # (leaves,) the node that each leaf is, ascending
    columns: Ints  # (leaves, columns) the columns it is over, in the order of its parameters
    params: Floats  # (leaves, width)
    _leaves: dict[bytes, list[GaussianLeaf]] = field(default_factory=dict, init=False, repr=False)
    _stacks: dict[bytes, list[Stacked]] = field(default_factory=dict, init=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled or copied: everything but the distributions, which can be made again."""
        return {**self.__dict__, "_leaves": {}, "_stacks": {}}

    @property
    def name(self) -> str:
        """The family's name."""
        return self.family.name

    @property
    def key(self) -> Hashable:
        """The family, and the numbers of columns and parameters of a leaf."""
        return self.family.name, self.columns.shape[1], self.params.shape[1]

    @property
    def scope(self) -> Ints:
        """The columns of each leaf."""
        return self.columns

    def first_column(self, schema: Schema) -> Ints:
        """The first column of each leaf."""
        return self.columns[:, 0]

    def leaves(self, schema: Schema) -> list[GaussianLeaf]:
        """The distributions of the leaves, made once."""
        whole = schema.is_whole[self.columns]
        key = whole.tobytes()
        if key not in self._leaves:
            lines = zip(self.params, whole, strict=True)
            self._leaves[key] = [self.family.leaf(params, columns) for params, columns in lines]
        return self._leaves[key]

    def stacks(self, schema: Schema) -> list[Stacked]:
        """The distributions of leaves over the same columns side by side, made once."""
        leaves, key = self.leaves(schema), schema.is_whole[self.columns].tobytes()
        if key not in self._stacks:
            columns, group = np.unique(self.columns, axis=0, return_inverse=True)
            places = [np.flatnonzero(group.ravel() == number) for number in range(len(columns))]
            self._stacks[key] = [
                Stacked(here, over, GaussianStack.of([leaves[i] for i in here]))
                for over, here in zip(columns, places, strict=True)
            ]
        return self._stacks[key]

    def over(self, place: Ints) -> Self:
        """The block where column j is called `place[j]`."""
        return replace(self, columns=place[self.columns])

    def check(self, schema: Schema) -> None:
        """Refuse leaves over columns that are not distinct or not numeric, and wrong parameters."""
        check_lines(self)
        for line, node in zip(self.columns.tolist(), self.node.tolist(), strict=True):
            if not line or min(line) < 0 or max(line) >= len(schema) or len(set(line)) < len(line):
                raise ValueError(
                    f"leaf {node} is over the columns {line}: they are out of range or not distinct"
                )
            for column in line:
                if not self.family.accepts(schema[column]):
                    raise ValueError(
                        f"leaf {node}: a {self.name} leaf cannot stand over the {schema[column].kind} column"
                        f" '{schema[column].name}'"
                    )
        fault = self.family.check(self.params, self.columns.shape[1])
        if fault is not None:
            raise ValueError(f"{self.name} leaves: {fault}")

    def describe(self, schema: Schema) -> list[str]:
        """Each leaf in the words of its family."""
        return [self.family.describe([schema[c] for c in columns]) for columns in self.columns.tolist()]

    # ---- values

    def write_log_values(self, rows: Floats, schema: Schema, missing: MissingCells, out: Floats) -> None:
        """Write log-densities, missing cells summed out or at their best; errors of integrals are noted."""
        for here, columns, stack in self.stacks(schema):
            if missing.concerns(columns):
                self._write_one_by_one(here, rows[:, columns], schema, missing, out)
            else:
                out[here] = stack.log_values(rows[:, columns])

    def _write_one_by_one(
        self, here: Ints, x: Floats, schema: Schema, missing: MissingCells, out: Floats
    ) -> None:
        """Write log-densities of leaves over the same columns, some of them in intervals or at their best."""
        columns = self.columns[here[0]]
        box, best = region_box(missing.regions, columns), np.isin(columns, list(missing.best))
        key = tuple(columns.tolist())
        for i in here.tolist():
            leaf = self.leaves(schema)[i]
            filled = leaf.complete(x, box, best) if best.any() else x
            out[i], error = leaf.log_value(filled, box)
            missing.errors[key] = max(missing.errors.get(key, 0.0), error)

    def observe(
        self, row: Floats, regions: Mapping[int, Region], schema: Schema, numbers: LeafNumbers
    ) -> Sequence[Block]:
        """The leaves over the columns that stay open; the density of the known part of a leaf is its factor.

        Raises:
            ValueError: if a column lies in an interval while others of its leaf stay open.
        """
        known = ~np.isnan(row)
        known[list(regions)] = True
        blocks: list[Block] = []
        for i, leaf in enumerate(self.leaves(schema)):
            columns, node = self.columns[i], self.node[i : i + 1]
            rest = np.flatnonzero(~known[columns])
            if not rest.size:
                value, error = leaf.log_value(row[None, columns], region_box(regions, columns))
                tell_error(error)
                numbers.log_value[node], numbers.known[node] = value, True
                continue
            _refuse_intervals(schema, columns, regions)
            smaller, numbers.log_value[node] = leaf.given(row[columns])
            blocks.append(self._leaf(node, columns[rest], self.family.params(smaller)))
        return blocks

    def sum_out(self, stays: Bools, schema: Schema, numbers: LeafNumbers) -> Sequence[Block]:
        """The leaves over the columns that stay, the others summed out."""
        blocks: list[Block] = []
        for i, leaf in enumerate(self.leaves(schema)):
            columns, node = self.columns[i], self.node[i : i + 1]
            keep = np.flatnonzero(stays[columns])
            if not keep.size:
                numbers.known[node] = True
                continue
            whole = keep.size == columns.size
            params = self.params[i] if whole else self.family.params(leaf.part(keep))
            blocks.append(self._leaf(node, columns[keep], params))
        return blocks

    def _leaf(self, node: Ints, columns: Ints, params: Floats) -> "JointBlock":
        return JointBlock(self.family, node, columns[None], params[None])

    def complete(
        self,
        rows: Floats,
        answer: Floats,
        chosen: Callable[[int], Ints],
        schema: Schema,
        missing: MissingCells,
        uniform: Callable[[AnyArray, int], Floats],
    ) -> None:
        """Write the missing cells of the chosen leaves, given the cells that are seen."""
        unknown = np.isnan(rows)
        for i, (columns, leaf) in enumerate(zip(self.columns, self.leaves(schema), strict=True)):
            here = np.flatnonzero((chosen(int(columns[0])) == i) & unknown[:, columns].any(axis=1))
            if not here.size:
                continue
            x, box = rows[np.ix_(here, columns)], region_box(missing.regions, columns)
            if missing.best:
                filled = leaf.complete(x, box, np.isin(columns, list(missing.best)))
            else:
                numbers = np.stack([uniform(here, c) for c in columns.tolist()], axis=1)
                filled = leaf.draw(x, box, numbers)
            answer[np.ix_(here, columns)] = filled

    def row_moments(
        self, rows: Floats, used: Bools, schema: Schema, regions: Mapping[int, Region]
    ) -> Iterator[tuple[Ints, int, Floats, Floats]]:
        """Leaves over the same columns and each column, with mean and deviation of its cell given the row.

        `used`, (leaves, rows), says which are asked for; missing cells of others have zeros. Means and
        deviations are (leaves, rows).
        """
        for here, columns, stack in self.stacks(schema):
            if not used[here].any():
                continue
            if MissingCells(regions).concerns(columns):
                mean, sd = self._moments_one_by_one(here, rows[:, columns], used, schema, regions)
            else:
                mean, sd = stack.moments(rows[:, columns], used[here])
            for place, column in enumerate(columns.tolist()):
                yield here, column, mean[..., place], sd[..., place]

    def _moments_one_by_one(
        self, here: Ints, x: Floats, used: Bools, schema: Schema, regions: Mapping[int, Region]
    ) -> tuple[Floats, Floats]:
        """Means and deviations of leaves over the same columns, of which some lie in intervals."""
        mean, sd = np.zeros((2, here.size, *x.shape))
        box = region_box(regions, self.columns[here[0]])
        for place, i in enumerate(here.tolist()):
            rows = np.flatnonzero(used[i])
            mean[place, rows], sd[place, rows] = self.leaves(schema)[i].moments(x[rows], box)
        return mean, sd

    # ---- parameters

    def refit(
        self, counts: LeafCounts, values: Floats, schema: Schema, smoothing: float, step: float = 1.0
    ) -> Self:
        """Leaves of maximum likelihood, or a step towards them; those over the same columns go together."""
        from tractable.circuit.leaves.multivariate.fit import blend_leaves, refit_leaves_together

        leaves, params = self.leaves(schema), self.params.copy()
        _, group = np.unique(self.columns, axis=0, return_inverse=True)
        for number in np.unique(group):
            some = np.flatnonzero(group.ravel() == number)
            x = values[:, self.columns[some[0]]]
            old = [leaves[i] for i in some]
            new = refit_leaves_together(old, x, counts.flows[some], smoothing)
            for i, before, after in zip(some.tolist(), old, new, strict=True):
                params[i] = self.family.params(blend_leaves(before, after, step) if step < 1 else after)
        return replace(self, params=params)

    def entropy(self, schema: Schema) -> Floats:
        """The differential entropy of each leaf."""
        return np.array([leaf.entropy for leaf in self.leaves(schema)])


def region_box(regions: Mapping[int, Region], columns: Ints) -> Box:
    """The intervals of some columns, infinite where there is none."""
    low, high = np.full(columns.size, -np.inf), np.full(columns.size, np.inf)
    for place, column in enumerate(columns.tolist()):
        region = regions.get(column)
        if isinstance(region, Interval):
            low[place], high[place] = region.low, region.high
    return Box(low, high)


def tell_error(error: float) -> None:
    """Warn of a probability that was integrated numerically, with its relative error."""
    if error > TELL:
        power = 10.0 ** np.ceil(np.log10(error))
        warn(
            "intervals of three or more columns of one leaf were integrated numerically:"
            f" the relative error is at most about {power:.0e}",
            IntegrationWarning,
            stacklevel=2,
        )


def _refuse_intervals(schema: Schema, columns: Ints, regions: Mapping[int, Region]) -> None:
    for column in columns.tolist():
        if column in regions:
            others = next(schema[c].name for c in columns.tolist() if c not in regions)
            raise ValueError(
                f"column '{schema[column].name}' has an interval as evidence and shares a multivariate leaf"
                f" with column '{others}': the conditional distribution is not a circuit; give the interval"
                " as evidence in each query instead"
            )
