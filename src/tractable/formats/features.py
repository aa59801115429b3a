"""Feature tables from lines of files, and whether they belong to the circuit beside them."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from tractable.base.arrays import Bools, Ints
from tractable.circuit.blocks import ConstantBlock
from tractable.circuit.check import explain_too_large, is_too_large
from tractable.circuit.features import FeatureTable, over_numbers
from tractable.circuit.graph import Graph
from tractable.data.schema import Schema

Asked: TypeAlias = int | tuple[float, float]  # a state, or an interval of a numeric column
Condition: TypeAlias = tuple[int, Asked, bool]  # column, what is asked, whether it must hold or must not
FeatureLine: TypeAlias = tuple[int, float, Sequence[Condition]]  # node, log weight, conditions


def feature_table(rows: Sequence[FeatureLine]) -> FeatureTable:
    """The features of all rows."""
    conditions = [condition for _, _, row in rows for condition in row]
    ends = [asked if isinstance(asked, tuple) else (0.0, 0.0) for _, asked, _ in conditions]
    return FeatureTable(
        np.array([node for node, _, _ in rows], dtype=np.int64),
        np.array([log_weight for _, log_weight, _ in rows], dtype=np.float64),
        np.concatenate([[0], np.cumsum([len(row) for _, _, row in rows])]).astype(np.int64),
        np.array([column for column, _, _ in conditions], dtype=np.int64),
        np.array([-1 if isinstance(asked, tuple) else asked for _, asked, _ in conditions], dtype=np.int64),
        np.array([equals for _, _, equals in conditions], dtype=np.bool_),
        np.array(ends) if any(isinstance(asked, tuple) for _, asked, _ in conditions) else None,
    )


def check_features(features: FeatureTable, graph: Graph) -> None:
    """Refuse a feature table that does not belong to the circuit.

    Raises:
        ValueError: naming the feature that is wrong.
    """
    constants = [block.node for block in graph.blocks_of(ConstantBlock)]
    fine = np.isin(features.node, np.concatenate([[-1], *constants]))
    if not fine.all():
        number = int(np.argmin(fine))
        raise ValueError(
            f"feature {number} is carried by node {int(features.node[number])}, which is not a constant"
        )
    known = _known_conditions(features, graph.schema)
    if not known.all():
        wrong = int(np.argmin(known))
        number = int(np.searchsorted(features.start, wrong, side="right")) - 1
        raise ValueError(f"feature {number} refers to a column or state that does not exist")
    if np.isnan(features.log_weight).any() or (features.log_weight == np.inf).any():
        raise ValueError("a feature's log weight is not finite")
    for place in np.flatnonzero(is_too_large(features.log_weight)).tolist():
        weight = features.log_weight[place]
        raise ValueError(f"the log weight of feature {place} is {explain_too_large(weight)}")


def _known_conditions(features: FeatureTable, schema: Schema) -> Bools:
    """Which conditions ask for a state that their column has, or for an interval of numbers."""
    numeric = over_numbers(features, schema)
    known: Bools = (features.column >= 0) & (features.column < len(schema))
    states: Ints = np.append(schema.cardinalities, 0)[np.where(known, features.column, -1)]
    known &= np.where(numeric, features.state == -1, (features.state >= 0) & (features.state < states))
    if features.ends is None:
        return known & ~numeric
    low, high = features.ends.T
    return known & np.where(numeric, np.isfinite(features.ends).all(axis=1) & (low < high), True)
