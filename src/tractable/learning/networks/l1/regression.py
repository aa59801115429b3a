"""An L1-regularised logistic regression by coordinate descent."""

from collections.abc import Callable

from tractable.base.arrays import Bools, Floats, Int32s
from tractable.learning.networks.indicators import Occurrences
from tractable.learning.networks.l1.kernels import regress_once, row_scores

ROUNDS = 30  # of the quadratic approximation, at most


def regress(
    states: Occurrences,
    usable: Bools,
    target: Int32s,
    penalty: float,
    tolerance: float,
    coefficient: Floats,
    between: Callable[[], None] | None = None,
) -> None:
    """Fit `coefficient` (classes, 1 + states), with the constant first, starting from its current values.

    `target` is the class of each row, -1 if it is missing. It ends when no coefficient changes the objective
    by more than `tolerance` nats. `between` is called between rounds, and may raise an exception to stop.
    """
    score = row_scores(states, coefficient, target.size)
    for _ in range(ROUNDS):
        if between is not None:
            between()
        if regress_once(states, usable, target, penalty, tolerance, coefficient, score) <= tolerance:
            break
