"""The circuit of a mixture of conditional trees."""

from tractable.circuit import Graph
from tractable.circuit.builder import Builder
from tractable.circuit.leaves.logistic import InputFeatures
from tractable.data import Schema
from tractable.learning.conditional.mctbn.mixture import TreeMixture
from tractable.learning.conditional.trees.freeze import tree_node


def freeze_mixture(mixture: TreeMixture, schema: Schema, features: InputFeatures) -> Graph:
    """The circuit of a mixture over the columns of a schema with targets and inputs. It is one in all."""
    builder = Builder(schema)
    roots = [tree_node(builder, tree, schema.targets, features) for tree in mixture.trees]
    if len(roots) > 1:
        builder.sum(roots, mixture.log_share)
    return builder.freeze()
