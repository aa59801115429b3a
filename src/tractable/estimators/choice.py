"""Which learner a classifier, an imputer or an anomaly scorer uses: one by name, an estimator, or the best.

`"auto"` compares a few fast learners on held-out rows, three folds of at most `MOST_ROWS` rows, and learns
the best one anew from all rows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import clone

from tractable.arrays import Ints
from tractable.data import Table
from tractable.estimators.base import TableEstimator
from tractable.estimators.factory import estimator_class
from tractable.learners import LEARNERS
from tractable.model import Circuit

AUTO: dict[str, dict[str, Any]] = {"naive-bayes": {}, "chow-liu": {}, "gaussian-mixture": {}}
# A Gaussian that suits a density best is too sure of classes: many correlated columns need a high floor
# (decision 38). Skewed columns are mapped, and few components keep the choice fast.
CLASS_AUTO: dict[str, dict[str, Any]] = AUTO | {
    "gaussian-mixture": {
        "maps": "yeo-johnson", "floor": 0.1, "shrinkage": 20.0, "components": (1, 2, 3, 4),
    }
}  # fmt: skip
FOLDS = 3
MOST_ROWS = 5_000  # that a choice looks at: more say the same, only later

LearnerLike: TypeAlias = str | TableEstimator


class Candidate(NamedTuple):
    """A way to learn a circuit from a table, with what it is called."""

    name: str
    learn: Callable[[Table], Circuit]


class Choice(NamedTuple):
    """The candidate that did best, and the scores of all of them by name (higher is better)."""

    best: Candidate
    scores: dict[str, float]


def estimators_of(
    learner: LearnerLike, seed: int, auto: Mapping[str, Mapping[str, Any]] = AUTO
) -> list[TableEstimator]:
    """The estimators that a `learner` parameter stands for: one or, with `"auto"`, all of `auto` that exist.

    Raises:
        ValueError: if there is no such learner, or it is no estimator of this package.
    """
    if isinstance(learner, TableEstimator):
        made = clone(learner)
        return [made.set_params(random_state=seed) if made.random_state is None else made]
    if not isinstance(learner, str):
        raise ValueError(
            f"learner is 'auto', the name of a learner or an estimator such as tr.LearnSPN(), not {learner!r}"
        )
    chosen = auto if learner == "auto" else {learner: {}}
    names = [name for name in chosen if name in LEARNERS or learner != "auto"]
    return [_estimator_named(name).set_params(random_state=seed, **chosen[name]) for name in names]


def learner_name(estimator: TableEstimator) -> str:
    """The name of an estimator's learner, as the command line has it."""
    return estimator._learner.name


def learn_circuit(estimator: TableEstimator, table: Table) -> Circuit:
    """The circuit that an estimator learns from a table; the estimator itself stays as it is."""
    circuit: Circuit = clone(estimator).fit(table).circuit_
    return circuit


def choose(
    candidates: Sequence[Candidate],
    table: Table,
    score: Callable[[Circuit, Table], float],
    seed: int,
    labels: Ints | None = None,
) -> Choice:
    """The candidate with the best mean score on held-out rows; the only one is not tried.

    With `labels` every fold has its share of each. Of candidates that score alike the first is kept, and so
    it is where there are too few rows to hold some out.
    """
    if len(candidates) == 1 or len(table) < 2 * FOLDS:
        return Choice(candidates[0], {})
    scores = dict.fromkeys((one.name for one in candidates), 0.0)
    for train, test in _folds(table, seed, labels):
        for one in candidates:
            scores[one.name] += score(one.learn(train), test) / FOLDS
    best = max(candidates, key=lambda one: scores[one.name])
    return Choice(best, scores)


def _folds(table: Table, seed: int, labels: Ints | None) -> Iterator[tuple[Table, Table]]:
    """Training and held-out rows; shuffled, and dealt out label by label."""
    order = np.random.default_rng(seed).permutation(len(table))[:MOST_ROWS]
    if labels is not None:
        order = order[np.argsort(labels[order], kind="stable")]
    fold = np.arange(order.size) % FOLDS
    for number in range(FOLDS):
        train, test = (table.take(np.sort(order[chosen])) for chosen in (fold != number, fold == number))
        if train.total_weight and test.total_weight:
            yield train, test


def _estimator_named(name: str) -> Any:
    kind = LEARNERS.find(name)
    estimator = next(e for e, n in LEARNERS.estimators.items() if n == name)
    return estimator_class(estimator, kind)()
