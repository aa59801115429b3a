"""Entropy regularisation: counts are made more even before the M step reads them.

See Liu and Van den Broeck, «Tractable Regularization of Probabilistic Circuits», NeurIPS 2021. The entropy is
that of a row together with the choices made at the sums of its induced tree: the entropy of the row itself
under a deterministic circuit, an upper bound of it elsewhere. A sum contributes in proportion to how often it
is visited, and a leaf over a categorical column is a sum over states. The entropy of leaves over numeric
columns counts for the sums above them, but does not change their own parameters.
"""

import numpy as np

from tractable.arrays import Bytes, Floats, Ints
from tractable.circuit import SUM, Graph, LeafBlock
from tractable.circuit.joint_evidence import joint_leaves
from tractable.compiled import njit
from tractable.engine.expectations import Expectations, LeafCounts
from tractable.parameters.updates import sum_edges

_NEGLIGIBLE = 1e-12  # entropy whose weight is this part of a sum's count makes no difference
_CLOSE = 1e-9  # how far the logarithm of the total weight of a sum may stay from zero
_DEEP = -40.0  # below this the omega of a number is equal to its exponential in double precision


def spread_counts(
    graph: Graph, expected: Expectations, entropy: float, smoothing: float, leaf_smoothing: float
) -> Expectations:
    """Counts whose closed-form parameters maximise the expected log-likelihood plus the weighted entropy.

    `entropy` is the weight of the entropy, in rows.
    `graph` has the parameters under which the counts were taken, and its weights sum to one. The closed form
    is that of `updates`, with the same smoothing. Sums are solved from the leaves up, each given the new
    parameters below it and the old ones above it. To set one sum to its own optimum raises the objective
    whatever the others are.
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
    for joint in graph.joints:
        below[joint.node] = [leaf.entropy for leaf in joint_leaves(graph, joint)]
    pseudo = np.where(sum_edges(graph), smoothing / np.diff(graph.start)[graph.parent], 0.0)
    edge = expected.edge + pseudo
    _spread_sums(graph.kind, graph.start, graph.child, entropy * visits, edge, below)
    return expected._replace(edge=np.where(sum_edges(graph), edge - pseudo, 0.0), leaves=tuple(leaves))


def _spread_leaves(
    graph: Graph, block: LeafBlock, counts: Floats, pull: Floats, smoothing: float
) -> tuple[Floats, Floats]:
    """The new counts of a block's states, shape (leaves, states), and the entropy of each leaf.

    A leaf without counts keeps its parameters, as in `updates`.
    """
    states = graph.schema.cardinalities[block.column]
    pseudo = np.where(np.arange(counts.shape[1]) < states[:, None], smoothing / states[:, None], 0.0)
    seen = counts + pseudo
    entropy = np.zeros(states.size)
    _spread_lines(states, pull, seen, entropy)
    unused = counts.sum(axis=1) == 0
    seen[unused] = pseudo[unused]
    entropy[unused] = block.family.entropy(block.params[unused])
    return np.maximum(seen - pseudo, 0.0), entropy  # below zero by rounding alone


@njit(cache=True, nogil=True)
def _count_visits(kind: Bytes, start: Ints, child: Ints, weight: Floats, visits: Floats) -> None:
    """Fill in the expected number of visits of each node by a row drawn from the circuit."""
    visits[-1] = 1.0
    for node in range(kind.size - 1, -1, -1):
        for e in range(start[node], start[node + 1]):
            visits[child[e]] += visits[node] * (weight[e] if kind[node] == SUM else 1.0)


@njit(cache=True, nogil=True)
def _spread_sums(kind: Bytes, start: Ints, child: Ints, pull: Floats, count: Floats, entropy: Floats) -> None:
    """Even out the counts of the edges of every sum, and fill in the entropy of every inner node."""
    for node in range(kind.size):
        first, last = start[node], start[node + 1]
        if kind[node] == SUM:
            entropy[node] = spread_one(count[first:last], entropy[child[first:last]], pull[node])
        else:
            for e in range(first, last):
                entropy[node] += entropy[child[e]]


@njit(cache=True, nogil=True)
def _spread_lines(size: Ints, pull: Floats, count: Floats, entropy: Floats) -> None:
    """Even out each line of counts, of which `size` entries are used, and fill in the entropy of each."""
    for i in range(size.size):
        entropy[i] = spread_one(count[i, : size[i]], np.zeros(size[i]), pull[i])


@njit(cache=True, nogil=True)
def spread_one(count: Floats, below: Floats, pull: float) -> float:
    """Make counts proportional to the weights w that maximise the sum of

        count * log w + pull * w * (below - log w).

    The total of the counts is kept (it becomes one where it is zero). The sum of w * (below - log w) is
    returned.

    With r = count / pull the weights are such that r / w - log w + below is the same number m for all. Each
    weight is a convex, decreasing function of m, and so is the logarithm of their sum: Newton's method that
    starts from an m that is too small approaches the solution from below, without bracketing or damping.
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
    """The weights w, summing to one, for which ratio / w - log w + below is the same for all."""
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
    """A level m at which the weights sum to one or more.

    For any weights that sum to one, the smallest of their ratio / w - log w + below is such a level. Here
    they are the weights of maximum likelihood and those of maximum entropy.
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
    """An approximation of the u whose u + log u is z."""
    if z > 3:
        return z - np.log(z)
    return np.log1p(np.exp(z))


@njit(cache=True, nogil=True)
def omega(z: float, u: float) -> float:
    """The u whose u + log u is z (Wright's omega function), starting from an approximation.

    The iteration is that of Fritsch, Shafer and Crowley, 1973: one step removes an error of a thousandth.
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
