"""What every family of leaves can do.

A family works on blocks: `params` is (leaves, width), one line a leaf, and answers come for all leaves at
once. A family never sees a missing value: the engine sums those out before it asks.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

from tractable.arrays import Floats
from tractable.data.regions import Region
from tractable.data.schema import Variable


class Family(ABC):
    """A kind of distribution over one column. Families hold no state: the parameters come with each call."""

    name: ClassVar[str]

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

        `x` is (rows,), `weight` is (leaves, rows), the answer is (leaves, width). `smoothing` is the number
        of imaginary rows, spread evenly over the states (or, over a number, like the rows as they
        weigh in all leaves together); a leaf whose weights are all zero gets that prior.
        """

    def refit(
        self, params: Floats, x: Floats, weight: Floats, variable: Variable, smoothing: float
    ) -> Floats:
        """Parameters of maximum likelihood for leaves that stand already; what is no parameter stays."""
        return self.fit(x, weight, variable, smoothing)

    def blend(self, params: Floats, towards: Floats, step: float) -> Floats:
        """Leaves that are part of the way, from 0 to 1, from one block's parameters to another's."""
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
    def moments(self, params: Floats, region: Region | None = None) -> tuple[Floats, Floats]:
        """The mean and the variance (inside `region`), each accurate however far from zero the values lie.

        Shapes (leaves,). For a categorical column the value is the state's code.
        """

    @abstractmethod
    def entropy(self, params: Floats) -> Floats:
        """The (differential) entropy in nats. Shape (leaves,)."""
