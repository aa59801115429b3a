"""The free parameters of a circuit as one vector, and the gradient of log-values with respect to it.

Free are the log weights of sums, the log-odds of Bernoulli leaves, the logarithms of the probabilities of
categorical leaves before they are normalised, and the logarithms of constants. What is infinite stays. A sum
whose weights are all one carries no parameters: those of an arithmetic circuit are its constants. Leaves over
numbers stay as they are.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit import SUM, Block, ConstantBlock, FeatureTable, Graph, LeafBlock
from tractable.circuit.leaves import Categorical
from tractable.engine.expectations import Expectations


class _Part(NamedTuple):
    """Which parameters of one array are free."""

    block: int  # the number of the leaf block; -1 for the weights of sums
    free: Bools  # like the array


class ParameterVector:
    """Takes the free parameters out of circuits of one structure, and puts others in."""

    def __init__(self, graph: Graph) -> None:
        self._parts = [_Part(-1, _free_weights(graph))]
        for number, block in enumerate(graph.blocks):
            if isinstance(block, ConstantBlock) or (
                isinstance(block, LeafBlock) and block.family.over_states
            ):
                self._parts.append(_Part(number, np.isfinite(block.parameters)))

    def __len__(self) -> int:
        return sum(int(part.free.sum()) for part in self._parts)

    def take(self, graph: Graph) -> Floats:
        """The free parameters of a circuit. Shape (parameters,)."""
        return np.concatenate([_array(graph, part)[part.free] for part in self._parts])

    def put(self, graph: Graph, vector: Floats) -> Graph:
        """The circuit with other free parameters; features keep step with the constants that carry them."""
        log_weight, blocks = graph.log_weight, list(graph.blocks)
        first = 0
        for part in self._parts:
            array = _array(graph, part).copy()
            last = first + int(part.free.sum())
            array[part.free], first = vector[first:last], last
            if part.block < 0:
                log_weight = array
            else:
                blocks[part.block] = _normal_block(blocks[part.block].with_parameters(array))
        changed = graph.with_parameters(log_weight, tuple(blocks))
        if graph.features is not None:
            with np.errstate(invalid="ignore"):  # constants of zero stay
                moved = np.nan_to_num(_constants(changed) - _constants(graph))
            object.__setattr__(changed, "features", _in_step(graph.features, moved))  # a graph of our own
        return changed

    def gradient(self, graph: Graph, expected: Expectations) -> Floats:
        """The gradient of the weighted sum of log-values whose counts are given. Shape (parameters,).

        The counts are those of `OpenCircuit`, or differences of them.
        """
        slopes = []
        for part in self._parts:
            if part.block < 0:
                slopes.append(expected.edge[part.free])
                continue
            block, counts = graph.blocks[part.block], expected.blocks[part.block].states
            slopes.append(_slope(block, counts)[part.free])
        return np.concatenate(slopes)

    def log_change(self, before: Graph, after: Graph, counts: Expectations) -> float:
        """How much the weighted sum of log-values grows where other parameters leave the counts as they are.

        They do if each row has one induced tree, whatever the parameters.
        """
        total = 0.0
        for part in self._parts:
            if part.block < 0:
                moved = _array(after, part)[part.free] - _array(before, part)[part.free]
                total += float(counts.edge[part.free] @ moved)
                continue
            own = counts.blocks[part.block].states
            old, new = (_state_logs(graph.blocks[part.block]) for graph in (before, after))
            own = own[:, : old.shape[1]]
            used = own != 0
            total += float(own[used] @ (new[:, : own.shape[1]][used] - old[:, : own.shape[1]][used]))
        return total


def _state_logs(block: Block) -> Floats:
    """The logarithm of each state of leaves over states, or of constants. Shape (leaves, states)."""
    if isinstance(block, LeafBlock) and isinstance(block.family, Categorical):
        return block.family.log_states(block.params)
    return block.parameters


def _array(graph: Graph, part: _Part) -> Floats:
    return graph.log_weight if part.block < 0 else graph.blocks[part.block].parameters


def _free_weights(graph: Graph) -> Bools:
    """The finite weights of sums whose weights are not all one. Shape (edges,)."""
    weighted = np.zeros(graph.nodes, dtype=np.bool_)
    weighted[graph.parent[graph.log_weight != 0]] = True
    weighted &= graph.kind == SUM
    return weighted[graph.parent] & np.isfinite(graph.log_weight)


def _normal_block(block: Block) -> Block:
    """The block with log-probabilities that add up to one, where they have to."""
    if not isinstance(block, LeafBlock) or not isinstance(block.family, Categorical):
        return block
    return replace(block, params=block.family.normalise(block.params))


def _slope(block: Block, counts: Floats) -> Floats:
    """The gradient of a block from its expected counts, which may be differences of counts."""
    if isinstance(block, LeafBlock) and isinstance(block.family, Categorical):
        return block.family.slope(block.params, counts)
    return counts


def _constants(graph: Graph) -> Floats:
    """The logarithms of the constants at their nodes, zero elsewhere. Shape (nodes,)."""
    value = np.zeros(graph.nodes)
    for block in graph.blocks_of(ConstantBlock):
        value[block.node] = block.log_value
    return value


def _in_step(features: FeatureTable, moved: Floats) -> FeatureTable:
    """The features with the weights of the constants that carry them, which have moved so far."""
    node: Ints = features.node
    change = np.where(node >= 0, moved[np.maximum(node, 0)], 0.0)
    return replace(features, log_weight=features.log_weight + change)
