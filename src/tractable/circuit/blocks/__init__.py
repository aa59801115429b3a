"""Blocks of leaves, with one file for each kind.

Everything that a circuit, the engine or a file does with leaves is an operation of `Block`.
"""

from tractable.base.arrays import Floats, Ints
from tractable.circuit.blocks.block import (
    Block,
    Layout,
    LeafCounts,
    LeafNumbers,
    MissingCells,
    join_blocks,
)
from tractable.circuit.blocks.constant import ConstantBlock
from tractable.circuit.blocks.factor import FactorBlock
from tractable.circuit.blocks.gate import GateBlock
from tractable.circuit.blocks.joint import IntegrationWarning, JointBlock, tell_error
from tractable.circuit.blocks.network import Network, NetworkBlock, network_block
from tractable.circuit.blocks.univariate import LeafBlock
from tractable.circuit.leaves import FACTORS, FAMILIES

__all__ = [
    "Block",
    "ConstantBlock",
    "FactorBlock",
    "GateBlock",
    "IntegrationWarning",
    "JointBlock",
    "Layout",
    "LeafBlock",
    "LeafCounts",
    "LeafNumbers",
    "MissingCells",
    "Network",
    "NetworkBlock",
    "join_blocks",
    "leaf_block",
    "network_block",
    "tell_error",
]


def leaf_block(name: object, node: Ints, column: Ints, params: Floats) -> Block:
    """Leaves over one column or none, by the name of their kind; the column of a constant is -1.

    Raises:
        ValueError: if there is no such kind, or a constant has a column.
    """
    if isinstance(name, str) and name in FAMILIES:
        return LeafBlock(FAMILIES[name], node, column, params)
    if isinstance(name, str) and name in FACTORS:
        return FactorBlock(FACTORS[name], node, column, params)
    if name != ConstantBlock.name:
        raise ValueError(f"there is no family of leaves called {name!r}")
    if params.shape[1] != 1:
        raise ValueError(f"a constant leaf must have one parameter, its log value, not {params.shape[1]}")
    if (column != -1).any():
        raise ValueError("a constant leaf must have no column, and its log value must be finite or -inf")
    return ConstantBlock(node, params[:, 0])
