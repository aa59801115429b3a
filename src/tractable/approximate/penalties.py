"""Which of several penalties to keep: the one whose network does best on validation rows."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from tractable.data import Table
from tractable.progress import Watch

T = TypeVar("T")


def penalty_path(penalties: Sequence[float], valid: Table | None) -> list[float]:
    """The penalties to try, the largest first; without validation rows the first of them alone.

    A large penalty leaves few weights, from which the fit with the next smaller one starts.
    """
    return sorted(set(penalties if valid is not None else penalties[:1]), reverse=True)


def choose_penalty(
    path: Sequence[float],
    fit: Callable[[float], T],
    score: Callable[[T], float] | None,
    watch: Watch,
    stage: str,
) -> T:
    """What `fit` makes of the penalty with the highest score; of the first one where there is no score."""
    best, best_score = None, -np.inf
    for done, penalty in enumerate(path, start=1):
        model = fit(penalty)
        model_score = 0.0 if score is None else score(model)
        if best is None or model_score > best_score:
            best, best_score = model, model_score
        watch.report(stage, done, len(path), None if score is None else best_score)
        if watch.should_stop():
            break
    assert best is not None, "there is at least one penalty"
    return best
