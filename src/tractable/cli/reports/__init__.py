"""What users are shown of models: summaries, scores, features, faults; settings of learners; all as JSON."""

from tractable.cli.reports.faults import explain_fault, missing_properties
from tractable.cli.reports.json_text import to_json
from tractable.cli.reports.metrics import (
    column_summary,
    density_facts,
    label_metrics,
    mean_log_likelihood,
    most_probable_alone,
    prediction_metrics,
    score_summary,
)
from tractable.cli.reports.model import feature_list, leaf_counts, model_summary
from tractable.cli.reports.training import fitting_summary, learning_summary, network_summary
from tractable.learning.statistics.stack_weights import Estimate, estimate_mean

__all__ = [
    "Estimate",
    "column_summary",
    "density_facts",
    "estimate_mean",
    "explain_fault",
    "feature_list",
    "fitting_summary",
    "label_metrics",
    "leaf_counts",
    "learning_summary",
    "mean_log_likelihood",
    "missing_properties",
    "model_summary",
    "most_probable_alone",
    "network_summary",
    "prediction_metrics",
    "score_summary",
    "to_json",
]
