"""Queries as functions of a circuit and evidence, based on the sweeps of the engine.

To add one: a function in a file here, and a line in the table `QUERIES` (`asking.py`), which makes it a
method of `tractable.Circuit`. Frequent ones are written out in that class, for editors and type checkers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tractable.queries.asking import QUERIES, Column, Columns, RandomState, Rows, Seed, ask, seed_of
from tractable.queries.marginals import (
    Moments,
    expected_cells,
    joint_marginal,
    joint_marginals,
    marginals,
    moments,
    some_marginals,
)
from tractable.queries.probability import FAR_OUT, evidence_log_prob, log_conditional, log_prob
from tractable.queries.requirements import (
    AnswerKind,
    answer_kind,
    density_columns,
    density_mask,
    has_density,
    require_distribution,
    require_inputs,
    require_possible,
    require_valid,
)

if TYPE_CHECKING:
    from tractable.queries.columns import (
        CellLogs,
        ColumnScore,
        cell_log_probs,
        column_scores,
        state_log_probs,
        weighted_mean,
    )
    from tractable.queries.information import Estimate
    from tractable.queries.mpe import Completion, most_probable
    from tractable.queries.sampling import impute, sample, sample_rows

# A probability needs none of these, which are loaded when first asked for.
_HOME = {
    **{name: module.rpartition(".")[2] for name, module in QUERIES.items()},
    **dict.fromkeys(
        ("CellLogs", "ColumnScore", "cell_log_probs", "column_scores", "state_log_probs", "weighted_mean"),
        "columns",
    ),
    "Estimate": "information",
    **dict.fromkeys(("Completion", "most_probable"), "mpe"),
    **dict.fromkeys(("impute", "sample", "sample_rows"), "sampling"),
}

__all__ = [
    "FAR_OUT",
    "QUERIES",
    "AnswerKind",
    "CellLogs",
    "Column",
    "ColumnScore",
    "Columns",
    "Completion",
    "Estimate",
    "Moments",
    "RandomState",
    "Rows",
    "Seed",
    "answer_kind",
    "ask",
    "cell_log_probs",
    "column_scores",
    "density_columns",
    "density_mask",
    "evidence_log_prob",
    "expected_cells",
    "has_density",
    "impute",
    "joint_marginal",
    "joint_marginals",
    "log_conditional",
    "log_prob",
    "marginals",
    "moments",
    "most_probable",
    "require_distribution",
    "require_inputs",
    "require_possible",
    "require_valid",
    "sample",
    "sample_rows",
    "seed_of",
    "some_marginals",
    "state_log_probs",
    "weighted_mean",
]


def __getattr__(name: str) -> Any:
    """A query that is imported on first access."""
    if name not in _HOME:
        raise AttributeError(f"module 'tractable.queries' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(f"tractable.queries.{_HOME[name]}"), name)
    return value
