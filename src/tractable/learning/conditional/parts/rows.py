"""Rows as regressions of targets on inputs see them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit.leaves.logistic import InputFeatures, input_features
from tractable.data import Table


@dataclass(frozen=True, slots=True, eq=False)
class RegressionRows:
    """Features of the inputs, states of the targets and the weight of each row."""

    x: Floats  # (rows, features + 1) the last is always one
    y: Ints  # (rows, targets)
    states: Ints  # (targets,) the number of states of each target
    weight: Floats  # (rows,)
    whole: Floats  # (rows,) the weight before any part of it was taken, by which prior means are found

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.weight.sum())

    def reweight(self, share: Floats) -> "RegressionRows":
        """The rows with a part of their weights each."""
        return replace(self, weight=self.weight * share)

    def select(self, targets: Ints) -> "RegressionRows":
        """The rows of some targets."""
        return replace(self, y=self.y[:, targets], states=self.states[targets])

    def heavier_than(self, least: float) -> "RegressionRows":
        """The rows of which at least such a part was taken."""
        some = self.weight >= least * self.whole
        return RegressionRows(self.x[some], self.y[some], self.states, self.weight[some], self.whole[some])

    def shares(self, target: int) -> Floats:
        """The frequency of each state of a target in whole rows, with one pseudo-count in all. (states,)."""
        states = int(self.states[target])
        counts = np.bincount(self.y[:, target], self.whole, states) + 1.0 / states
        return np.asarray(counts / counts.sum(), dtype=np.float64)

    def indicators(self, target: int) -> Floats:
        """Which rows have each state of a target. Shape (rows, states)."""
        return (self.y[:, target, None] == np.arange(self.states[target])).astype(np.float64)


def regression_rows(table: Table, features: InputFeatures) -> RegressionRows:
    """The rows of a table without missing cells; the schema tells categorical targets and inputs."""
    kept = table.take(table.row_weights > 0)
    targets = table.schema.targets
    y = kept.values[:, targets].astype(np.int64)
    return RegressionRows(
        features.encode(kept.values),
        y,
        table.schema.cardinalities[targets],
        kept.row_weights,
        kept.row_weights,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Weighted rows, and held-out rows if there are any."""

    rows: RegressionRows
    held: RegressionRows | None

    @property
    def judge(self) -> RegressionRows:
        """The rows that choose between models: held-out rows if there are any."""
        return self.rows if self.held is None else self.held

    @property
    def tables(self) -> list[RegressionRows]:
        """The rows, and the held-out rows if there are any."""
        return [self.rows] if self.held is None else [self.rows, self.held]

    def reweight(self, shares: Sequence[Floats]) -> "Sample":
        """The sample of a component, by the share of each row and of each held-out row."""
        held = None if self.held is None else self.held.reweight(shares[1])
        return Sample(self.rows.reweight(shares[0]), held)

    def heavier_than(self, least: float) -> "Sample":
        """See `RegressionRows.heavier_than`."""
        return Sample(
            self.rows.heavier_than(least), None if self.held is None else self.held.heavier_than(least)
        )


def regression_sample(table: Table, held: Table | None) -> tuple[Sample, InputFeatures]:
    """The rows of tables without missing cells, and the features of the inputs that regressions see."""
    features = input_features(table.schema, table.schema.inputs, table.values, table.row_weights)
    others = None if held is None else regression_rows(held, features)
    return Sample(regression_rows(table, features), others), features
