"""Log-values of circuits, in the fastest way that there is for each.

A large mixture of components of one shape is evaluated for all components at the same time; all other
circuits, and all other questions, go the way of `sweep.py`.
"""

from tractable.arrays import Floats
from tractable.circuit.graph import Graph
from tractable.engine import sweep
from tractable.engine.inputs import Regions

MANY_EDGES = 20_000  # of a circuit that is worth preparing for it


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
    if graph.edges >= MANY_EDGES and not (regions or maximise or best):
        from tractable.engine.shape_sweep import shape_log_values  # small circuits do without it
        from tractable.engine.shape_terms import shape_program

        program = shape_program(graph)
        if program is not None:
            return shape_log_values(program, rows, threads)
    return sweep.log_values(graph, rows, regions, maximise=maximise, best=best, threads=threads)
