"""Generalised circuits: sums, products and non-linear operators over targets, inputs and parameters."""

from tractable.circuit.generalised.builder import GeneralisedBuilder
from tractable.circuit.generalised.graph import (
    GeneralisedGraph,
    explain_tractable,
    intractable_targets,
    scopes,
    tractable_targets,
)
from tractable.circuit.generalised.models import (
    add_perceptron,
    conditional_bernoullis,
    generalise,
    perceptron_graph,
    two_target_example,
)
from tractable.circuit.generalised.queries import (
    enumeration_size,
    log_partition,
    log_prob,
    marginals,
)
from tractable.circuit.leaves.perceptron import Layer, Perceptron, layers_of

__all__ = [
    "GeneralisedBuilder",
    "GeneralisedGraph",
    "Layer",
    "Perceptron",
    "add_perceptron",
    "conditional_bernoullis",
    "enumeration_size",
    "explain_tractable",
    "generalise",
    "intractable_targets",
    "layers_of",
    "log_partition",
    "log_prob",
    "marginals",
    "perceptron_graph",
    "scopes",
    "tractable_targets",
    "two_target_example",
]
