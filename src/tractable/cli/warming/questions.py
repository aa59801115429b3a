"""Every kind of question to a circuit, asked once."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tractable.data import Evidence, Table
from tractable.model import Circuit

Ask = Callable[[Circuit, Table, dict[str, Any]], object]


def _first(circuit: Circuit) -> str:
    return circuit.schema[0].name


def _others(circuit: Circuit) -> list[str]:
    return list(circuit.schema.names[1:3])


# What is asked of a circuit, given rows with and without missing cells and the value of one column.
QUESTIONS: dict[str, Ask] = {
    "properties": lambda c, rows, given: c.properties,
    "prob": lambda c, rows, given: c.prob(given),
    "log_prob": lambda c, rows, given: c.log_prob(rows),
    "log_prob_of": lambda c, rows, given: c.log_prob_of({}, given),
    "log_conditional": lambda c, rows, given: c.log_conditional(rows, given=[_first(c)]),
    "score": lambda c, rows, given: c.score(rows),
    "column_scores": lambda c, rows, given: c.column_scores(rows),
    "marginals": lambda c, rows, given: (
        c.marginals(given=given),
        c.marginals(given=given, columns=_others(c)),
        c.marginals(rows=rows),
    ),
    "joint_marginal": lambda c, rows, given: c.joint_marginal(_others(c), given),
    "mpe": lambda c, rows, given: [
        (c.mpe(given=given, method=method), c.mpe(rows=rows, method=method))
        for method in ("auto", "max-product", "search")
    ],
    "sample": lambda c, rows, given: (c.sample(5, random_state=0), c.sample(5, given, random_state=0)),
    "impute": lambda c, rows, given: [
        c.impute(rows, method=method, random_state=0) for method in ("mpe", "mean", "sample")
    ],
    "expectation": lambda c, rows, given: c.expectation(_others(c)[0], given),
    "variance": lambda c, rows, given: c.variance(_others(c)[0], given),
    "entropy": lambda c, rows, given: [c.entropy(method=method) for method in ("sample", "exact")],
    "mutual_information": lambda c, rows, given: c.mutual_information(_first(c), _others(c)),
    "divergence": lambda c, rows, given: c.divergence(c, method="sample"),
    "condition": lambda c, rows, given: c.condition(given),
    "marginalise": lambda c, rows, given: c.marginalise([_first(c)]),
}


def ask_everything(circuit: Circuit, rows: Table) -> None:
    """Ask all questions that the circuit can answer, of whole rows and of rows with missing cells."""
    value = rows.values[:, 0][~np.isnan(rows.values[:, 0])][0]
    given = {_first(circuit): circuit.schema[0].label(float(value))}
    gaps = rows.values[:16].copy()
    gaps[::2, 1:3] = np.nan
    for some in (rows.take(np.arange(len(gaps))), Table(rows.schema, gaps)):
        for ask in QUESTIONS.values():
            try:
                ask(circuit, some, given)
            except ValueError:  # a question that this circuit cannot answer
                continue


def no_evidence(table: Table) -> Evidence:
    """Nothing at all, as evidence about the columns of a table."""
    return Evidence(np.full(len(table.schema), np.nan), {})
