"""Networks: a schema and factors whose product is the distribution."""

from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from math import prod
from typing import Literal, TypeAlias

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.data.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class TableFactor:
    """A table of log-values of all combinations of states; in a Bayesian network the child comes first."""

    columns: tuple[int, ...]
    log_values: Floats  # one axis a column, as long as it has states

    @property
    def scope(self) -> tuple[int, ...]:
        """The columns of the factor."""
        return self.columns


@dataclass(frozen=True, slots=True, eq=False)
class FeatureFactor:
    """A conjunction of conditions: the factor is exp(`log_weight`) if all hold, otherwise one."""

    columns: tuple[int, ...]  # the column of each condition
    states: tuple[int, ...]
    equals: tuple[bool, ...]  # whether the column must equal the state, or differ from it
    log_weight: float

    @property
    def scope(self) -> tuple[int, ...]:
        """The columns of the factor."""
        return tuple(dict.fromkeys(self.columns))


@dataclass(frozen=True, slots=True, eq=False)
class TreeFactor:
    """A decision tree whose leaves are distributions of one column, its child.

    Node 0 is the root. An inner node tests whether `column` has `state` and leads to `then` or `otherwise`;
    at a leaf `column` is -1 and the row of `log_prob` applies.
    """

    child: int
    column: Ints  # (tree nodes,)
    state: Ints  # (tree nodes,)
    then: Ints  # (tree nodes,)
    otherwise: Ints  # (tree nodes,)
    log_prob: Floats  # (tree nodes, states of the child)

    @property
    def scope(self) -> tuple[int, ...]:
        """The columns of the factor, the child first."""
        asked = dict.fromkeys(int(c) for c in self.column if c >= 0)
        return tuple(dict.fromkeys([self.child, *asked]))


MOST_STATES = 65_536  # of a column in a file; more is a damaged file, not a network
MOST_ENTRIES = 100_000_000  # of a table in a file

FREE_STATES = 4096  # that the columns of a file may have together, however short it is ...
FREE_ENTRIES = 1 << 20  # ... and a table that it does not write out

Factor: TypeAlias = TableFactor | FeatureFactor | TreeFactor


@dataclass(frozen=True, eq=False)
class Network:
    """Factors over the columns of a schema.

    In a Bayesian network every column is the child of one factor, and the parents form no cycle.
    """

    schema: Schema
    factors: tuple[Factor, ...]
    kind: Literal["bayes", "markov"]

    def __post_init__(self) -> None:
        if not len(self.schema):
            raise ValueError("a network must have at least one column")
        for variable in self.schema:
            if not variable.is_categorical:
                raise ValueError(
                    f"column '{variable.name}' is {variable.kind}: the columns of a network must be"
                    " categorical"
                )
        for number, factor in enumerate(self.factors):
            _check_factor(self.schema, factor, f"factor {number}")
        if self.kind == "bayes":
            _check_children(self)


@dataclass(frozen=True, eq=False)
class Source:
    """The information that is kept of the network from which a circuit was compiled."""

    network: Network
    order: Ints  # (columns,) the order in which columns were summed out

    def __post_init__(self) -> None:
        if not np.array_equal(np.sort(self.order), np.arange(len(self.network.schema))):
            raise ValueError("the order of elimination does not name each column once")


def _check_factor(schema: Schema, factor: Factor, name: str) -> None:
    for column in factor.scope:
        if not 0 <= column < len(schema):
            raise ValueError(f"{name} is over column {column}, out of range")
    if isinstance(factor, TableFactor):
        _check_table(schema, factor, name)
    elif isinstance(factor, FeatureFactor):
        _check_conditions(schema, factor, name)
    else:
        _check_tree(schema, factor, name)


def _check_table(schema: Schema, factor: TableFactor, name: str) -> None:
    if len(set(factor.columns)) < len(factor.columns):
        raise ValueError(f"{name} names a column twice")
    shape = tuple(schema[c].cardinality for c in factor.columns)
    if factor.log_values.shape != shape:
        raise ValueError(f"{name} has shape {factor.log_values.shape}, its columns ask for {shape}")
    _check_logs(factor.log_values, name)


def _check_logs(logs: Floats, name: str) -> None:
    wrong = logs[np.isnan(logs) | (logs == np.inf)]
    if wrong.size:
        raise ValueError(f"{name} has the log value {wrong[0]:g}")


def _check_conditions(schema: Schema, factor: FeatureFactor, name: str) -> None:
    if not len(factor.columns) == len(factor.states) == len(factor.equals):
        raise ValueError(f"{name}: columns, states and signs differ in number")
    for column, state in zip(factor.columns, factor.states, strict=True):
        if not 0 <= state < schema[column].cardinality:
            raise ValueError(f"{name}: column '{schema[column].name}' has no state number {state}")
    _check_logs(np.array([factor.log_weight]), name)


def _check_tree(schema: Schema, factor: TreeFactor, name: str) -> None:
    size = factor.column.size
    if factor.log_prob.shape != (size, schema[factor.child].cardinality):
        raise ValueError(f"{name}: the leaves do not fit column '{schema[factor.child].name}'")
    inner = np.flatnonzero(factor.column >= 0)
    if (factor.column[inner] == factor.child).any():
        raise ValueError(f"{name}: the tree tests its own child '{schema[factor.child].name}'")
    for branch in (factor.then, factor.otherwise):
        if branch.shape != (size,) or (branch[inner] <= inner).any() or (branch[inner] >= size).any():
            raise ValueError(f"{name}: a branch does not lead to a later node of the tree")
    _check_logs(factor.log_prob[factor.column < 0], name)


def _check_children(network: Network) -> None:
    names = network.schema.names
    parents: dict[int, tuple[int, ...]] = {}
    for factor in network.factors:
        if isinstance(factor, FeatureFactor):
            raise ValueError("a Bayesian network must consist of tables and trees, not of features")
        if not factor.scope:
            raise ValueError("a factor of a Bayesian network must have a child")
        child = factor.scope[0]
        if child in parents:
            raise ValueError(f"column '{names[child]}' has two distributions")
        if not _sums_to_one(factor):
            raise ValueError(f"the probabilities of column '{names[child]}' do not sum to 1")
        parents[child] = factor.scope[1:]
    for column, name in enumerate(names):
        if column not in parents:
            raise ValueError(f"column '{name}' has no distribution")
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        circle = " -> ".join(names[c] for c in reversed(error.args[1]))
        raise ValueError(f"the parents form a cycle: {circle}") from None


def _sums_to_one(factor: TableFactor | TreeFactor) -> bool:
    logs = factor.log_values if isinstance(factor, TableFactor) else factor.log_prob[factor.column < 0].T
    return bool(np.allclose(np.exp(logs).sum(axis=0), 1, rtol=0, atol=1e-6))


def normalise_table(probabilities: Floats, tolerance: float = 1e-2) -> Floats:
    """The logarithms of distributions along the first axis, normalised exactly.

    Numbers in files are rounded, so sums within `tolerance` of one are accepted.

    Raises:
        ValueError: naming a sum outside the tolerance, or a number that is not a probability.
    """
    wrong = probabilities[~((probabilities >= 0) & (probabilities <= 1 + tolerance))]
    if wrong.size:
        raise ValueError(f"{wrong[0]:g} is not a probability")
    total = probabilities.sum(axis=0)
    off: Bools = np.abs(total - 1) > tolerance
    if off.any():
        raise ValueError(f"probabilities sum to {total[off].flat[0]:g}, not to 1")
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(probabilities / total)
    return logs


def check_states(sizes: Sequence[int], letters: int) -> None:
    """Refuse columns with more states than a file of this length can plausibly describe.

    A schema needs memory for each state, and a circuit much more.

    Raises:
        ValueError: if there are too many states.
    """
    if sum(sizes) > FREE_STATES + letters:
        raise ValueError(f"the columns have {sum(sizes):,} states together, too many for a file of this size")


def check_entries(name: str, shape: Sequence[int], letters: int) -> None:
    """Refuse the table of a column with more entries than a file of this length can describe.

    Raises:
        ValueError: if there are too many entries.
    """
    if prod(shape) > FREE_ENTRIES + letters:
        raise ValueError(f"the table of '{name}' has {prod(shape):.3g} entries, too many for its file")
