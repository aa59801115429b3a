"""Entropy regularisation: counts are made more even before the M step reads them.

See Liu and Van den Broeck, «Tractable Regularization of Probabilistic Circuits», NeurIPS 2021. The entropy is
that of a row together with the choices made at the sums of its induced tree: the entropy of the row itself
under a deterministic circuit, an upper bound of it elsewhere. A sum contributes in proportion to how often it
is visited, and a leaf over a categorical column is a sum over states. The entropy of leaves over numeric
columns counts for the sums above them, but does not change their own parameters.
"""

import numpy as np

from tractable.base.arrays import Bytes, Floats, Ints
from tractable.base.compiled import inner, kernel
from tractable.circuit import SUM, Graph, LeafBlock
from tractable.circuit.blocks import LeafCounts
from tractable.engine.expectations import Expectations
from tractable.learning.parameters.updates import sum_edges

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
    blocks = []
    for block, counts in zip(graph.blocks, expected.blocks, strict=True):
        if not isinstance(block, LeafBlock) or block.is_fixed or not counts.states.size:
            below[block.node] = block.entropy(graph.schema)
            blocks.append(counts)
        else:
            pull = entropy * visits[block.node]
            states, below[block.node] = _spread_leaves(graph, block, counts.states, pull, leaf_smoothing)
            blocks.append(LeafCounts(states, counts.flows))
    pseudo = np.where(sum_edges(graph), smoothing / np.diff(graph.start)[graph.parent], 0.0)
    edge = expected.edge + pseudo
    spread_sums(graph.kind, graph.start[:-1], graph.start[1:], graph.child, entropy * visits, edge, below)
    return expected._replace(edge=np.where(sum_edges(graph), edge - pseudo, 0.0), blocks=tuple(blocks))


def _spread_leaves(
    graph: Graph, block: LeafBlock, counts: Floats, pull: Floats, smoothing: float
) -> tuple[Floats, Floats]:
    """The new counts of a block's states, shape (leaves, states), and the entropy of each leaf.

    A leaf without counts keeps its parameters, as in `updates`.
    """
    states = graph.schema.cardinalities[block.column]
    pseudo = np.where(np.arange(counts.shape[1]) < states[:, None], smoothing / states[:, None], 0.0)
    seen = counts + pseudo
    first = np.arange(states.size) * seen.shape[1]
    entropy = np.zeros(states.size + 1)  # the last is that of a state
    kind, child = np.full(states.size, SUM, dtype=np.uint8), np.full(seen.size, states.size)
    spread_sums(kind, first, first + states, child, pull, seen.reshape(-1), entropy)
    entropy = entropy[:-1]
    unused = counts.sum(axis=1) == 0
    seen[unused] = pseudo[unused]
    entropy[unused] = block.family.entropy(block.params[unused])
    return np.maximum(seen - pseudo, 0.0), entropy  # below zero by rounding alone


def spread_sums(
    kind: Bytes, first: Ints, last: Ints, child: Ints, pull: Floats, count: Floats, entropy: Floats
) -> None:
    """Even out the counts of the edges of every sum, and fill in the entropy of every inner node.

    The edges of a node are those from `first` to `last`. The counts of a sum become proportional to the
    weights w that maximise the sum of

        count * log w + pull * w * (below - log w),

    where `below` is the entropy of the child. Their total is kept (it becomes one where it is zero). The
    entropy of the sum is that of w * (below - log w).
    """
    most = int((last - first).max(initial=1))
    _spread(kind, first, last, child, pull, count, entropy, np.empty((4, most)))


@kernel
def _count_visits(kind: Bytes, start: Ints, child: Ints, weight: Floats, visits: Floats) -> None:
    """Fill in the expected number of visits of each node by a row drawn from the circuit."""
    visits[-1] = 1.0
    for node in range(kind.size - 1, -1, -1):
        for e in range(start[node], start[node + 1]):
            visits[child[e]] += visits[node] * (weight[e] if kind[node] == SUM else 1.0)


@kernel
def _spread(
    kind: Bytes,
    first: Ints,
    last: Ints,
    child: Ints,
    pull: Floats,
    count: Floats,
    entropy: Floats,
    room: Floats,
) -> None:
    """Do the work of `spread_sums`. `room` is (4, edges of a sum): what is below, weights, and two more."""
    for node in range(kind.size):
        begin, size = first[node], last[node] - first[node]
        for c in range(size):
            room[0, c] = entropy[child[begin + c]]
        if kind[node] == SUM:
            entropy[node] = _spread_one(count, begin, size, pull[node], room)
        else:
            for c in range(size):
                entropy[node] += room[0, c]


@inner
def _spread_one(count: Floats, begin: int, size: int, pull: float, room: Floats) -> float:
    """Even out the counts of one sum; its entropy."""
    below, weight = room[0], room[1]
    total, answer = 0.0, 0.0
    for c in range(size):
        total += count[begin + c]
    is_pulled = pull > _NEGLIGIBLE * total and size > 1
    for c in range(size):
        weight[c] = count[begin + c] / total if total > 0 else 1 / size
        room[2, c] = count[begin + c] / pull if is_pulled else 0.0
    if is_pulled:
        _balance_weights(room, size)
    for c in range(size):
        if is_pulled:
            count[begin + c] = weight[c] * (total if total > 0 else 1.0)
        if weight[c] > 0:
            answer += weight[c] * (below[c] - np.log(weight[c]))
    return answer


@inner
def _balance_weights(room: Floats, size: int) -> None:
    """Fill in the weights w, summing to one, for which ratio / w - log w + below is the same m for all.

    The ratio is that of count and pull. Each weight is a convex, decreasing function of m, and so is the
    logarithm of their sum: Newton's method that starts from an m that is too small approaches the solution
    from below, without bracketing or damping.
    """
    below, weight, ratio, u = room[0], room[1], room[2], room[3]
    level, total = _least_level(ratio, below, size), 1.0
    for c in range(size):
        z = np.log(ratio[c]) - below[c] + level if ratio[c] > 0 else -np.inf
        u[c] = omega(z, first_omega(z))
    for _ in range(60):
        total, slope = 0.0, 0.0
        for c in range(size):
            weight[c] = ratio[c] / u[c] if u[c] > 1 else np.exp(below[c] - level + u[c])
            total += weight[c]
            slope += weight[c] / (1 + u[c])
        excess = np.log(total)
        if excess <= _CLOSE:
            break
        step = excess * total / slope
        level += step
        for c in range(size):
            z = np.log(ratio[c]) - below[c] + level if ratio[c] > 0 else -np.inf
            near = u[c] * (1 + step / (1 + u[c])) if step < 1 + u[c] else first_omega(z)
            u[c] = omega(z, near)
    for c in range(size):
        weight[c] /= total


@inner
def _least_level(ratio: Floats, below: Floats, size: int) -> float:
    """A level m at which the weights sum to one or more.

    For any weights that sum to one, the smallest of their ratio / w - log w + below is such a level. Here
    they are the weights of maximum likelihood and those of maximum entropy.
    """
    total, top, partition = 0.0, -np.inf, 0.0
    for c in range(size):
        total += ratio[c]
        top = max(top, below[c])
    for c in range(size):
        partition += np.exp(below[c] - top)
    partition = top + np.log(partition)
    plain, even = np.inf, np.inf
    for c in range(size):
        even = min(even, ratio[c] * np.exp(partition - below[c]) + partition)
        if ratio[c] > 0:
            plain = min(plain, total - np.log(ratio[c] / total) + below[c])
    return max(even, plain) if total > 0 else even


@inner
def first_omega(z: float) -> float:
    """An approximation of the u whose u + log u is z."""
    if z > 3:
        return z - np.log(z)
    return np.log1p(np.exp(z))


@inner
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
