"""Which number of features, and which gamma: held-out rows choose, or cross-validation."""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.late import special
from tractable.base.progress import PLAIN, Watch
from tractable.learning.conditional.dspn_svd.densities import (
    Choice,
    ClassModel,
    Design,
    LabelledRows,
    learn_model,
)
from tractable.learning.conditional.dspn_svd.hsic import Projection, find_projection
from tractable.learning.statistics.held_out import shuffled_folds

FOLDS = 3  # of cross-validation
MOST_ROWS = 6000  # that take part in it
STAGE = "choices tried"


class Score(NamedTuple):
    """How well a model predicts the classes of rows: larger is better, and what comes first counts more."""

    right: float  # the weight of the rows whose class is predicted
    log_likelihood: float


def choices_of(sizes: Sequence[int], gammas: Sequence[float], classes: int, density: str) -> list[Choice]:
    """All that is tried. There are no more features than classes less one; only blocks have a gamma."""
    known = dict.fromkeys(min(int(size), max(classes - 1, 1)) for size in sizes)
    tried = gammas if density == "blocks" else gammas[:1]
    return [Choice(size, float(gamma)) for size, gamma in product(known, tried)]


def fit_best(
    rows: LabelledRows, held: LabelledRows | None, choices: Sequence[Choice], design: Design, watch: Watch
) -> ClassModel:
    """The model of the choice that predicts most classes of held-out rows, learned from all rows.

    Without held-out rows cross-validation chooses. If the work is told to stop, the best of the choices that
    were learned from all rows is taken.
    """
    features = _features_of(rows, design)
    if held is not None and len(held.x):
        return _best_on(rows, held, features, choices, design, watch)
    watch.report(STAGE, 0, len(choices))
    first = learn_model(rows, features, choices[0], design, watch)
    if len(choices) == 1 or len(rows.x) < 2 * FOLDS or watch.should_stop():
        return first
    choice = _cross_validate(rows, choices, design, watch.part("cross-validation"))
    if choice == choices[0] or watch.should_stop():
        return first
    best = learn_model(rows, features, choice, design, watch)
    return first if watch.should_stop() else best


def _features_of(rows: LabelledRows, design: Design) -> tuple[Projection, Floats]:
    """All features that depend on the class, and their values in the rows."""
    rng = np.random.default_rng(design.seed)
    projection = find_projection(rows.x, rows.codes, rows.weights, design.features, rng)
    return projection, projection(rows.x).astype(np.float64)


def _best_on(
    rows: LabelledRows,
    held: LabelledRows,
    features: tuple[Projection, Floats],
    choices: Sequence[Choice],
    design: Design,
    watch: Watch,
) -> ClassModel:
    z = features[0](held.x)
    best, best_score = learn_model(rows, features, choices[0], design, watch), Score(-1.0, 0.0)
    for number, choice in enumerate(choices):
        watch.report(STAGE, number, len(choices))
        if watch.should_stop():
            break
        model = best if not number else learn_model(rows, features, choice, design, watch)
        if watch.should_stop():
            break
        score = _score(model, z, held)
        if score > best_score:
            best, best_score = model, score
    return best


def _cross_validate(rows: LabelledRows, choices: Sequence[Choice], design: Design, watch: Watch) -> Choice:
    """The choice with the fewest errors, the first one if the work is told to stop."""
    total = np.zeros((len(choices), 2))
    rng = np.random.default_rng(design.seed)
    folds = shuffled_folds(len(rows.x), FOLDS, rng, most=MOST_ROWS, labels=rows.codes)
    for number, (train, test) in enumerate(folds):

        def work(
            part: Watch, train: Ints = train, test: Ints = test, done: int = number
        ) -> list[list[float]]:
            return _fold_scores(rows.take(train), rows.take(test), choices, design, part, done)

        scores = watch.remember(f"fold {number}", work, PLAIN)
        if len(scores) < len(choices):
            return choices[0]
        total += scores
    best = max(range(len(choices)), key=lambda i: total[i].tolist())
    return choices[best]


def _fold_scores(
    train: LabelledRows,
    test: LabelledRows,
    choices: Sequence[Choice],
    design: Design,
    watch: Watch,
    fold: int,
) -> list[list[float]]:
    """The scores of all choices; of fewer if the work is told to stop."""
    features = _features_of(train, design)
    z, found = features[0](test.x), []
    for number, choice in enumerate(choices):
        watch.report(STAGE, fold * len(choices) + number, FOLDS * len(choices))
        model = learn_model(train, features, choice, design, watch)
        if watch.should_stop():
            break
        found.append(list(_score(model, z, test)))
    return found


def _score(model: ClassModel, z: Floats, rows: LabelledRows) -> Score:
    logs = model.log_joint_at(z)
    right = rows.weights @ (logs.argmax(axis=1) == rows.codes)
    own = logs[np.arange(len(logs)), rows.codes] - special.logsumexp(logs, axis=1)
    return Score(float(right), float(rows.weights @ own))
