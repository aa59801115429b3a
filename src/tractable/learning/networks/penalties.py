"""Which of several penalties to keep: the one whose network does best on validation rows."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from tractable.base.progress import Key, Watch
from tractable.data import Table

T = TypeVar("T")
FITTED = Key[Any](__name__, "fitted with penalty", Any)


def penalty_path(penalties: Sequence[float], valid: Table | None) -> list[float]:
    """The penalties to try, the largest first; without validation rows the first of them alone.

    A large penalty leaves few weights, from which the fit with the next smaller one starts.
    """
    return sorted(set(penalties if valid is not None else penalties[:1]), reverse=True)


def choose_penalty(
    path: Sequence[float],
    start: T,
    fit: Callable[[float, T, Watch], T],
    score: Callable[[T], float] | None,
    watch: Watch,
) -> T:
    """What `fit` makes of the penalty with the highest score; of the first one where there is no score.

    Each fit starts from the one before, the first from `start`. One that was broken off counts only if there
    is no other. All of them are made of lists and arrays.
    """
    best, best_score, model = None, -np.inf, start
    for done, penalty in enumerate(path, start=1):
        model = watch.remember(FITTED.at(penalty), partial(fit, penalty, model))
        if best is not None and watch.should_stop():
            break
        model_score = 0.0 if score is None else score(model)
        if best is None or model_score > best_score:
            best, best_score = model, model_score
        watch.report("penalties", done, len(path), None if score is None else best_score)
        if watch.should_stop():
            break
    assert best is not None, "there is at least one penalty"
    return best
