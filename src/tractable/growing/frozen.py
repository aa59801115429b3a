"""From a growing circuit to one that is finished."""

import numpy as np

from tractable.arrays import Floats
from tractable.circuit import LEAF, PRODUCT, SUM, FeatureTable, Graph, LeafBlock
from tractable.circuit.assemble import Edges, assemble, state_leaves
from tractable.data import Schema
from tractable.growing.circuit import GrowingCircuit
from tractable.growing.markov import Conditions, MarkovModel
from tractable.growing.store import PRODUCT as GROWING_PRODUCT


def frozen(model: MarkovModel, schema: Schema) -> Graph:
    """The circuit of a Markov network with its features; a constant factor makes it sum to one."""
    log_factor = -model.state.moments.log_value
    return frozen_circuit(model.circuit, model.weight, schema, log_factor, model.conditions)


def frozen_circuit(
    growing: GrowingCircuit,
    log_weight: Floats,
    schema: Schema,
    log_factor: float,
    conditions: list[Conditions] | None,
) -> Graph:
    """The circuit with these parameters, times a factor; `conditions` are the features', if there are any."""
    store, order, params = growing.structure()
    indicators, inner, size = int(growing.states.sum()), order.size, params.size
    number = np.zeros(store.kind.size, dtype=np.int64)
    number[1 : indicators + 1] = np.arange(indicators)
    number[params] = indicators + np.arange(size)
    factor = indicators + size
    number[order] = factor + 1 + np.arange(inner)
    root = factor + 1 + inner
    degree = store.degree[order].astype(np.int64)
    slot = np.repeat(store.first[order] - np.cumsum(degree) + degree, degree) + np.arange(degree.sum())
    parent = np.concatenate([np.repeat(number[order], degree), [root, root]])
    child = np.concatenate([number[store.child[slot]], [factor, root - 1]])
    inside = np.where(store.kind[order] == GROWING_PRODUCT, PRODUCT, SUM)
    kind = np.concatenate([np.full(factor + 1, LEAF), inside, [PRODUCT]])
    blocks = state_leaves(growing.states, np.append(log_weight, log_factor))
    features = None if conditions is None else _table(conditions, blocks[1])
    return assemble(schema, kind, Edges(parent, child, np.zeros(parent.size)), blocks, root, features)


def _table(conditions: list[Conditions], constants: LeafBlock) -> FeatureTable:
    """The features, the constant factor last."""
    size = np.array([*(len(c) for c in conditions), 0])
    flat = np.array([pair for c in conditions for pair in c], dtype=np.int64).reshape(-1, 2)
    start = np.concatenate([[0], np.cumsum(size)])
    equals = np.ones(len(flat), dtype=np.bool_)
    return FeatureTable(constants.node, constants.params[:, 0], start, flat[:, 0], flat[:, 1], equals)
