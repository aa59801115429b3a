"""Leaves that are the probabilities of outcomes of regressions on inputs."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from tractable.base.arrays import AnyArray, Floats, Ints
from tractable.circuit.blocks.block import Block, Layout, LeafNumbers, MissingCells
from tractable.circuit.leaves.logistic import InputFeatures, SoftmaxRegressions
from tractable.data.evidence import Region
from tractable.data.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class GateBlock(Block):
    """Leaves that are the probabilities of outcomes of regressions on inputs.

    They stand over no random variable: to a circuit of targets they are factors that depend on the row.
    """

    section: ClassVar[str] = "gate"
    layout: ClassVar[Layout] = {
        "node": (np.int64, 1), "regression": (np.int64, 1), "outcome": (np.int64, 1),
        "weights": (np.float64, 3), "column": (np.int64, 1), "state": (np.int64, 1),
        "shift": (np.float64, 1), "scale": (np.float64, 1),
    }  # fmt: skip
    per_leaf: ClassVar[tuple[str, ...]] = ("node", "regression", "outcome")
    name: ClassVar[str] = "gate"

    regressions: SoftmaxRegressions
    node: Ints  # (leaves,) the node that each leaf is, ascending
    regression: Ints  # (leaves,) the regression behind each leaf
    outcome: Ints  # (leaves,) the outcome whose probability it is

    @property
    def key(self) -> Hashable:
        """What no other block has: gates share the regressions of their block alone."""
        return self.name, id(self)

    @property
    def reads(self) -> Ints:
        """The inputs of the regressions."""
        return self.regressions.features.columns

    def first_column(self, schema: Schema) -> Ints:
        """The first input, which is never missing."""
        return np.full(self.node.size, schema.inputs[0])

    def over(self, place: Ints) -> Self:
        """The block where column j is called `place[j]`."""
        return replace(self, regressions=self.regressions.over(place))

    def select(self, which: Ints | slice) -> Self:
        """Some of the leaves, with the regressions that they need."""
        used, regression = np.unique(self.regression[which], return_inverse=True)
        return replace(
            self,
            regressions=self.regressions.select(used),
            node=self.node[which],
            regression=regression,
            outcome=self.outcome[which],
        )

    def check(self, schema: Schema) -> None:
        """Refuse gates of regressions or outcomes that there are not, and regressions on other columns."""
        size, weights = self.node.size, self.regressions.weights
        if self.regression.shape != (size,) or self.outcome.shape != (size,):
            raise ValueError("the arrays of the gates do not fit together")
        if not schema.inputs.size:
            raise ValueError("gates depend on inputs, but no column is an input")
        fault = self.regressions.check(schema)
        if fault is not None:
            raise ValueError(f"gates: {fault}")
        inside = (self.regression >= 0) & (self.regression < len(weights)) & (self.outcome >= 0)
        outside = np.flatnonzero(~inside | (self.outcome > weights.shape[1]))
        if outside.size:
            leaf = int(self.node[outside[0]])
            raise ValueError(f"gate {leaf} refers to a regression or an outcome that is out of range")

    def describe(self, schema: Schema) -> list[str]:
        """The numbers of regression and outcome."""
        lines = zip(self.regression.tolist(), self.outcome.tolist(), strict=True)
        return [f"gate {regression}, outcome {outcome}" for regression, outcome in lines]

    def write_log_values(self, rows: Floats, schema: Schema, missing: MissingCells, out: Floats) -> None:
        """Write the logarithms of the probabilities; no input is ever missing."""
        out[:] = self.regressions.log_probs(rows)[self.regression, self.outcome]

    def unsummable(self, schema: Schema) -> str | None:
        """That the values depend on inputs."""
        return "the weights of its gates depend on the row"

    def observe(
        self, row: Floats, regions: Mapping[int, Region], schema: Schema, numbers: LeafNumbers
    ) -> Sequence[Block]:
        """The gates conditioned on some inputs; constants if no input remains.

        Raises:
            ValueError: if an input is known to lie in a region only.
        """
        for column in self.reads.tolist():
            if column in regions:
                raise ValueError(
                    f"column '{schema[column].name}' is an input that a regression depends on: it must have"
                    " a value, not a region"
                )
        rest = replace(self, regressions=self.regressions.given(row))
        if not len(rest.regressions.features):
            numbers.log_value[self.node] = rest.log_values(row[None], schema)[:, 0]
            numbers.known[self.node] = True
        return [rest]

    @property
    def parameter_count(self) -> int:
        """The number of weights of the regressions."""
        return self.regressions.weights.size

    @property
    def arrays(self) -> dict[str, AnyArray]:
        """The block as arrays of its layout."""
        features = self.regressions.features
        own = (self.node, self.regression, self.outcome, self.regressions.weights)
        every = (*own, features.column, features.state, features.shift, features.scale)
        return dict(zip(self.layout, every, strict=True))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, AnyArray]) -> Self:
        """The block that `arrays` has described."""
        node, regression, outcome, weights, *features = (arrays[name] for name in cls.layout)
        return cls(SoftmaxRegressions(InputFeatures(*features), weights), node, regression, outcome)
