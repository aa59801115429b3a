"""Questions and their answers: each a function of a circuit and evidence, over the engine's sweeps.

To add one: a function in a file here, a line in the table of exports, and a method of `tractable.Circuit`.
"""

from tractable.queries.columns import (
    CellLogs,
    ColumnScore,
    cell_log_probs,
    column_scores,
    state_log_probs,
    weighted_mean,
)
from tractable.queries.comparison import divergence
from tractable.queries.densities import AnswerKind, answer_kind, density_columns, density_mask, has_density
from tractable.queries.information import Estimate, entropy, mutual_information
from tractable.queries.marginals import (
    expected_cells,
    joint_marginal,
    joint_marginals,
    marginals,
    some_marginals,
)
from tractable.queries.moments import Moments, moments
from tractable.queries.mpe import Completion, most_probable
from tractable.queries.probability import FAR_OUT, evidence_log_prob, log_conditional, log_prob
from tractable.queries.requirements import (
    require_distribution,
    require_inputs,
    require_possible,
    require_valid,
)
from tractable.queries.sampling import impute, sample, sample_rows

__all__ = [
    "FAR_OUT",
    "AnswerKind",
    "CellLogs",
    "ColumnScore",
    "Completion",
    "Estimate",
    "Moments",
    "answer_kind",
    "cell_log_probs",
    "column_scores",
    "density_columns",
    "density_mask",
    "divergence",
    "entropy",
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
    "mutual_information",
    "require_distribution",
    "require_inputs",
    "require_possible",
    "require_valid",
    "sample",
    "sample_rows",
    "some_marginals",
    "state_log_probs",
    "weighted_mean",
]
