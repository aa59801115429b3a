"""Parameter learning: from a circuit and a table to a circuit of the same structure with better parameters.

To add a method: a file with a class, and a line in the table below.
"""

from contextlib import suppress
from itertools import islice

import numpy as np

from tractable.base.progress import Stopped, Watch
from tractable.base.settings import Home, Registry
from tractable.circuit import Graph
from tractable.circuit.check import check_graph
from tractable.circuit.states import parameter_forms
from tractable.data import Table, collapse, useful_validation
from tractable.learning.parameters.method import COURSE, Course, Fitted, Method, WeightedRows, is_over
from tractable.learning.parameters.updates import randomise

METHODS: Registry[Method] = Registry(
    "method",
    {
        "cccp": Home("tractable.learning.parameters.cccp", "CCCP"),
        "online-em": Home("tractable.learning.parameters.online_em", "OnlineEM"),
        "hard-em": Home("tractable.learning.parameters.cccp", "HardEM"),
        "pgd": Home("tractable.learning.parameters.gradient", "PGD"),
        "eg": Home("tractable.learning.parameters.gradient", "EG"),
        "sma": Home("tractable.learning.parameters.gradient", "SMA"),
        "closed-form": Home("tractable.learning.parameters.closed_form", "ClosedForm"),
        "discriminative": Home("tractable.learning.parameters.discriminative", "Discriminative"),
        "max-margin": Home("tractable.learning.parameters.max_margin", "MaxMargin"),
    },
)


def fit(
    graph: Graph,
    table: Table,
    method: Method,
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
            raise ValueError(f"the schema of the {name} table differs from that of the circuit")
    valid = useful_validation(valid)
    rows, held_out = weighted_rows(table), None if valid is None else weighted_rows(valid)
    start = method.prepare(graph, table)
    with watch or Watch() as watching:
        course = _follow(start, rows, held_out, method, rng, watching)
    fitted = method.finish(start if course.best is None else course.best)
    check_graph(fitted)  # the steps before it were not checked
    return Fitted(fitted, course.train, course.valid)


def _follow(
    start: Graph,
    rows: WeightedRows,
    held_out: WeightedRows | None,
    method: Method,
    rng: np.random.Generator,
    watch: Watch,
) -> Course:
    """The steps of a method until they are over, from those on that an earlier run has made."""
    forms = parameter_forms(start)
    course = watch.checkpoint(COURSE, forms=forms) or Course()
    last = course.last
    with suppress(Stopped):
        for step in islice(method.steps(start, rows, rng, watch, last), 0 if last is None else 1, None):
            score = None if held_out is None else method.score(step.graph, held_out)
            course.record(step, score)
            watch.report(method.title, course.done, method.iterations, step.train if score is None else score)
            if course.done >= method.iterations or is_over(course, method, watch):
                break
            watch.save_checkpoint(COURSE, lambda: course, forms=forms)
    return course


def weighted_rows(table: Table) -> WeightedRows:
    """The distinct rows of positive weight."""
    distinct, _ = collapse(table)
    some = distinct.row_weights > 0
    if not some.any():
        raise ValueError("the weights of the table are all zero")
    return WeightedRows(distinct.values[some], distinct.row_weights[some])


__all__ = ["METHODS", "Fitted", "Method", "fit", "randomise", "weighted_rows"]
