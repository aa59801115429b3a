"""How good predictions of a column are, beside the values that it has."""

from typing import Any

import numpy as np

from tractable.base.arrays import Floats
from tractable.queries import weighted_mean


def judge_predictions(logs: Floats, codes: Floats, weights: Floats) -> dict[str, Any]:
    """Accuracy and log-loss of predicted log-probabilities, (rows, states), over the rows with a known state.

    Both are None where no row has one. The log-loss is the mean of -log P(state), in nats.
    """
    known = ~np.isnan(codes) & (weights > 0)
    if not known.any():
        return {"known_rows": 0, "accuracy": None, "log_loss": None}
    states, weight = codes[known].astype(np.int64), weights[known]
    right = logs[known].argmax(axis=1) == states
    return {
        "known_rows": int(known.sum()),
        "accuracy": float(np.average(right, weights=weight)),
        "log_loss": -weighted_mean(logs[known][np.arange(states.size), states], weight),
    }
