"""Parameter learning: from a circuit and a table to a circuit of the same structure with better parameters.

To add a method: a file with a class, and a line in the table below.
"""

import numpy as np

from tractable.circuit import Graph
from tractable.circuit.check import check_graph
from tractable.data import Table, collapse
from tractable.parameters.method import Course, Fitted, Method, WeightedRows, is_over
from tractable.parameters.start import randomise
from tractable.progress import Watch
from tractable.settings import Home, Registry

METHODS: Registry[Method] = Registry(
    "method",
    {
        "cccp": Home("tractable.parameters.cccp", "CCCP"),
        "online-em": Home("tractable.parameters.online_em", "OnlineEM"),
        "hard-em": Home("tractable.parameters.hard_em", "HardEM"),
        "pgd": Home("tractable.parameters.pgd", "PGD"),
        "eg": Home("tractable.parameters.eg", "EG"),
        "sma": Home("tractable.parameters.sma", "SMA"),
        "closed-form": Home("tractable.parameters.closed_form", "ClosedForm"),
        "discriminative": Home("tractable.parameters.discriminative", "Discriminative"),
    },
)


def fit(
    graph: Graph,
    table: Table,
    how: Method,
    rng: np.random.Generator,
    *,
    valid: Table | None = None,
    watch: Watch | None = None,
) -> Fitted:
    """The circuit with the parameters that score best, on the validation rows if there are any.

    Raises:
        ValueError: if the tables do not fit the circuit, or the method cannot work on it.
    """
    for name, some in (("training", table), ("validation", valid)):
        if some is not None and some.schema != graph.schema:
            raise ValueError(f"the {name} table has another schema than the circuit")
    rows, held_out = weighted_rows(table), None if valid is None else weighted_rows(valid)
    start = how.prepare(graph, table)
    course = Course()
    with watch or Watch() as watching:
        for done, step in enumerate(how.steps(start, rows, rng)):
            score = None if held_out is None else how.score(step.graph, held_out)
            course.record(step, score)
            watching.report(how.title, done, how.iterations, step.train if score is None else score)
            if done >= how.iterations or is_over(course, how, watching):
                break
    assert course.best is not None
    found = how.finish(course.best)
    check_graph(found)  # the steps before it were not checked
    return Fitted(found, course.train, course.valid)


def weighted_rows(table: Table) -> WeightedRows:
    """The distinct rows of positive weight."""
    distinct, _ = collapse(table)
    some = distinct.row_weights > 0
    if not some.any():
        raise ValueError("the table has no rows that weigh anything")
    return WeightedRows(distinct.values[some], distinct.row_weights[some])


__all__ = ["METHODS", "Fitted", "Method", "fit", "randomise", "weighted_rows"]
