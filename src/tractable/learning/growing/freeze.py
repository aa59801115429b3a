"""Conversion of a growing circuit to a graph."""

from collections.abc import Sequence

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit import LEAF, PRODUCT, ConstantBlock, FeatureTable, Graph
from tractable.circuit.assemble import Edges, assemble, state_leaves
from tractable.data import Schema
from tractable.learning.growing.circuit import GrowingCircuit
from tractable.learning.growing.store import edge_slots

FACTOR_EDGES = 2  # of the root of a frozen circuit: to the constant factor, and to the circuit that has grown


def freeze_circuit(
    circuit: GrowingCircuit,
    schema: Schema,
    log_weight: Floats,
    log_factor: float,
    conditions: Sequence[tuple[tuple[int, int], ...]] | None = None,
) -> Graph:
    """The graph of a circuit under weights of its features, times a constant factor.

    With `conditions`, those of each feature, the graph also gets a feature table.
    """
    store, order, params = circuit.arrays()
    indicators, inner, size = int(circuit.states.sum()), order.size, params.size
    number = np.zeros(store.kind.size, dtype=np.int64)
    number[1 : indicators + 1] = np.arange(indicators)
    number[params] = indicators + np.arange(size)
    factor = indicators + size
    number[order] = factor + 1 + np.arange(inner)
    root = factor + 1 + inner
    degree = store.degree[order].astype(np.int64)
    parent = np.concatenate([np.repeat(number[order], degree), [root, root]])
    child = np.concatenate([number[store.child[edge_slots(store, order)]], [factor, root - 1]])
    kind = np.concatenate([np.full(factor + 1, LEAF), store.kind[order], [PRODUCT]])
    blocks = state_leaves(circuit.states, np.append(log_weight, log_factor))
    features = None if conditions is None else _feature_table(conditions, blocks[1])
    return assemble(schema, kind, Edges(parent, child, np.zeros(parent.size)), blocks, root, features)


def _feature_table(
    conditions: Sequence[tuple[tuple[int, int], ...]], constants: ConstantBlock
) -> FeatureTable:
    """The features with their weights; the constant factor comes last, as a feature without conditions."""
    size = np.array([*(len(c) for c in conditions), 0])
    flat = np.array([pair for c in conditions for pair in c], dtype=np.int64).reshape(-1, 2)
    start = np.concatenate([[0], np.cumsum(size)])
    equals = np.ones(len(flat), dtype=np.bool_)
    return FeatureTable(constants.node, constants.log_value, start, flat[:, 0], flat[:, 1], equals)
