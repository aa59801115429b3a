"""Properties of a circuit, computed once and cached, with the reasons for those that do not hold."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tractable.circuit.blocks import ConstantBlock, GateBlock
from tractable.circuit.determinism import Meeting, OverlapError, first_meeting, irregular_sum
from tractable.circuit.facts import remembered
from tractable.circuit.graph import SUM, Graph
from tractable.circuit.kernels import heights
from tractable.circuit.scopes import Window, bits, root_columns, windows


@dataclass(frozen=True, slots=True)
class Properties:
    """The properties and the size of a circuit."""

    smooth: bool
    decomposable: bool
    deterministic: bool
    regular_selective: bool
    conditionally_valid: bool  # smooth and decomposable over the targets
    nodes: int
    edges: int
    depth: int
    parameters: int
    variables: int

    def __repr__(self) -> str:
        names = ["smooth", "decomposable", "deterministic", "regular_selective"]
        if not (self.smooth and self.decomposable):
            names.append("conditionally_valid")
        held = [name.replace("_", " ") for name in names if getattr(self, name)]
        missing = ["not " + name.replace("_", " ") for name in names if not getattr(self, name)]
        size = (
            f"{self.nodes:,} nodes, {self.edges:,} edges, depth {self.depth:,},"
            f" {self.parameters:,} parameters, {self.variables:,} variables"
        )
        return f"<{', '.join(held + missing)}; {size}>"


def properties(graph: Graph) -> Properties:
    """All properties of a circuit and its size."""
    return Properties(
        smooth=is_smooth(graph),
        decomposable=is_decomposable(graph),
        deterministic=is_deterministic(graph),
        regular_selective=is_regular_selective(graph),
        conditionally_valid=is_valid_over(graph, graph.schema.targets),
        nodes=graph.nodes,
        edges=graph.edges,
        depth=depth(graph),
        parameters=parameter_count(graph),
        variables=np.unique(
            np.concatenate([root_columns(graph), *(block.reads for block in graph.blocks_of(GateBlock))])
        ).size,
    )


# ---- smooth and decomposable --------------------------------------------------------------------------


def is_smooth(graph: Graph) -> bool:
    """Whether the children of every sum are over the same columns."""
    return explain_smooth(graph) is None


def is_decomposable(graph: Graph) -> bool:
    """Whether no two children of a product are over the same column."""
    return explain_decomposable(graph) is None


def is_valid_over(graph: Graph, columns: Iterable[int]) -> bool:
    """Whether the circuit is smooth and decomposable as far as the given columns go.

    Such a circuit is a conditional distribution of those columns given all others.
    """
    return explain_validity(graph, columns) is None


def explain_smooth(graph: Graph) -> str | None:
    """The first sum whose children are over different columns, in words; None when the circuit is smooth."""
    return _scope_explanations(graph)[0]


def explain_decomposable(graph: Graph) -> str | None:
    """The first product whose children share a column, in words; None when the circuit is decomposable."""
    return _scope_explanations(graph)[1]


def explain_validity(graph: Graph, columns: Iterable[int]) -> str | None:
    """What keeps the circuit from being smooth and decomposable over some columns; None when nothing does."""
    chosen = tuple(sorted({int(c) for c in columns}))
    both = _scope_culprits(graph, chosen)
    return both[0] or both[1]


def _scope_explanations(graph: Graph) -> tuple[str | None, str | None]:
    return _scope_culprits(graph, tuple(range(len(graph.schema))))


@remembered
def _scope_culprits(graph: Graph, columns: tuple[int, ...]) -> tuple[str | None, str | None]:
    """The first sum that is not smooth and the first product that is not decomposable, in words."""
    unsmooth, shared = graph.nodes, graph.nodes
    words: list[str | None] = [None, None]
    for window in windows(graph, columns):
        if window.unsmooth < unsmooth:
            unsmooth = window.unsmooth
            words[0] = _unsmooth_words(graph, window)
        if window.shared < shared:
            shared = window.shared
            words[1] = _shared_words(graph, window)
    return words[0], words[1]


def _unsmooth_words(graph: Graph, window: Window) -> str:
    node = window.unsmooth
    below = graph.child[graph.start[node] : graph.start[node + 1]]
    union = np.bitwise_or.reduce(window.word[below])
    lacking = int(np.flatnonzero(window.word[below] != union)[0])
    column = bits(union & ~window.word[below[lacking]], window.columns)[0]
    having = int(below[window.has(below, int(column))][0])
    name = graph.schema[int(column)].name
    return f"sum {node}: its child {having} is over column '{name}', its child {int(below[lacking])} is not"


def _shared_words(graph: Graph, window: Window) -> str:
    node = window.shared
    below = graph.child[graph.start[node] : graph.start[node + 1]]
    before = np.bitwise_or.accumulate(window.word[below])
    second = int(np.flatnonzero(before[:-1] & window.word[below[1:]])[0]) + 1
    column = bits(before[second - 1] & window.word[below[second]], window.columns)[0]
    first = int(below[window.has(below, int(column))][0])
    name = graph.schema[int(column)].name
    return f"product {node}: its children {first} and {int(below[second])} share column '{name}'"


# ---- deterministic and regular selective --------------------------------------------------------------


def is_deterministic(graph: Graph) -> bool:
    """Whether at most one child of every sum is above zero for any row, as far as single columns tell.

    True is always right. False may be wrong where children are told apart only by several columns together,
    by numbers, or below a sum with thousands of children (see `determinism.MOST_PAIRS`).
    """
    return explain_deterministic(graph) is None


@remembered
def explain_deterministic(graph: Graph) -> str | None:
    """A sum with two children that may both be non-zero, in words, or None."""
    return _meeting_words(first_meeting(graph))


def _meeting_words(meeting: Meeting | None) -> str | None:
    if meeting is None:
        return None
    if meeting.first < 0:
        return f"sum {meeting.node}: it has too many children to compare, and no column tells them all apart"
    return f"sum {meeting.node}: no column tells its children {meeting.first} and {meeting.second} apart"


def is_regular_selective(graph: Graph) -> bool:
    """Whether every sum decides one column and its children reach the same leaves of all others."""
    return explain_regular_selective(graph) is None


@remembered
def explain_regular_selective(graph: Graph) -> str | None:
    """What keeps the circuit from being regular selective, in words; None when nothing does."""
    fault = explain_smooth(graph) or explain_decomposable(graph)
    if fault is not None:
        return fault
    try:
        node = irregular_sum(graph)
    except OverlapError as overlap:
        return f"column '{graph.schema[overlap.column].name}' has different leaves whose supports overlap"
    return (
        None
        if node is None
        else f"sum {node}: its children do not differ in the leaves of exactly one column"
    )


# ---- size ---------------------------------------------------------------------------------------------


@remembered
def depth(graph: Graph) -> int:
    """The number of edges on the longest way down from the root."""
    height = np.zeros(graph.nodes, dtype=np.int64)
    heights(graph.start, graph.child, height)
    return int(height[-1])


def parameter_count(graph: Graph) -> int:
    """The number of parameters: weights of sums, parameters of leaves, and one for each feature.

    A sum whose weights are all one carries none, and neither does an indicator. Where there is a feature
    table, features count in place of the constants that carry them.
    """
    weighted = np.zeros(graph.nodes, dtype=np.bool_)
    weighted[graph.parent[graph.log_weight != 0]] = True
    weights = int(np.diff(graph.start)[weighted & (graph.kind == SUM)].sum())
    tied = 0 if graph.features is None else len(graph.features)
    uncounted = () if graph.features is None else (ConstantBlock,)
    return weights + tied + sum(b.parameter_count for b in graph.blocks if not isinstance(b, uncounted))
