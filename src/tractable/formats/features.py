"""Feature tables from lines of files, and whether they belong to the circuit beside them."""

from typing import TypeAlias

import numpy as np

from tractable.circuit.check import explain_too_large, is_too_large
from tractable.circuit.features import FeatureTable
from tractable.circuit.graph import Graph

Condition: TypeAlias = tuple[int, int, bool]  # column, state, whether they must be equal
FeatureLine: TypeAlias = tuple[int, float, list[Condition]]  # node, log weight, conditions


def feature_table(rows: list[FeatureLine]) -> FeatureTable:
    """The features of all rows."""
    conditions = [condition for _, _, row in rows for condition in row]
    return FeatureTable(
        np.array([node for node, _, _ in rows], dtype=np.int64),
        np.array([log_weight for _, log_weight, _ in rows], dtype=np.float64),
        np.concatenate([[0], np.cumsum([len(row) for _, _, row in rows])]).astype(np.int64),
        np.array([column for column, _, _ in conditions], dtype=np.int64),
        np.array([state for _, state, _ in conditions], dtype=np.int64),
        np.array([equals for _, _, equals in conditions], dtype=np.bool_),
    )


def check_features(features: FeatureTable, graph: Graph) -> None:
    """Refuse a feature table that does not belong to the circuit.

    Raises:
        ValueError: naming the feature that is wrong.
    """
    constants = [b.node for b in graph.leaves if b.family.is_constant]
    fine = np.isin(features.node, np.concatenate([[-1], *constants]))
    if not fine.all():
        number = int(np.argmin(fine))
        raise ValueError(
            f"feature {number} is carried by node {int(features.node[number])}, which is no constant"
        )
    known = (features.column >= 0) & (features.column < len(graph.schema)) & (features.state >= 0)
    known[known] &= features.state[known] < graph.schema.cardinalities[features.column[known]]
    if not known.all():
        wrong = int(np.argmin(known))
        number = int(np.searchsorted(features.start, wrong, side="right")) - 1
        raise ValueError(f"feature {number} asks for a column or state that there is not")
    if np.isnan(features.log_weight).any() or (features.log_weight == np.inf).any():
        raise ValueError("a feature's log weight is not finite")
    for place in np.flatnonzero(is_too_large(features.log_weight)).tolist():
        weight = features.log_weight[place]
        raise ValueError(f"the log weight of feature {place} is {explain_too_large(weight)}")
