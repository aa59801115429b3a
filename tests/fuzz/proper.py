"""Whether the answers of a model are proper: never NaN, and probabilities that sum to one."""

from typing import Any

import numpy as np

from fuzz.mutations import Rng
from tractable import queries
from tractable.base.arrays import Floats
from tractable.circuit import Graph
from tractable.circuit.generalised import GeneralisedGraph
from tractable.circuit.generalised import log_prob as generalised_log_prob
from tractable.circuit.generalised import marginals as generalised_marginals
from tractable.data import Evidence, Schema

NUMBERS = (0.0, 1.0, 2.0, -1.0, 0.5, -3.25, 1e3, 1e-3, 1e10, 1e300, -1e300, 40_000.0)
CLOSE = 1e-6
ROWS = 3
MOST_COLUMNS = 200  # of a circuit that is asked


def random_rows(rng: Rng, schema: Schema, rows: int = ROWS) -> Floats:
    """Rows of random states and numbers; some cells are missing, in the first row all, but no input is."""
    values = np.full((rows, len(schema)), np.nan)
    for c, variable in enumerate(schema):
        if variable.is_categorical:
            cells = rng.integers(variable.cardinality, size=rows).astype(np.float64)
        else:
            cells = rng.choice(NUMBERS, rows)
            if variable.role == "potential":
                cells = np.clip(cells, -700.0, 700.0)
            elif variable.is_whole:
                cells = np.floor(np.abs(cells) if variable.kind == "count" else cells)
        some = np.ones(rows, dtype=np.bool_) if variable.role != "target" else rng.random(rows) < 0.6
        some[0] &= variable.role != "target"
        values[some, c] = cells[some]
    return values


def check_answers(rng: Rng, graph: Graph) -> str:
    """Ask a circuit everything; what came of it in a word.

    A ValueError of one line is an answer: the circuit may be no distribution, and a row impossible.
    """
    if len(graph.schema) > MOST_COLUMNS or not len(graph.schema):
        return "read"
    rows = random_rows(rng, graph.schema)
    logs = _asked(lambda: queries.log_prob(graph, rows))
    if logs is None:
        return "no distribution"
    assert not np.isnan(logs).any(), "log P is NaN"
    assert (logs < np.inf).all(), "log P is infinite"
    if all(variable.is_categorical or variable.role != "target" for variable in graph.schema):
        assert (logs <= CLOSE * (1 + np.abs(logs))).all(), f"log P is {logs.max()}"
    _check_marginals(graph, rows)
    for row in rows:
        drawn = _asked(lambda row=row: queries.sample(graph, 2, Evidence(row, {}), 0))
        assert drawn is None or not _lacks_target(graph.schema, drawn), "a draw is NaN"
    for method in ("max-product", "auto"):
        found = _asked(lambda method=method: queries.most_probable(graph, rows, method=method))
        if found is None:
            continue
        assert not _lacks_target(graph.schema, found.rows), "a completion is NaN"
        assert not np.isnan(found.log_value).any(), "the log-value of a completion is NaN"
    _check_moments(graph, rows)
    return "answers"


def _check_moments(graph: Graph, rows: Floats) -> None:
    for column in graph.schema.targets.tolist():
        found = _asked(lambda column=column: queries.moments(graph, column, Evidence(rows[0], {})))
        assert found is None or not np.isnan([found.mean, found.variance]).any(), "a moment is NaN"
    filled = _asked(lambda: queries.impute(graph, rows, method="mean"))
    assert filled is None or not _lacks_target(graph.schema, filled), "an expectation is NaN"


def _check_marginals(graph: Graph, rows: Floats) -> None:
    for some in (rows, rows[:1]):
        found = _asked(lambda some=some: queries.marginals(graph, some))
        if found is None:
            continue
        for variable, posterior in zip(graph.schema, found, strict=True):
            if variable.role != "target":
                continue
            assert not np.isnan(posterior).any(), "a marginal is NaN"
            if variable.is_categorical:
                assert (np.abs(posterior.sum(axis=1) - 1) < CLOSE).all(), "a marginal does not sum to one"
        return


def _lacks_target(schema: Schema, rows: Floats) -> bool:
    return bool(np.isnan(rows[:, schema.targets]).any())


def check_generalised(rng: Rng, graph: GeneralisedGraph) -> str:
    """Ask a generalised circuit everything."""
    if len(graph.schema) > MOST_COLUMNS or not len(graph.schema):
        return "read"
    rows = random_rows(rng, graph.schema)
    logs = _asked(lambda: generalised_log_prob(graph, rows))
    assert logs is None or not np.isnan(logs).any(), "log P is NaN"
    assert logs is None or (logs < np.inf).all(), "log P is infinite"
    found = _asked(lambda: generalised_marginals(graph, rows))
    for posterior in ({} if found is None else found).values():
        assert (np.abs(posterior.sum(axis=1) - 1) < CLOSE).all(), "a marginal does not sum to one"
    return "read" if found is None else "answers"


def _asked(ask: Any) -> Any:
    """The answer, or None if the question is refused in one line."""
    try:
        return ask()
    except ValueError as error:
        line = str(error)
    assert "\n" not in line, f"the message has several lines: {line}"
    return None
