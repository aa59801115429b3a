"""Softmax regressions of outcomes on a row of inputs.

A leaf of a circuit that is the probability of one outcome is called a gate. Below a sum, gates are its
weights for each row; multiplied with the indicators of a target's states, they are a distribution of it.
"""

from dataclasses import dataclass, replace

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.data.schema import Schema

FARTHEST = 1e9  # standard deviations from the mean at which a number counts
LARGEST_WEIGHT = 1e8  # of a feature in its units; scores beyond that have lost their digits


@dataclass(frozen=True, slots=True, eq=False)
class InputFeatures:
    """The features of a row for regressions: one-hot states, and shifted and scaled numbers."""

    column: Ints  # (features,) the input that each feature is of
    state: Ints  # (features,) the state whose indicator it is; -1 for a number
    shift: Floats  # (features,) what is subtracted
    scale: Floats  # (features,) what it is divided by then

    def __len__(self) -> int:
        return self.column.size

    @property
    def columns(self) -> Ints:
        """The inputs that take part, ascending."""
        return np.unique(self.column)

    def encode(self, rows: Floats) -> Floats:
        """The features of rows, and a last one that is always one. Shape (rows, features + 1)."""
        answer = np.ones((len(rows), len(self) + 1))
        cells = rows[:, self.column]
        if np.isnan(cells).any():
            raise ValueError("a regression needs a value of each of its inputs")
        cells = np.where(self.state >= 0, cells == self.state, cells)
        with np.errstate(over="ignore"):
            answer[:, :-1] = np.clip((cells - self.shift) / self.scale, -FARTHEST, FARTHEST)
        return answer

    def select(self, which: Bools) -> "InputFeatures":
        """Some of the features."""
        return InputFeatures(self.column[which], self.state[which], self.shift[which], self.scale[which])


def input_features(schema: Schema, columns: Ints, rows: Floats, weights: Floats) -> InputFeatures:
    """The features of inputs for regressions: weighted means and standardised numbers.

    A binary or numeric input has one feature, an input with several states one for each state. Constant
    features are omitted.
    """
    parts: list[tuple[int, int, float, float]] = []
    for column in columns.tolist():
        states = schema[column].cardinality
        for state in range(0 if states > 2 else 1, states) if states else [-1]:
            x = (rows[:, column] == state).astype(np.float64) if states else rows[:, column]
            shift, scale = _standard(x, weights)
            if scale > 0:
                parts.append((column, state, shift, 1.0 if states else scale))
    lines = np.array(parts, dtype=np.float64).reshape(-1, 4).T.copy()
    return InputFeatures(lines[0].astype(np.int64), lines[1].astype(np.int64), lines[2], lines[3])


def _standard(x: Floats, weights: Floats) -> tuple[float, float]:
    """The weighted mean and standard deviation; a deviation of zero where all numbers are alike."""
    used = x[weights > 0]
    if not used.size or used.min() == used.max():
        return 0.0, 0.0
    size = float(np.abs(used).max())  # so that squares of large numbers stay finite
    mean = float(np.average(x / size, weights=weights))
    variance = float(np.average((x / size - mean) ** 2, weights=weights))
    return mean * size, float(np.sqrt(variance)) * size


@dataclass(frozen=True, slots=True, eq=False)
class SoftmaxRegressions:
    """Several regressions with equal numbers of outcomes on common features.

    The probability of an outcome is proportional to the exponential of its score, which is linear in the
    features. The score of the first outcome is zero.
    """

    features: InputFeatures
    weights: Floats  # (regressions, outcomes - 1, features + 1) the last is the intercept

    @property
    def outcomes(self) -> int:
        """The number of outcomes of each regression."""
        return self.weights.shape[1] + 1

    def log_probs(self, rows: Floats) -> Floats:
        """The logarithm of the probability of each outcome. Shape (regressions, outcomes, rows)."""
        many, above, width = self.weights.shape
        scores = np.zeros((many, above + 1, len(rows)))
        flat = self.weights.reshape(many * above, width) @ self.features.encode(rows).T
        scores[:, 1:] = flat.reshape(many, above, len(rows))
        return log_softmax(scores)

    def given(self, row: Floats) -> "SoftmaxRegressions":
        """The regressions on the inputs that `row` leaves open (NaN), the others having its values."""
        still_open = np.isnan(row[self.features.column])
        known = self.features.encode(np.where(np.isnan(row), 0.0, row)[None])[0, :-1]
        weights = self.weights[:, :, np.append(still_open, True)].copy()
        weights[:, :, -1] += self.weights[:, :, :-1][:, :, ~still_open] @ known[~still_open]
        return SoftmaxRegressions(self.features.select(still_open), weights)

    def over(self, place: Ints) -> "SoftmaxRegressions":
        """The regressions with renamed columns: column j becomes `place[j]`."""
        return replace(self, features=replace(self.features, column=place[self.features.column]))

    def select(self, which: Ints) -> "SoftmaxRegressions":
        """Some of the regressions."""
        return replace(self, weights=self.weights[which])

    def check(self, schema: Schema) -> str | None:
        """What is wrong with the regressions as gates of a circuit over these columns; None if nothing is."""
        features, size = self.features, len(self.features)
        if {a.shape for a in (features.column, features.state, features.shift, features.scale)} != {(size,)}:
            return "the arrays of the features do not fit together"
        if self.weights.ndim != 3 or self.weights.shape[1] < 1 or self.weights.shape[2] != size + 1:
            return "the weights are not those of the features and an intercept"
        if not (np.isfinite(self.weights).all() and np.abs(self.weights).max(initial=0) <= LARGEST_WEIGHT):
            return f"a weight is not a number between -{LARGEST_WEIGHT:g} and {LARGEST_WEIGHT:g}"
        if not (np.isfinite(features.shift).all() and np.isfinite(features.scale).all()):
            return "the shift or the scale of a feature is not finite"
        if (features.scale <= 0).any():
            return "the scale of a feature is not above zero"
        return self._check_columns(schema)

    def _check_columns(self, schema: Schema) -> str | None:
        lines = zip(self.features.column.tolist(), self.features.state.tolist(), strict=True)
        for column, state in lines:
            if not 0 <= column < len(schema):
                return f"a feature is of column {column}, out of range"
            variable = schema[column]
            if variable.role != "input":
                return f"column '{variable.name}' is a {variable.role}: gates depend on inputs"
            if not (-1 if variable.is_numeric else 0) <= state < max(variable.cardinality, 0):
                return f"column '{variable.name}' has no state number {state}"
        return None


def log_softmax(scores: Floats) -> Floats:
    """Scores minus the logarithm of the sum of their exponentials, along the axis before the last."""
    top = scores.max(axis=-2, keepdims=True)
    shifted = scores - top
    shifted -= np.log(np.exp(shifted).sum(axis=-2, keepdims=True))
    return shifted
