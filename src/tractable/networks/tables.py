"""Expansion of factors to tables, within limits."""

from collections.abc import Iterable
from math import prod

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.data.schema import Schema
from tractable.networks.features import Box, feature_box, tree_boxes
from tractable.networks.network import MOST_ENTRIES, FeatureFactor, TableFactor, TreeFactor


def tree_table(tree: TreeFactor, schema: Schema) -> TableFactor:
    """A tree as a table, its child first.

    Raises:
        ValueError: if the table would be huge.
    """
    values = _ones(tree.scope, schema)
    along_child = (-1, *[1] * (len(tree.scope) - 1))
    for box, leaf in tree_boxes(tree, schema):
        values[_place(box, tree.scope, schema)] = tree.log_prob[leaf].reshape(along_child)
    return TableFactor(tree.scope, values)


def feature_table(features: Iterable[FeatureFactor], columns: tuple[int, ...], schema: Schema) -> TableFactor:
    """The product of features, as a table over all of their columns.

    Raises:
        ValueError: if the table would be huge.
    """
    values = _ones(columns, schema)
    for feature in features:
        values[_place(feature_box(feature, schema), columns, schema)] += feature.log_weight
    return TableFactor(columns, values)


def _ones(columns: tuple[int, ...], schema: Schema) -> Floats:
    shape = tuple(schema[c].cardinality for c in columns)
    if prod(shape) > MOST_ENTRIES:
        raise ValueError(f"a table over {len(columns)} columns has {prod(shape):.3g} entries, too many")
    return np.zeros(shape)


def _place(box: Box, columns: tuple[int, ...], schema: Schema) -> tuple[Ints, ...]:
    """The slices of a box in a table over the columns."""
    every = (np.ones(schema[c].cardinality, dtype=np.bool_) for c in columns)
    return np.ix_(*(box.get(c, free) for c, free in zip(columns, every, strict=True)))
