"""Log-values of circuits, in the fastest way that there is for each.

A large mixture of components of one shape is evaluated for all components at the same time, also as a member
of a mixture of several circuits; all other circuits, and all other questions, go the way of `sweep.py`.
"""

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit.graph import Graph
from tractable.circuit.members import Members, mixture_members
from tractable.engine import sweep
from tractable.engine.inputs import Regions

MANY_EDGES = 20_000  # of a circuit that is worth preparing for it
EDGES_EACH = (
    100  # of a component: an exponential for each component takes as long as a sweep over sixty edges
)


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
    if _is_large(graph) and not (regions or maximise or best):
        from tractable.engine.shape_sweep import shape_log_values  # small circuits do without it
        from tractable.engine.shape_terms import shape_program

        program = shape_program(graph)
        if program is not None:
            return shape_log_values(program, rows, threads)
        members = _members(graph)
        if members is not None:
            return _mixed(members, rows, threads)
    return sweep.log_values(graph, rows, regions, maximise=maximise, best=best, threads=threads)


def _is_large(graph: Graph) -> bool:
    """Whether a mixture of components of one shape is worth it: many edges, in all and in each component."""
    return graph.edges >= max(MANY_EDGES, EDGES_EACH * int(graph.start[-1] - graph.start[-2]))


def _members(graph: Graph) -> Members | None:
    """The members of a mixture, if some of them have components of one shape."""
    from tractable.engine.shape_terms import shape_program

    members = mixture_members(graph)
    if members is None:
        return None
    large = (member for member in members.graphs if _is_large(member))
    return members if any(shape_program(member) is not None for member in large) else None


def _mixed(members: Members, rows: Floats, threads: int | None) -> Floats:
    """The log-values of a mixture, member by member."""
    answer = np.full(len(rows), -np.inf)
    for member, weight in zip(members.graphs, members.log_weight.tolist(), strict=True):
        np.logaddexp(answer, weight + log_values(member, rows, threads=threads), out=answer)
    return answer
