"""Expected log-probabilities under deterministic circuits in closed form.

At most one child of a sum is non-zero for any row, so the logarithm of the sum is that of a single term. A
product adds the expectations of its children; a sum averages those of its children plus their log weights.
"""

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit import Block, Graph, LeafBlock, explain_deterministic, normalise
from tractable.queries.columns import expected_log

ESTIMATE = "method='sample' estimates the divergence"


def deterministic_entropy(graph: Graph) -> float:
    """The entropy of a deterministic circuit."""
    local = normalise(graph).graph
    return -_expected_log(local, local)


def structured_divergence(graph: Graph, other: Graph) -> float:
    """The divergence between deterministic circuits of one structure.

    Raises:
        ValueError: if one of them is not deterministic, or their supports differ: then the induced trees of a
            row may differ.
    """
    for one in (graph, other):
        fault = explain_deterministic(one)
        if fault is not None:
            raise ValueError(
                f"the divergence has no closed form: a circuit is not deterministic ({fault}); {ESTIMATE}"
            )
    first, second = normalise(graph).graph, normalise(other).graph
    if not same_structure(first, second):
        raise ValueError(f"the circuits differ in which terms are zero; {ESTIMATE}")
    return max(0.0, _expected_log(first, first) - _expected_log(first, second))


def same_structure(graph: Graph, other: Graph) -> bool:
    """Whether two circuits differ only in their parameters."""
    arrays = ((graph.kind, other.kind), (graph.start, other.start), (graph.child, other.child))
    alike = all(np.array_equal(a, b) for a, b in arrays) and len(graph.blocks) == len(other.blocks)
    return alike and all(_are_alike(a, b) for a, b in zip(graph.blocks, other.blocks, strict=True))


def _are_alike(block: Block, other: Block) -> bool:
    """Whether blocks have equal leaves but for the parameters."""
    names = [name for name in block.per_leaf if name in ("node", "column", "columns")]
    alike = block.key == other.key
    return alike and all(np.array_equal(getattr(block, name), getattr(other, name)) for name in names)


def _expected_log(graph: Graph, other: Graph) -> float:
    """The expectation under a circuit of another one's log-value; both have one structure."""
    value = np.zeros(graph.nodes)
    for block, twin in zip(graph.blocks, other.blocks, strict=True):
        value[block.node] = _leaf_expected_log(graph, block, twin)
    expected_log(graph.kind, graph.start, graph.child, np.exp(graph.log_weight), other.log_weight, value)
    return float(value[-1])


def _leaf_expected_log(graph: Graph, block: Block, twin: Block) -> Floats:
    """The expectation of the log-probability of each leaf's counterpart. Shape (leaves,)."""
    if np.array_equal(block.parameters, twin.parameters):
        return -block.entropy(graph.schema)
    if not (isinstance(block, LeafBlock) and isinstance(twin, LeafBlock)):
        raise ValueError(
            f"the divergence of different leaves over several columns has no closed form; {ESTIMATE}"
        )
    answer = np.empty(block.node.size)
    sizes = graph.schema.cardinalities[block.column]
    for size in np.unique(sizes):
        if size == 0:
            raise ValueError(
                f"the divergence of different leaves over numeric columns has no closed form; {ESTIMATE}"
            )
        log_p, log_q = (b.select(np.flatnonzero(sizes == size)).table(int(size)) for b in (block, twin))
        seen = log_p > -np.inf
        if np.isneginf(log_q[seen]).any():
            raise ValueError(f"the circuits differ in which states are possible; {ESTIMATE}")
        answer[sizes == size] = np.sum(np.exp(log_p) * np.where(seen, log_q, 0.0), axis=1)
    return answer
