"""From a growing circuit to one that is finished."""

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.circuit import LEAF, PRODUCT, SUM, FeatureTable, Graph, LeafBlock
from tractable.circuit.assemble import Edges, assemble
from tractable.data import Schema
from tractable.growing.markov import MarkovModel
from tractable.growing.store import PRODUCT as GROWING_PRODUCT
from tractable.leaves import FAMILIES


def frozen(model: MarkovModel, schema: Schema) -> Graph:
    """The circuit of a model with its features; a constant factor makes it sum to one."""
    store, order, params = model.circuit.structure()
    indicators, inner, size = int(model.states.sum()), order.size, params.size
    number = np.zeros(store.kind.size, dtype=np.int64)
    number[1 : indicators + 1] = np.arange(indicators)
    number[params] = indicators + np.arange(size)
    constant = indicators + size  # one over the sum
    number[order] = constant + 1 + np.arange(inner)
    root = constant + 1 + inner
    count = store.degree[order].astype(np.int64)
    slot = np.repeat(store.first[order] - np.cumsum(count) + count, count) + np.arange(count.sum())
    parent = np.concatenate([np.repeat(number[order], count), [root, root]])
    child = np.concatenate([number[store.child[slot]], [constant, root - 1]])
    inside = np.where(store.kind[order] == GROWING_PRODUCT, PRODUCT, SUM)
    kind = np.concatenate([np.full(constant + 1, LEAF), inside, [PRODUCT]])
    log_weight = np.append(model.weight, -model.state.moments.log_value)
    constants = indicators + np.arange(size + 1)
    column = np.repeat(np.arange(model.states.size), model.states)
    state = np.concatenate([np.arange(k) for k in model.states]).astype(np.float64)
    blocks = [
        LeafBlock(FAMILIES["indicator"], np.arange(indicators), column, state[:, None]),
        LeafBlock(FAMILIES["constant"], constants, np.full(size + 1, -1), log_weight[:, None]),
    ]
    edges = Edges(parent, child, np.zeros(parent.size))
    return assemble(schema, kind, edges, blocks, root, _table(model, constants, log_weight))


def _table(model: MarkovModel, node: Ints, log_weight: Floats) -> FeatureTable:
    """The features, the constant factor last."""
    size = np.array([*(len(c) for c in model.conditions), 0])
    flat = np.array([pair for c in model.conditions for pair in c], dtype=np.int64).reshape(-1, 2)
    start = np.concatenate([[0], np.cumsum(size)])
    return FeatureTable(node, log_weight, start, flat[:, 0], flat[:, 1], np.ones(len(flat), dtype=np.bool_))
