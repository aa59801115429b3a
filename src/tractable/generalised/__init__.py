"""Generalised circuits: sums, products and non-linear operators over targets, inputs and parameters."""

from tractable.generalised.builder import GeneralisedBuilder
from tractable.generalised.examples import conditional_bernoullis, two_target_example
from tractable.generalised.from_circuit import generalise
from tractable.generalised.graph import GeneralisedGraph
from tractable.generalised.properties import (
    explain_tractable,
    intractable_targets,
    is_avoidable,
    is_complete,
    is_decomposable,
    scopes,
    tractable_targets,
)
from tractable.generalised.queries import (
    enumeration_size,
    log_partition,
    log_prob,
    marginals,
    parameter_gradient,
)
from tractable.generalised.unrolling import add_perceptron, perceptron_graph
from tractable.leaves.perceptron import Layer, Perceptron, layers_of

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
    "is_avoidable",
    "is_complete",
    "is_decomposable",
    "layers_of",
    "log_partition",
    "log_prob",
    "marginals",
    "parameter_gradient",
    "perceptron_graph",
    "scopes",
    "tractable_targets",
    "two_target_example",
]
