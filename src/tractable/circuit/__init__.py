"""Circuits: graphs of sums, products and leaves, their properties, and transformations of graphs."""

from tractable.circuit.blocks import Block, ConstantBlock, FactorBlock, GateBlock, JointBlock, LeafBlock
from tractable.circuit.builder import Builder
from tractable.circuit.combine import mixture, product
from tractable.circuit.condition import condition, marginalise
from tractable.circuit.convert import to_ac
from tractable.circuit.facts import attach, remembered
from tractable.circuit.features import FeatureTable
from tractable.circuit.graph import LEAF, PRODUCT, SUM, Graph
from tractable.circuit.normalise import normalise
from tractable.circuit.properties import (
    Properties,
    depth,
    explain_decomposable,
    explain_deterministic,
    explain_regular_selective,
    explain_smooth,
    explain_validity,
    is_decomposable,
    is_deterministic,
    is_regular_selective,
    is_smooth,
    is_valid_over,
    parameter_count,
    properties,
)
from tractable.circuit.smooth import smooth

__all__ = [
    "LEAF",
    "PRODUCT",
    "SUM",
    "Block",
    "Builder",
    "ConstantBlock",
    "FactorBlock",
    "FeatureTable",
    "GateBlock",
    "Graph",
    "JointBlock",
    "LeafBlock",
    "Properties",
    "attach",
    "condition",
    "depth",
    "explain_decomposable",
    "explain_deterministic",
    "explain_regular_selective",
    "explain_smooth",
    "explain_validity",
    "is_decomposable",
    "is_deterministic",
    "is_regular_selective",
    "is_smooth",
    "is_valid_over",
    "marginalise",
    "mixture",
    "normalise",
    "parameter_count",
    "product",
    "properties",
    "remembered",
    "smooth",
    "to_ac",
]
