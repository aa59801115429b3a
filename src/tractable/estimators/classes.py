"""A joint model of features and a class, composed of one circuit of the features for each class."""

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
    """P(target) P(features | target): a sum over classes of circuits learned from the rows of each class.

    Rows without a class are ignored. A class without rows gets the distribution of the features in all rows,
    and a small weight. The remaining time is divided evenly among the classes.
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
    """The product of a circuit of the features and a leaf that fixes the state of the target."""
    builder = Builder(Schema((target,)))
    builder.indicator(0, state)
    return product([features, builder.freeze()])


def _ordered(graph: Graph, schema: Schema) -> Graph:
    """The circuit with its columns in the order of a schema."""
    builder = Builder(schema)
    return builder.freeze(builder.splice(graph, schema.columns(graph.schema.names)))
