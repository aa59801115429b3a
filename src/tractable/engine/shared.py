"""Log-values of circuits by the fastest available method.

A large mixture of components of one shape is evaluated for all components at the same time, also as a member
of a mixture of several circuits; all other circuits, and all other questions, go the way of `sweep.py`.
"""

from collections.abc import Sequence

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit.graph import Graph
from tractable.circuit.shapes import members_of, root_weights
from tractable.engine import sweep
from tractable.engine.inputs import Regions

MANY_EDGES = 20_000  # of a circuit that is worth preparing for it
EDGES_EACH = 100  # of a component: an exponential for each component takes as long as a sweep over sixty


def log_values(
    graph: Graph,
    rows: Floats,
    regions: Regions | None = None,
    *,
    maximise: bool = False,
    best: frozenset[int] = frozenset(),
    threads: int | None = None,
) -> Floats:
    """The logarithm of the root's value for each row: see `sweep.log_values`."""
    if graph.mixture is not None and not (regions or maximise or best) and _is_large(graph):
        from tractable.engine.shape_sweep import shape_log_values  # small circuits do without it
        from tractable.engine.shape_terms import shape_program

        program = shape_program(graph)
        if program is not None:
            return shape_log_values(program, rows, threads)
        members = members_of(graph)
        if any(member.mixture is not None and _is_large(member) for member in members):
            return _mixed(members, root_weights(graph), rows, threads)
    return sweep.log_values(graph, rows, regions, maximise=maximise, best=best, threads=threads)


def _is_large(graph: Graph) -> bool:
    """Whether a mixture of components of one shape is worth it: many edges, in all and in each component."""
    return graph.edges >= max(MANY_EDGES, EDGES_EACH * root_weights(graph).size)


def _mixed(members: Sequence[Graph], log_weights: Floats, rows: Floats, threads: int | None) -> Floats:
    """The log-values of a mixture, member by member."""
    answer = np.full(len(rows), -np.inf)
    for member, weight in zip(members, log_weights.tolist(), strict=True):
        np.logaddexp(answer, weight + log_values(member, rows, threads=threads), out=answer)
    return answer
