"""Selection of the learner of a classifier, an imputer or an anomaly scorer.

`"fast"` compares a few fast learners by cross-validation with three folds of at most `MOST_ROWS` rows, and
refits the best one on all rows. Half of the time budget is for the comparison.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import clone

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import InnerWatch, Watch, seconds_in
from tractable.data import Table
from tractable.estimators.base import TableEstimator
from tractable.estimators.factory import estimator_class
from tractable.learning.joint import LEARNERS
from tractable.learning.statistics.held_out import shuffled_folds
from tractable.learning.statistics.stack_weights import estimate_mean
from tractable.model import Circuit
from tractable.queries import weighted_mean

FAST: dict[str, dict[str, Any]] = {"naive-bayes": {}, "chow-liu": {}, "gaussian-mixture": {}}
# A Gaussian that suits a density best is too sure of classes: many correlated columns need a high floor
# (decision 38). Skewed columns are mapped, and few components keep the choice fast.
CLASS_FAST: dict[str, dict[str, Any]] = FAST | {
    "gaussian-mixture": {
        "maps": "yeo-johnson", "floor": 0.1, "shrinkage": 20.0, "components": (1, 2, 3, 4),
    }
}  # fmt: skip
BY_NAME: dict[str, dict[str, Any]] = {"auto": {"budget": "1m"}}  # cross-validation fits an estimator often
BUDGET = "budget"  # the setting of learners that have a time budget of their own
FOLDS = 3
MOST_ROWS = 5_000  # that a choice looks at: more say the same, only later
CHOICE_SHARE = 0.5  # of a time budget goes to the comparison of candidates
FOLD_SECONDS = 2.0  # that a candidate needs in a fold; with less time there are fewer folds ...
LEAST_SHARE = 0.25  # ... and with less than this part of it for one fold, nothing is compared
SCORE_SHARE = 0.3  # of the time of one candidate in one fold goes to the scores of held-out rows ...
SCORE_SECONDS = 0.25  # ... but so much at least

LearnerLike: TypeAlias = str | TableEstimator


class Candidate(NamedTuple):
    """A named way to learn a circuit from a table."""

    name: str
    learn: Callable[[Table, Watch | None], Circuit]
    budget: str | None = None  # of its learner


class Score(NamedTuple):
    """A criterion for candidates: the mean over rows of a score of each row."""

    of_rows: Callable[[Circuit, Table], Floats]
    counted: Callable[[Table], Table] = lambda rows: rows  # those of the held-out rows that are scored

    def mean(self, circuit: Circuit, rows: Table, watch: Watch | None) -> float:
        """The mean score of held-out rows, or of as many of them as time allows."""
        judged = self.counted(rows)

        def whole() -> float:
            return weighted_mean(self.of_rows(circuit, judged), judged.row_weights)

        if watch is None or watch.left is None:
            return whole()
        short = InnerWatch(watch, seconds=max(watch.left, SCORE_SECONDS))
        estimate = estimate_mean(partial(self.of_rows, circuit), whole, judged, short).mean
        return -np.inf if estimate is None else estimate


class Choice(NamedTuple):
    """The best candidate, and the scores of all candidates by name (higher is better)."""

    best: Candidate
    scores: dict[str, float]


def estimators_of(
    learner: LearnerLike, seed: int, fast: Mapping[str, Mapping[str, Any]] = FAST
) -> list[TableEstimator]:
    """The estimators that a `learner` parameter stands for: one or, with `"fast"`, all of `fast`.

    Raises:
        ValueError: if there is no such learner, or it is not an estimator of this package.
    """
    if isinstance(learner, TableEstimator):
        estimator = clone(learner)
        return [estimator.set_params(random_state=seed) if estimator.random_state is None else estimator]
    if not isinstance(learner, str):
        raise ValueError(
            "learner must be 'fast', the name of a learner or an estimator such as tr.LearnSPN(), not"
            f" {learner!r}"
        )
    chosen = fast if learner == "fast" else {learner: BY_NAME.get(learner, {})}
    return [_estimator_named(name).set_params(random_state=seed, **how) for name, how in chosen.items()]


def learner_name(estimator: TableEstimator) -> str:
    """The name of an estimator's learner on the command line."""
    return estimator._learner.name


def joint_candidate(estimator: TableEstimator) -> Candidate:
    """An estimator that learns all columns together."""
    return Candidate(learner_name(estimator), partial(learn_circuit, estimator), budget_of(estimator))


def budget_of(estimator: TableEstimator) -> str | None:
    """The default time budget of the learner of an estimator."""
    budget: str | None = getattr(estimator, BUDGET, None)
    return budget


def learn_circuit(estimator: TableEstimator, table: Table, watch: Watch | None = None) -> Circuit:
    """The circuit that an estimator learns from a table; the estimator itself is not changed."""
    circuit: Circuit = clone(estimator).fit(table, watch=watch).circuit_
    return circuit


def whole_watch(budget: str | None, watch: Watch | None) -> Watch | None:
    """The watch of a whole fit, with the time budget of the call or of the learner.

    None if there is neither a watch nor a budget. Ctrl-C is handled by `watch`.
    """
    if budget is None or (watch is not None and watch.left is not None):
        return watch
    return InnerWatch(watch or Watch(), seconds=seconds_in(str(budget)))


def part_of(watch: Watch | None, share: float) -> Watch | None:
    """A watch with a fraction of the remaining time, or the given watch if time is unlimited."""
    if watch is None or watch.left is None:
        return watch
    return InnerWatch(watch, seconds=share * watch.left)


def choose(
    candidates: Sequence[Candidate],
    table: Table,
    score: Score,
    seed: int,
    labels: Ints | None = None,
    watch: Watch | None = None,
) -> Choice:
    """The candidate with the best mean score on held-out rows; a single candidate is not scored.

    With `labels` the folds are stratified. Among equal scores, or if there are too few rows to hold some out,
    the first candidate is selected. When the time is over, the folds that have been compared decide.
    """
    if len(candidates) == 1 or len(table) < 2 * FOLDS:
        return Choice(candidates[0], {})
    timed = part_of(watch, CHOICE_SHARE)
    folds = _folds_in_time(timed, len(candidates))
    fold_scores: list[list[float]] = []  # by fold, of each candidate
    for number, (train, test) in enumerate(islice(_folds(table, seed, labels), folds)):
        scores: list[float] = []
        for place, one in enumerate(candidates):
            if timed is not None and timed.should_stop():
                break
            part = part_of(timed, 1 / ((folds - number) * len(candidates) - place))
            circuit = one.learn(train, part_of(part, 1 - SCORE_SHARE))
            scores.append(score.mean(circuit, test, part))
        if len(scores) == len(candidates):
            fold_scores.append(scores)
    if not fold_scores:
        return Choice(candidates[0], {})
    sums = [sum(x / len(fold_scores) for x in own) for own in zip(*fold_scores, strict=True)]
    best = candidates[sums.index(max(sums))]
    return Choice(best, {one.name: total for one, total in zip(candidates, sums, strict=True)})


def _folds_in_time(watch: Watch | None, candidates: int) -> int:
    """The number of folds in which all candidates can be compared in time."""
    if watch is None or watch.left is None:
        return FOLDS
    affordable = watch.left / (FOLD_SECONDS * candidates)
    return min(FOLDS, max(int(affordable), int(affordable >= LEAST_SHARE)))


def _folds(table: Table, seed: int, labels: Ints | None) -> Iterator[tuple[Table, Table]]:
    """The training and held-out rows of each fold."""
    rng = np.random.default_rng(seed)
    for rows in shuffled_folds(len(table), FOLDS, rng, most=MOST_ROWS, labels=labels):
        train, test = (table.take(np.sort(some)) for some in rows)
        if train.total_weight and test.total_weight:
            yield train, test


def _estimator_named(name: str) -> Any:
    kind = LEARNERS.find(name)
    estimator = next(e for e, n in LEARNERS.estimators.items() if n == name)
    return estimator_class(estimator, kind)()
