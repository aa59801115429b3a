"""The interface of every family of leaves.

A family works on blocks: `params` is (leaves, width), one line a leaf, and answers come for all leaves at
once. A family never sees a missing value: the engine sums those out before it asks.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit.leaves.moments import LeafMoments
from tractable.data.evidence import Region
from tractable.data.schema import Variable


class Family(ABC):
    """A kind of distribution over one column. Families hold no state: the parameters come with each call."""

    name: ClassVar[str]  # as files write it
    is_indicator: ClassVar[bool] = False  # whether a leaf is one at a single state, which is its parameter
    is_fixed: ClassVar[bool] = False  # whether a leaf has no parameter that data can change
    over_states: ClassVar[bool] = False  # whether a leaf is a distribution of states that data can change
    is_learned: ClassVar[bool] = False  # whether learners may give its leaves to the columns that it accepts
    narrower: ClassVar["Family | None"] = None  # a special case of the family, which has the first parameters

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Family) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    @abstractmethod
    def accepts(self, variable: Variable) -> bool:
        """Whether leaves of this family can stand over such a column."""

    @abstractmethod
    def width(self, variable: Variable) -> int:
        """The number of parameters of a leaf over `variable`."""

    @abstractmethod
    def check(self, params: Floats, variable: Variable) -> str | None:
        """What is wrong with a block's parameters, in words; None when nothing is."""

    @abstractmethod
    def fit(self, x: Floats, weight: Floats, variable: Variable, smoothing: float) -> Floats:
        """Parameters of maximum likelihood for weighted values.

        `x` is (rows,), `weight` is (leaves, rows), the answer is (leaves, width). `smoothing` is a
        pseudo-count in rows. Over a categorical column it is divided evenly among the states; over a numeric
        column `pseudo_rows` says where the pseudo-rows lie. A leaf whose weights are all zero is fitted to
        the rows as they weigh in all leaves together.
        """

    def refit(
        self, params: Floats, x: Floats, weight: Floats, variable: Variable, smoothing: float
    ) -> Floats:
        """Maximum likelihood parameters of existing leaves; entries that are not parameters are unchanged."""
        return params if self.is_fixed else self.fit(x, weight, variable, smoothing)

    def estimate(
        self, x: Floats, weight: Floats, variable: Variable, smoothing: float, mean: float
    ) -> Floats:
        """Parameters of new leaves for groups of a learner's rows.

        They are those of `fit`, but groups may decide together whether they need more parameters than
        `narrower` leaves have, and `mean` is that of the whole column, of which the rows may be a part.
        """
        return self.fit(x, weight, variable, smoothing)

    def is_narrow(self, params: Floats) -> Bools:
        """Which leaves are as well leaves of `narrower`, with as many of the parameters. Shape (leaves,)."""
        return np.zeros(len(params), dtype=np.bool_)

    def reorder_states(self, params: Floats, order: Ints) -> Floats:
        """Parameters for a column whose states change places: `order[k]` is the new code of state k."""
        return params

    def randomise(self, params: Floats, rng: np.random.Generator) -> Floats:
        """Random parameters in the place of `params`; families over numeric columns keep theirs."""
        return params

    def describe(self, params: list[float], variable: Variable) -> str:
        """One leaf in a few words, for pictures."""
        return f"{variable.name} ~ {self.name}({', '.join(f'{p:.3g}' for p in params)})"

    def blend(self, params: Floats, towards: Floats, step: float) -> Floats:
        """Parameters between those of two blocks: `step` from 0 to 1 of the way from one to the other."""
        return (1 - step) * params + step * towards

    @abstractmethod
    def log_prob(self, params: Floats, x: Floats) -> Floats:
        """The log-probability (or density) of `x`, (leaves, rows) or (1, rows): shape (leaves, rows)."""

    @abstractmethod
    def log_mass(self, params: Floats, region: Region) -> Floats:
        """The log-probability that the value lies in `region`. Shape (leaves,)."""

    @abstractmethod
    def mode(self, params: Floats, region: Region | None = None) -> Floats:
        """The most probable value (inside `region`). Shape (leaves,)."""

    @abstractmethod
    def draw(self, params: Floats, uniform: Floats, region: Region | None = None) -> Floats:
        """One value for each line of `params` (inside `region`), from numbers uniform in [0, 1).

        Drawing by the inverse of the distribution function keeps a sample the same for the same numbers.
        """

    @abstractmethod
    def moments(self, params: Floats, region: Region | None = None) -> LeafMoments:
        """Mean and standard deviation (inside `region`), each accurate however far from zero the values lie.

        Shapes (leaves,). For a categorical column the value is the state's code.
        """

    @abstractmethod
    def entropy(self, params: Floats) -> Floats:
        """The (differential) entropy in nats. Shape (leaves,)."""

    def support(self, params: Floats) -> tuple[Floats, Floats]:
        """For each leaf over numbers an interval [low, high) outside of which it is zero. Shapes (leaves,).

        Leaves of most families are above zero everywhere: theirs is infinite.
        """
        return np.full(len(params), -np.inf), np.full(len(params), np.inf)


class Density(Family):
    """A family over real numbers whose masses of intervals can stand for the probabilities of whole numbers.

    `Rounded` makes a family over whole numbers of it.
    """

    can_be_bounded: ClassVar[bool] = False  # whether a leaf can be limited to numbers from zero up

    @abstractmethod
    def log_between(self, params: Floats, low: Floats, high: Floats) -> Floats:
        """The log-probability of many intervals, accurate however short they are or how far out.

        The ends are (leaves, intervals) or (1, intervals), the answer is (leaves, intervals).
        """

    def log_cells(self, params: Floats, middle: Floats) -> Floats:
        """The log-probability of the cells of length one around some numbers. Shape (leaves, numbers)."""
        return self.log_between(params, middle - 0.5, middle + 0.5)

    @abstractmethod
    def window(self, params: Floats, region: Region | None = None) -> tuple[Floats, Floats]:
        """The ends of the part (of the region) outside of which the mass is negligible. Shapes (leaves,)."""

    @abstractmethod
    def fit_whole(self, x: Floats, weight: Floats, variable: Variable, smoothing: float) -> Floats:
        """Like `fit`, for whole numbers that are the roundings of what the density is of."""

    @abstractmethod
    def refit_whole(
        self, params: Floats, x: Floats, weight: Floats, variable: Variable, smoothing: float
    ) -> Floats:
        """Like `refit`, for whole numbers."""

    def check_whole(self, params: Floats, variable: Variable) -> str | None:
        """What keeps valid parameters from being those of leaves over whole numbers, in words."""
        return None
