"""The features of a circuit that was learned as a Markov network."""

from dataclasses import dataclass

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.data.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class FeatureTable:
    """Conjunctions of conditions on columns, each with a log weight and the constant leaf that carries it.

    A feature without conditions is a constant factor. A condition on a numeric column asks for an
    interval: the column is above its low end and not above its high end.
    """

    node: Ints  # (features,) the constant leaf whose value is the feature's weight
    log_weight: Floats  # (features,)
    start: Ints  # (features + 1,) feature i's conditions are start[i]:start[i + 1]
    column: Ints  # (conditions,)
    state: Ints  # (conditions,) -1 where the column is numeric
    equals: Bools  # (conditions,) whether the column must equal the state, or differ from it
    ends: Floats | None = None  # (conditions, 2) of intervals, zero elsewhere; None without numeric columns

    def __len__(self) -> int:
        return self.node.size


def known_features(features: FeatureTable | None, schema: Schema) -> FeatureTable | None:
    """The table of a file, or None if it names intervals by numbers, as files of older versions do.

    Where such an interval lies is not said, and the circuit beside the table does without it.
    """
    if features is None or features.ends is not None:
        return features
    return None if (over_numbers(features, schema) & (features.state >= 0)).any() else features


def over_numbers(features: FeatureTable, schema: Schema) -> Bools:
    """Which conditions are on numeric columns that exist."""
    numeric = np.array([*(variable.is_numeric for variable in schema), False])
    inside = (features.column >= 0) & (features.column < len(schema))
    answer: Bools = numeric[np.where(inside, features.column, -1)]
    return answer
