"""Parameters that pay for likelihood with entropy: counts spread before the closed form reads them.

Liu and Van den Broeck, «Tractable Regularization of Probabilistic Circuits», NeurIPS 2021. The entropy is
that of a row together with the choices made at the sums on its way: the row's own under a deterministic
circuit, an upper bound of it elsewhere. A sum adds to it as often as it is visited, and a leaf over states is
a sum over them. The entropy of leaves over numbers counts for the sums above, not for their own parameters.
"""

import numpy as np
from numba import njit

from tractable.arrays import Bytes, Floats, Ints
from tractable.circuit import SUM, Graph, LeafBlock
from tractable.engine.expectations import Expectations, LeafCounts
from tractable.parameters.updates import sum_edges

_NEGLIGIBLE = 1e-12  # of a sum's rows: entropy that weighs less cannot be told from none
_CLOSE = 1e-9  # how far the logarithm of a sum's weights in all may stay from zero
_DEEP = -40.0  # below this the omega of a number is its exponential, to the last digit


def spread_counts(
    graph: Graph, expected: Expectations, entropy: float, smoothing: float, leaf_smoothing: float
) -> Expectations:
    """The counts whose closed-form parameters maximise the likelihood expected plus so much entropy.

    `graph` has the parameters that were counted under, and its weights add up to one. The closed form is that
    of `updates`, with the same smoothing. Sums are solved from the leaves up, each given what is new below
    and old above it: that each sum is at its own best raises the objective, whatever the others do.
    """
    if entropy == 0:
        return expected
    visits = np.zeros(graph.nodes)
    _count_visits(graph.kind, graph.start, graph.child, np.exp(graph.log_weight), visits)
    below = np.zeros(graph.nodes)
    leaves = []
    for block, counts in zip(graph.leaves, expected.leaves, strict=True):
        if block.family.is_fixed or not counts.states.size:
            below[block.node] = block.family.entropy(block.params)
            leaves.append(counts)
        else:
            pull = entropy * visits[block.node]
            states, below[block.node] = _spread_leaves(graph, block, counts.states, pull, leaf_smoothing)
            leaves.append(LeafCounts(states, counts.flows))
    imaginary = np.where(sum_edges(graph), smoothing / np.diff(graph.start)[graph.parent], 0.0)
    edge = expected.edge + imaginary
    _spread_sums(graph.kind, graph.start, graph.child, entropy * visits, edge, below)
    return Expectations(expected.log_value, np.where(sum_edges(graph), edge - imaginary, 0.0), tuple(leaves))


def _spread_leaves(
    graph: Graph, block: LeafBlock, counts: Floats, pull: Floats, smoothing: float
) -> tuple[Floats, Floats]:
    """The spread counts of a block's states, (leaves, states), and the entropy of each leaf.

    A leaf that saw nothing stays as it is, as it does in `updates`.
    """
    states = graph.schema.cardinalities[block.column]
    imaginary = np.where(np.arange(counts.shape[1]) < states[:, None], smoothing / states[:, None], 0.0)
    seen = counts + imaginary
    entropy = np.zeros(states.size)
    _spread_lines(states, pull, seen, entropy)
    unused = counts.sum(axis=1) == 0
    seen[unused] = imaginary[unused]
    entropy[unused] = block.family.entropy(block.params[unused])
    return np.maximum(seen - imaginary, 0.0), entropy  # below zero by rounding alone


@njit(cache=True, nogil=True)
def _count_visits(kind: Bytes, start: Ints, child: Ints, weight: Floats, visits: Floats) -> None:
    """Fill in how often a row drawn from the circuit is expected to come by each node."""
    visits[-1] = 1.0
    for node in range(kind.size - 1, -1, -1):
        for e in range(start[node], start[node + 1]):
            visits[child[e]] += visits[node] * (weight[e] if kind[node] == SUM else 1.0)


@njit(cache=True, nogil=True)
def _spread_sums(kind: Bytes, start: Ints, child: Ints, pull: Floats, count: Floats, entropy: Floats) -> None:
    """Spread the counts of every sum's edges; fill in the entropy of inner nodes, that of leaves is there."""
    for node in range(kind.size):
        first, last = start[node], start[node + 1]
        if kind[node] == SUM:
            entropy[node] = spread_one(count[first:last], entropy[child[first:last]], pull[node])
        else:
            for e in range(first, last):
                entropy[node] += entropy[child[e]]


@njit(cache=True, nogil=True)
def _spread_lines(size: Ints, pull: Floats, count: Floats, entropy: Floats) -> None:
    """Spread each line of counts, as long as its size; fill in the entropy of each."""
    for i in range(size.size):
        entropy[i] = spread_one(count[i, : size[i]], np.zeros(size[i]), pull[i])


@njit(cache=True, nogil=True)
def spread_one(count: Floats, below: Floats, pull: float) -> float:
    """Make counts proportional to the weights w with the highest sum of

        count * log w + pull * w * (below - log w),

    leaving their total as it is (one, where it is zero); answers with the sum of w * (below - log w).

    With r = count / pull the weights are such that r / w - log w + below is one number m for all. Each
    weight is convex and falls in m, and so does the logarithm of their sum: Newton's steps from an m that is
    too small stay too small, and need neither a bracket nor damping.
    """
    total = count.sum()
    if pull <= _NEGLIGIBLE * total or count.size == 1:
        weight = count / total if total > 0 else np.full(count.size, 1 / count.size)
    else:
        weight = _balance_weights(count / pull, below)
        count[:] = weight * (total if total > 0 else 1.0)
    answer = 0.0
    for c in range(count.size):
        if weight[c] > 0:
            answer += weight[c] * (below[c] - np.log(weight[c]))
    return answer


@njit(cache=True, nogil=True)
def _balance_weights(ratio: Floats, below: Floats) -> Floats:
    """The weights, which add up to one, whose ratio / w - log w + below are all the same."""
    level = _least_level(ratio, below)
    weight, z, u = np.empty(ratio.size), np.empty(ratio.size), np.zeros(ratio.size)
    for c in range(ratio.size):
        z[c] = np.log(ratio[c]) - below[c] if ratio[c] > 0 else -np.inf
        u[c] = omega(z[c] + level, first_omega(z[c] + level))
    for _ in range(60):
        total, slope = 0.0, 0.0
        for c in range(ratio.size):
            weight[c] = ratio[c] / u[c] if u[c] > 1 else np.exp(below[c] - level + u[c])
            total += weight[c]
            slope += weight[c] / (1 + u[c])
        excess = np.log(total)
        if excess <= _CLOSE:
            break
        step = excess * total / slope
        level += step
        for c in range(ratio.size):
            near = u[c] * (1 + step / (1 + u[c])) if step < 1 + u[c] else first_omega(z[c] + level)
            u[c] = omega(z[c] + level, near)
    return weight / weight.sum()


@njit(cache=True, nogil=True)
def _least_level(ratio: Floats, below: Floats) -> float:
    """A level at which the weights add up to one or more.

    Any weights that add up to one have such a level: the lowest of theirs. Here they are those without
    entropy, and those of entropy alone.
    """
    total, top = ratio.sum(), below.max()
    partition = top + np.log(np.exp(below - top).sum())
    plain, even = np.inf, np.inf
    for c in range(ratio.size):
        even = min(even, ratio[c] * np.exp(partition - below[c]) + partition)
        if ratio[c] > 0:
            plain = min(plain, total - np.log(ratio[c] / total) + below[c])
    return max(even, plain) if total > 0 else even


@njit(cache=True, nogil=True)
def first_omega(z: float) -> float:
    """About the u whose u + log u is z."""
    if z > 3:
        return z - np.log(z)
    return np.log1p(np.exp(z))


@njit(cache=True, nogil=True)
def omega(z: float, u: float) -> float:
    """The u whose u + log u is z (Wright's omega function), from one that is near it.

    The steps are those of Fritsch, Shafer and Crowley, 1973: an error of a thousandth is gone after one.
    """
    if z < _DEEP:
        return np.exp(z)
    for _ in range(9):
        rest = z - u - np.log(u)
        q = 2 * (1 + u) * (1 + u + 2 * rest / 3)
        step = rest / (1 + u) * (q - rest) / (q - 2 * rest)
        u *= 1 + step
        if abs(step) < 1e-3:
            break
    return u
