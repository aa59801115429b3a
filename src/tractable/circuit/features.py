"""The features of a circuit that was learned as a Markov network."""

from dataclasses import dataclass

from tractable.base.arrays import Bools, Floats, Ints


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
