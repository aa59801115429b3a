"""Adel, Balduzzi and Ghodsi, «Learning the Structure of Sum-Product Networks via an SVD-based Algorithm»,
UAI 2015: DSPN-SVD.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar, NamedTuple, final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.base.arrays import Floats, Ints
from tractable.base.late import special
from tractable.base.progress import Key, Watch
from tractable.base.settings import Between, OneOf, setting
from tractable.data import Table, collapse
from tractable.engine.feature_circuits import FeatureCircuits
from tractable.learning.conditional.dspn_svd.densities import (
    Choice,
    ClassModel,
    Density,
    Design,
    LabelledRows,
    freeze_classes,
    input_layers,
    learn_model,
)
from tractable.learning.conditional.dspn_svd.hsic import FeatureSettings, Kernel, Projection, find_projection
from tractable.learning.conditional.inputs import InputScale, plain_inputs
from tractable.learning.conditional.learner import ConditionalLearner, require_categorical_targets
from tractable.learning.learner import Learned
from tractable.learning.statistics.held_out import shuffled_folds

FOLD_SCORES = Key(__name__, "scores of fold", list[list[float]])


@final
@dataclass(frozen=True, kw_only=True)
class DSPNSVDLearner(ConditionalLearner):
    """A circuit for each class over features of the inputs that depend on the class.

    The features are the projections with the strongest dependence (HSIC) on the class. The circuits are
    densities of the features, weighted by the class frequencies. Categorical inputs are one-hot encoded. Rows
    without a class are ignored. The estimator takes a numeric array and has no `standardise` and
    `background`: by default it is the published algorithm.
    """

    name: ClassVar[str] = "dspn-svd"
    title: ClassVar[str] = "circuits of classes over features (DSPN-SVD)"
    single_target: ClassVar[bool] = True
    extra_texts: ClassVar[Mapping[str, str]] = {"chosen": "The number of features and the gamma in use."}
    recorded: ClassVar[tuple[str, ...]] = ("chosen",)

    n_features: tuple[int, ...] = setting(
        (9, 5, 3),
        "Numbers of features to try. There are at most as many features as classes minus one. The number"
        " with the fewest errors on the validation rows, or in cross-validation without them, is selected.",
        at_least=1,
    )
    gamma: tuple[float, ...] = setting(
        (4.0, 20.0),
        "Values of the setting gamma of spn-svd to try. The value with the fewest errors is selected, as for"
        " n_features.",
        at_least=1,
    )
    density: Density = setting(
        "blocks",
        "Model of the features of a class: the blocks of rank one of spn-svd, or a mixture of multivariate"
        " Gaussians.",
        search=OneOf("blocks", "gaussian-mixture"),
    )
    kernel: Kernel = setting(
        "linear",
        "Kernel of the feature extraction. Features are projections of the inputs themselves (linear) or of"
        " random Fourier features that approximate a Gaussian kernel (rbf).",
        search=OneOf("linear", "rbf"),
    )
    whiten: bool = setting(
        False,
        "Whether to scale features to unit variance within classes, so that noisy directions count less."
        " With a linear kernel the result is the projection of linear discriminant analysis.",
        search=OneOf(False, True),
    )
    components: int = setting(
        2000, "Number of random Fourier features that approximate the Gaussian kernel.", at_least=1
    )
    width: float = setting(
        0.5,
        "Width of the Gaussian kernel, as a fraction of the median distance between two rows.",
        at_least=1e-3,
        search=Between(0.2, 2, log=True),
    )
    shrinkage: float = setting(
        0.01,
        "Fraction of the mean variance that is added to all within-class variances when features are"
        " whitened.",
        at_least=0,
        search=Between(1e-4, 0.3, log=True),
    )
    standardise: bool = setting(
        True,
        "Whether to divide numeric columns by their standard deviations, so that the result does not depend"
        " on their units. Columns that share a unit, such as pixels, may give better results without it.",
        search=OneOf(True, False),
    )
    background: float = setting(
        0.01,
        "Fraction of the density of all rows that is mixed into the density of each class, so that no class"
        " has probability zero far away from the training rows. The published algorithm corresponds to 0.",
        at_least=0,
        at_most=0.5,
        search=Between(1e-3, 0.2, log=True),
    )

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        require_categorical_targets(table.schema, self.name)
        features = FeatureSettings(self.kernel, self.whiten, self.components, self.width, self.shrinkage)
        design = Design(features, self.density, self.background, seed=int(rng.integers(2**31)))
        known = _with_class(table)
        scale = plain_inputs(known, divide=self.standardise)
        rows = _labelled(known, scale)
        held = None if valid is None else _labelled(_with_class(valid), scale)
        choices = choices_of(self.n_features, self.gamma, rows.classes, self.density)
        with threadpool_limits(1, user_api="blas"):  # so that sums do not depend on the number of threads
            model = fit_best(rows, held, choices, design, watch)
        perceptron = scale.unscale(input_layers(model.projection))
        graph = freeze_classes(FeatureCircuits(perceptron, model.graphs, model.weights), table.schema)
        return Learned(graph, {"chosen": model.choice._asdict()})


def _with_class(table: Table) -> Table:
    """The distinct rows that have a class and weigh anything, weighted."""
    distinct, _ = collapse(table)
    target = int(table.schema.targets[0])
    return distinct.take(~np.isnan(distinct.values[:, target]) & (distinct.row_weights > 0))


def _labelled(table: Table, scale: InputScale) -> LabelledRows:
    target = int(table.schema.targets[0])
    codes = table.values[:, target].astype(np.int64)
    return LabelledRows(scale.show(table), codes, table.row_weights, table.schema[target].cardinality)


FOLDS = 3  # of cross-validation
MOST_ROWS = 6000  # that take part in it
STAGE = "choices tried"


class Score(NamedTuple):
    """The score of class predictions, compared lexicographically; larger is better."""

    right: float  # the weight of the rows whose class is predicted
    log_likelihood: float


def choices_of(sizes: Sequence[int], gammas: Sequence[float], classes: int, density: str) -> list[Choice]:
    """All choices to try: at most as many features as classes minus one, and gamma for blocks only."""
    known = dict.fromkeys(min(int(size), max(classes - 1, 1)) for size in sizes)
    tried = gammas if density == "blocks" else gammas[:1]
    return [Choice(size, float(gamma)) for size, gamma in product(known, tried)]


def fit_best(
    rows: LabelledRows, held: LabelledRows | None, choices: Sequence[Choice], design: Design, watch: Watch
) -> ClassModel:
    """The model of the choice with the most correct classes on held-out rows, learned from all rows.

    Without held-out rows, cross-validation is used. If learning is stopped, the best finished choice is used.
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

        scores = watch.remember(FOLD_SCORES.at(number), work)
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
    z, scores = features[0](test.x), []
    for number, choice in enumerate(choices):
        watch.report(STAGE, fold * len(choices) + number, FOLDS * len(choices))
        model = learn_model(train, features, choice, design, watch)
        if watch.should_stop():
            break
        scores.append(list(_score(model, z, test)))
    return scores


def _score(model: ClassModel, z: Floats, rows: LabelledRows) -> Score:
    logs = model.log_joint_at(z)
    right = rows.weights @ (logs.argmax(axis=1) == rows.codes)
    own = logs[np.arange(len(logs)), rows.codes] - special.logsumexp(logs, axis=1)
    return Score(float(right), float(rows.weights @ own))
