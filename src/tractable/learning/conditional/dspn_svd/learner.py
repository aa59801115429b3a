"""Adel, Balduzzi and Ghodsi, «Learning the Structure of Sum-Product Networks via an SVD-based Algorithm»,
UAI 2015: DSPN-SVD.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.base.progress import Watch
from tractable.base.settings import Between, OneOf, setting
from tractable.data import Table, collapse
from tractable.engine.feature_circuits import FeatureCircuits
from tractable.learning.conditional.dspn_svd.densities import Density, Design, LabelledRows
from tractable.learning.conditional.dspn_svd.freeze import freeze_classes, input_layers
from tractable.learning.conditional.dspn_svd.hsic import FeatureSettings, Kernel
from tractable.learning.conditional.dspn_svd.selection import choices_of, fit_best
from tractable.learning.conditional.inputs import InputScale, plain_inputs
from tractable.learning.conditional.learner import ConditionalLearner
from tractable.learning.conditional.targets import require_categorical_targets
from tractable.learning.learner import Learned


@final
@dataclass(frozen=True, kw_only=True)
class DSPNSVDLearner(ConditionalLearner):
    """Features of the inputs that depend on one target, and a circuit over these features for each class.

    The features are projections of largest dependence (HSIC) on the class. The circuits are densities of the
    features, weighted by the shares of the classes. Categorical inputs take part as indicators of their
    states. Rows without a class are left out. The estimator takes an array of numbers and has no
    `standardise` and `background`: it is the published algorithm, unless told otherwise.
    """

    name: ClassVar[str] = "dspn-svd"
    title: ClassVar[str] = "circuits of classes over features (DSPN-SVD)"
    single_target: ClassVar[bool] = True
    extra_texts: ClassVar[Mapping[str, str]] = {"chosen": "The number of features and the gamma in use."}
    recorded: ClassVar[tuple[str, ...]] = ("chosen",)

    n_features: tuple[int, ...] = setting(
        (9, 5, 3),
        "Numbers of features to choose from; there are at most as many as classes less one. Those with the"
        " fewest errors on the validation rows, or in cross-validation, are taken.",
        at_least=1,
    )
    gamma: tuple[float, ...] = setting(
        (4.0, 20.0),
        "Values of the setting gamma of spn-svd to choose from in the same way.",
        at_least=1,
    )
    density: Density = setting(
        "blocks",
        "Circuit of a class: blocks of rank one, as spn-svd finds them, or a mixture of multivariate"
        " Gaussians.",
        search=OneOf("blocks", "gaussian-mixture"),
    )
    kernel: Kernel = setting(
        "linear",
        "Features are projections of the numbers themselves (linear), or of random Fourier features, which"
        " stand for a Gaussian kernel (rbf).",
        search=OneOf("linear", "rbf"),
    )
    whiten: bool = setting(
        False,
        "Whether features have variance one within classes, so that directions of much noise count less. With"
        " a linear kernel these are the projections of linear discriminant analysis.",
        search=OneOf(False, True),
    )
    components: int = setting(2000, "Number of random Fourier features of the Gaussian kernel.", at_least=1)
    width: float = setting(
        0.5,
        "Width of the Gaussian kernel, as a share of the median distance of two rows.",
        at_least=1e-3,
        search=Between(0.2, 2, log=True),
    )
    shrinkage: float = setting(
        0.01,
        "Share of the mean variance that is added to all variances within classes, if features are whitened.",
        at_least=0,
        search=Between(1e-4, 0.3, log=True),
    )
    standardise: bool = setting(
        True,
        "Whether numeric columns are divided by their standard deviations, so that units do not matter."
        " Columns of one unit, such as pixels, may do better without.",
        search=OneOf(True, False),
    )
    background: float = setting(
        0.01,
        "Share of the density of all rows that is mixed into that of each class, so that no class is"
        " impossible far away from the training rows. The published algorithm has none.",
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
