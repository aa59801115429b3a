"""A joint model of features and a class, made of one circuit of the features for each class."""

import numpy as np

from tractable.base.progress import Watch
from tractable.circuit import Builder, Graph, mixture, product
from tractable.data import Schema, Table, Variable
from tractable.estimators.base import TableEstimator
from tractable.estimators.choice import learn_circuit, part_of
from tractable.model import Circuit

UNSEEN = 0.5  # rows for which a class without any counts


def learn_by_class(
    estimator: TableEstimator, target: int, table: Table, watch: Watch | None = None
) -> Circuit:
    """P(target) P(features | target): a sum over classes of circuits that are learned from their rows alone.

    It is a joint distribution as any other circuit is. Rows without a class are left aside. A class without
    rows has the features of all rows, and a small share. Each class has an even part of the time left.
    """
    variable = table.schema[target]
    labels = table.values[:, target]
    shares = np.bincount(
        labels[~np.isnan(labels)].astype(np.int64),
        weights=table.row_weights[~np.isnan(labels)],
        minlength=variable.cardinality,
    )
    features = table.select([c for c in range(len(table.schema)) if c != target])
    parts = []
    for state, share in enumerate(shares.tolist()):
        rows = features.take(labels == state) if share else features
        part = part_of(watch, 1 / (shares.size - state))
        parts.append(with_class(learn_circuit(estimator, rows, part).graph, variable, state))
    about = {"learner": estimator._learner.name, "by_class": variable.name}
    return Circuit(_ordered(mixture(parts, np.where(shares > 0, shares, UNSEEN)), table.schema), about)


def with_class(features: Graph, target: Variable, state: int) -> Graph:
    """The circuit of the features together with a target that surely has one state."""
    builder = Builder(Schema((target,)))
    builder.indicator(0, state)
    return product([features, builder.freeze()])


def _ordered(graph: Graph, schema: Schema) -> Graph:
    """The circuit with its columns in the order of a schema."""
    builder = Builder(schema)
    return builder.freeze(builder.splice(graph, schema.columns(graph.schema.names)))
