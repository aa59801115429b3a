"""Poisson leaves of a fitted circuit become negative binomial ones where the rows prefer it."""

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit import Graph, LeafBlock
from tractable.circuit.assemble import assemble, edges_of
from tractable.circuit.leaves import FAMILIES
from tractable.data import Table
from tractable.engine.expectations import Expecter
from tractable.learning.statistics.count_leaves import shared_count_params


def refit_counts(graph: Graph, table: Table, smoothing: float) -> Graph:
    """The circuit in which the leaves of a count column are negative binomial where its rows prefer that.

    It is one step of EM for these leaves, with a wider family. All leaves of a column decide together; where
    they stay Poisson leaves nothing changes.
    """
    if not any(block.family.name == "poisson" for block in graph.leaves):
        return graph
    expected = Expecter(graph).expectations(graph, table.values, table.row_weights)
    blocks: list[LeafBlock] = []
    for block, counts in zip(graph.leaves, expected.leaves, strict=True):
        poisson = block.family.name == "poisson"
        blocks += _preferred_blocks(block, counts.flows, table, smoothing) if poisson else [block]
    return assemble(graph.schema, graph.kind.astype(np.int64), edges_of(graph), [*blocks, *graph.joints])


def _preferred_blocks(block: LeafBlock, flows: Floats, table: Table, smoothing: float) -> list[LeafBlock]:
    """The leaves that stay as they are, and those that become negative binomial ones."""
    log_r = np.full(block.node.size, np.inf)
    log_mean = block.params[:, 0].copy()
    for column in np.unique(block.column).tolist():
        x = table.values[:, column]
        seen = ~np.isnan(x) & (table.row_weights > 0)
        leaves = np.flatnonzero(block.column == column)
        leaves = leaves[flows[np.ix_(leaves, seen)].sum(axis=1) > 0]
        if leaves.size:
            overall = float(np.average(x[seen], weights=table.row_weights[seen]))
            params = shared_count_params(x[seen], flows[np.ix_(leaves, seen)].T, smoothing, overall)
            log_mean[leaves], log_r[leaves] = params.T
    wide = np.isfinite(log_r)
    params = np.stack([log_mean, log_r], axis=1)[wide]
    kept = LeafBlock(block.family, block.node[~wide], block.column[~wide], block.params[~wide])
    spread = LeafBlock(FAMILIES["negative-binomial"], block.node[wide], block.column[wide], params)
    return [part for part in (kept, spread) if part.node.size]
