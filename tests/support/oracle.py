"""The definitions, slow and obvious, written without any of the library's own evaluation.

A row is a sequence of numbers with NaN for «any value». Everything is in logarithms, so that tiny weights
stay exact enough to compare with.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit.blocks import GateBlock
from tractable.circuit.graph import LEAF, PRODUCT, Graph
from tractable.data.evidence import Interval, Region, States
from tractable.data.schema import Schema

Row: TypeAlias = Sequence[float] | Floats
Regions: TypeAlias = Mapping[int, Region]


class Leaf(NamedTuple):
    """One leaf of a graph, taken out of its block."""

    family: str
    column: int
    params: list[float]


def log_sum(logs: Iterable[float]) -> float:
    """The logarithm of a sum of exponentials."""
    terms = list(logs)
    top = max(terms, default=-math.inf)
    return top if top == -math.inf else top + math.log(math.fsum(math.exp(t - top) for t in terms))


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


# ---- leaves -------------------------------------------------------------------------------------------


def _bernoulli(p: list[float], x: float) -> float:
    """The log-odds of the second state."""
    odds = p[0] if x == 1 else -p[0]
    return -math.inf if odds == -math.inf else -log_sum([0.0, -odds])


def _gaussian(p: list[float], x: float) -> float:
    """Mean and log standard deviation."""
    return -0.5 * ((x - p[0]) / math.exp(p[1])) ** 2 - p[1] - 0.5 * math.log(2 * math.pi)


def _poisson(p: list[float], x: float) -> float:
    """The log rate."""
    return (x * p[0] if x else 0.0) - math.exp(p[0]) - math.lgamma(x + 1)


def _histogram(p: list[float], x: float) -> float:
    """Edges, then the log-density of each bin; the last bin holds its right edge."""
    bins = len(p) // 2
    edges, log_density = p[: bins + 1], p[bins + 1 :]
    for i in range(bins):
        if edges[i] <= x < edges[i + 1] or (i == bins - 1 and x == edges[-1]):
            return log_density[i]
    return -math.inf


LOG_PROB: dict[str, Callable[[list[float], float], float]] = {
    "indicator": lambda p, x: 0.0 if x == p[0] else -math.inf,
    "bernoulli": _bernoulli,
    "categorical": lambda p, x: p[int(x)],
    "gaussian": _gaussian,
    "poisson": _poisson,
    "histogram": _histogram,
    "potential": lambda p, x: x,
}


def _log_mass(leaf: Leaf, region: Region) -> float:
    """The log-probability that a leaf's value lies in a region."""
    if isinstance(region, States):
        return log_sum(
            LOG_PROB[leaf.family](leaf.params, k) for k in map(float, np.flatnonzero(region.allowed))
        )
    if leaf.family == "gaussian":
        low, high = (_standard(leaf.params, end) for end in (region.low, region.high))
        return _log(
            (math.erfc(-high) - math.erfc(-low) if high < 0 else math.erfc(low) - math.erfc(high)) / 2
        )
    if leaf.family == "poisson":
        top = int(min(region.high, 1000 + 10 * math.exp(leaf.params[0])))
        return log_sum(_poisson(leaf.params, k) for k in range(max(0, math.ceil(region.low)), top + 1))
    return _log_histogram_mass(leaf.params, region)


def _standard(p: list[float], x: float) -> float:
    return (x - p[0]) / math.exp(p[1]) / math.sqrt(2)


def _log_histogram_mass(p: list[float], region: Interval) -> float:
    bins = len(p) // 2
    masses = []
    for left, right, log_density in zip(p[:bins], p[1 : bins + 1], p[bins + 1 :], strict=True):
        masses.append(log_density + _log(min(right, region.high) - max(left, region.low)))
    return log_sum(masses)


def log_leaf(leaf: Leaf, row: Row, regions: Regions) -> float:
    """The logarithm of a leaf's value: one for a missing cell, the mass of a region, else the density."""
    if leaf.family == "constant":
        return leaf.params[0]
    if not math.isnan(row[leaf.column]):
        return LOG_PROB[leaf.family](leaf.params, float(row[leaf.column]))
    if leaf.column in regions:
        return _log_mass(leaf, regions[leaf.column])
    return 0.0


def log_gate(block: GateBlock, place: int, row: Row) -> float:
    """The logarithm of a gate's value: the share of the exponential of its score."""
    features, weights = block.regressions.features, block.regressions.weights[block.regression[place]]
    seen = [
        ((1.0 if row[c] == s else 0.0) if s >= 0 else float(row[c])) - float(shift)
        for c, s, shift in zip(features.column, features.state, features.shift, strict=True)
    ]
    seen = [x / float(scale) for x, scale in zip(seen, features.scale, strict=True)]
    scores = [
        0.0,
        *(math.fsum(float(w) * x for w, x in zip(line, [*seen, 1.0], strict=True)) for line in weights),
    ]
    return scores[block.outcome[place]] - log_sum(scores)


def leaves_of(graph: Graph) -> dict[int, Leaf]:
    """Each leaf under the number of its node."""
    return {
        int(node): Leaf(block.name, int(column), [float(p) for p in params])
        for block in graph.blocks
        if block.section == "leaf"
        for node, column, params in zip(*block.arrays.values(), strict=True)
    }


# ---- values -------------------------------------------------------------------------------------------


def edges_of(graph: Graph, node: int) -> list[tuple[int, float]]:
    """A node's children, each with the log weight of its edge."""
    span = range(int(graph.start[node]), int(graph.start[node + 1]))
    return [(int(graph.child[e]), float(graph.log_weight[e])) for e in span]


def node_log_values(graph: Graph, row: Row, regions: Regions | None = None) -> list[float]:
    """The logarithm of every node's value for one row."""
    leaves = leaves_of(graph)
    gates = {
        int(node): (block, i) for block in graph.blocks_of(GateBlock) for i, node in enumerate(block.node)
    }
    value: list[float] = []
    for node in range(graph.nodes):
        if node in gates:
            value.append(log_gate(*gates[node], row))
        elif graph.kind[node] == LEAF:
            value.append(log_leaf(leaves[node], row, regions or {}))
        elif graph.kind[node] == PRODUCT:
            value.append(
                math.fsum(below) if min(below := _below(graph, node, value)) > -math.inf else -math.inf
            )
        else:
            value.append(log_sum(_below(graph, node, value)))
    return value


def _below(graph: Graph, node: int, value: list[float]) -> list[float]:
    return [weight + value[child] for child, weight in edges_of(graph, node)]


def log_value(graph: Graph, row: Row, regions: Regions | None = None) -> float:
    """The logarithm of the root's value for one row."""
    return node_log_values(graph, row, regions)[-1]


def log_values(graph: Graph, rows: Iterable[Row]) -> Floats:
    """The logarithm of the root's value for each row."""
    return np.array([log_value(graph, row) for row in rows])


# ---- enumeration --------------------------------------------------------------------------------------


def all_rows(schema: Schema) -> list[tuple[float, ...]]:
    """Every complete row of a schema whose columns are all categorical."""
    for variable in schema:
        if not variable.is_categorical:
            raise ValueError(f"the values of column '{variable.name}' cannot be listed")
    return list(itertools.product(*[[float(k) for k in range(v.cardinality)] for v in schema]))


def completions(schema: Schema, row: Row, regions: Regions | None = None) -> list[tuple[float, ...]]:
    """Every complete row that agrees with `row` where it is known, and lies in the regions."""
    return [full for full in all_rows(schema) if _agrees(full, row, regions or {})]


def _agrees(full: Row, row: Row, regions: Regions) -> bool:
    for column, (x, known) in enumerate(zip(full, row, strict=True)):
        if not math.isnan(known) and x != known:
            return False
        region = regions.get(column)
        if isinstance(region, States) and not region.allowed[int(x)]:
            return False
    return True


def log_total(graph: Graph, row: Row | None = None, regions: Regions | None = None) -> float:
    """The log-sum of the values of all rows that agree with `row` (of all rows, when there is none)."""
    known = [math.nan] * len(graph.schema) if row is None else row
    return log_sum(log_value(graph, full) for full in completions(graph.schema, known, regions))


def log_marginal(graph: Graph, row: Row) -> float:
    """log P(row) by enumeration, whether or not the circuit is normalised."""
    return log_total(graph, row) - log_total(graph)


def log_conditional(graph: Graph, row: Row, given: Iterable[int]) -> float:
    """log P(row | the columns of `row` in `given`) by enumeration."""
    chosen = set(given)
    condition = [x if i in chosen else math.nan for i, x in enumerate(row)]
    return log_total(graph, row) - log_total(graph, condition)


def mpe(graph: Graph, row: Row) -> tuple[float, list[tuple[float, ...]]]:
    """The largest log value of any completion, and every completion that reaches it (up to rounding)."""
    candidates = completions(graph.schema, row)
    logs = [log_value(graph, full) for full in candidates]
    best = max(logs)
    close = [full for full, log in zip(candidates, logs, strict=True) if log >= best - 1e-9]
    return best, close


def entropy(graph: Graph, columns: Iterable[int] | None = None) -> float:
    """The entropy in nats of some columns (of all, when none are named), by enumeration."""
    chosen = list(range(len(graph.schema))) if columns is None else list(columns)
    log_z = log_total(graph)
    groups: dict[tuple[float, ...], list[float]] = {}
    for row in all_rows(graph.schema):
        groups.setdefault(tuple(row[c] for c in chosen), []).append(log_value(graph, row) - log_z)
    logs = [log_sum(group) for group in groups.values()]
    return -math.fsum(math.exp(p) * p for p in logs if p > -math.inf)


# ---- structure ----------------------------------------------------------------------------------------


class InducedTree(NamedTuple):
    """One choice of child at every sum that is met from the root."""

    log_weight: float
    leaves: tuple[int, ...]


def number_of_trees(graph: Graph) -> int:
    """How many induced trees there are: a sum adds those of its children, a product multiplies them."""
    count: list[int] = []
    for node in range(graph.nodes):
        below = [count[child] for child, _ in edges_of(graph, node)]
        is_leaf, combine = graph.kind[node] == LEAF, math.prod if graph.kind[node] == PRODUCT else sum
        count.append(1 if is_leaf else combine(below))
    return count[-1]


def induced_trees(graph: Graph) -> list[InducedTree]:
    """Every induced tree, zero weights included; their values add up to the root's."""
    trees: list[list[InducedTree]] = []
    for node in range(graph.nodes):
        if graph.kind[node] == LEAF:
            trees.append([InducedTree(0.0, (node,))])
        elif graph.kind[node] == PRODUCT:
            below = [trees[child] for child, _ in edges_of(graph, node)]
            trees.append([_joined(parts) for parts in itertools.product(*below)])
        else:
            choices = [(w, tree) for child, w in edges_of(graph, node) for tree in trees[child]]
            trees.append([InducedTree(w + tree.log_weight, tree.leaves) for w, tree in choices])
    return trees[-1]


def _joined(parts: Sequence[InducedTree]) -> InducedTree:
    weight = sum(p.log_weight for p in parts)
    return InducedTree(weight, tuple(leaf for p in parts for leaf in p.leaves))


def scopes(graph: Graph) -> list[frozenset[int]]:
    """The columns below every node; a constant and a potential have none."""
    leaves = leaves_of(graph)
    answer: list[frozenset[int]] = []
    for node in range(graph.nodes):
        if node in leaves:
            empty = leaves[node].family in ("constant", "potential")
            answer.append(frozenset() if empty else frozenset([leaves[node].column]))
        else:
            answer.append(frozenset().union(*(answer[child] for child, _ in edges_of(graph, node))))
    return answer


def is_smooth(graph: Graph, columns: Iterable[int] | None = None) -> bool:
    """Whether the children of every sum have the same columns (among those asked about) below them."""
    below = _restricted(graph, columns)
    sums = [n for n in range(graph.nodes) if graph.kind[n] not in (LEAF, PRODUCT)]
    return all(len({below[child] for child, _ in edges_of(graph, n)}) == 1 for n in sums)


def is_decomposable(graph: Graph, columns: Iterable[int] | None = None) -> bool:
    """Whether the children of every product share no column (among those asked about)."""
    below = _restricted(graph, columns)
    products = [n for n in range(graph.nodes) if graph.kind[n] == PRODUCT]
    return all(sum(len(below[child]) for child, _ in edges_of(graph, n)) == len(below[n]) for n in products)


def _restricted(graph: Graph, columns: Iterable[int] | None) -> list[frozenset[int]]:
    asked = frozenset(range(len(graph.schema)) if columns is None else columns)
    return [scope & asked for scope in scopes(graph)]


def is_deterministic(graph: Graph) -> bool:
    """Whether no complete row makes two children of a sum non-zero (over edges of non-zero weight)."""
    sums = [n for n in range(graph.nodes) if graph.kind[n] not in (LEAF, PRODUCT)]
    for row in all_rows(graph.schema):
        value = node_log_values(graph, row)
        for node in sums:
            if sum(w + value[child] > -math.inf for child, w in edges_of(graph, node)) > 1:
                return False
    return True


def depth(graph: Graph) -> int:
    """The number of edges on the longest way down from the root."""
    height: list[int] = []
    for node in range(graph.nodes):
        height.append(max((height[child] + 1 for child, _ in edges_of(graph, node)), default=0))
    return height[-1]


def parents_of(graph: Graph) -> Ints:
    """How many edges lead to each node."""
    return np.bincount(graph.child, minlength=graph.nodes)
