"""DSPN-SVD: a circuit of each class over features that depend on the class.

Adel, Balduzzi and Ghodsi, «Learning the Structure of Sum-Product Networks via an SVD-based Algorithm», UAI
2015.
"""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from tractable.base.arrays import AnyArray, Floats
from tractable.base.late import special
from tractable.base.progress import Watch
from tractable.circuit import mixture
from tractable.data import Variable
from tractable.estimators.base import RandomState, seed_of
from tractable.estimators.classes import with_class
from tractable.estimators.tables import CircuitSavingMixin
from tractable.learning.conditional.dspn_svd.densities import ClassModel, Density, Design, LabelledRows
from tractable.learning.conditional.dspn_svd.hsic import FeatureSettings, Kernel, Projection, find_projection
from tractable.learning.conditional.dspn_svd.learner import choices_of, fit_best
from tractable.model import Circuit

# ---- features with maximum dependence on a class, as a scikit-learn transformer -------------------------


class HSICFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Projections of numeric inputs with maximum dependence on a class.

    The dependence is the Hilbert-Schmidt independence criterion (HSIC) between the projections and the
    classes, as in Barshan et al. (2011) and in DSPN-SVD (Adel, Balduzzi and Ghodsi, 2015). There are at most
    as many projections as classes minus one.

    Parameters
    ----------
    n_features : int, default 9
        Maximum number of projections; those with the strongest dependence are kept.
    kernel : {"linear", "rbf"}, default "linear"
        Linear kernel, as in the paper, or a Gaussian kernel approximated by random Fourier features.
    whiten : bool, default False
        Whether to scale the projections to unit variance within classes, so that noisy directions count less.
        With a linear kernel the result is the projection of linear discriminant analysis.
    components : int, default 2000
        Number of random Fourier features of the Gaussian kernel.
    width : float, default 0.5
        Width of the Gaussian kernel, as a fraction of the median distance between two rows.
    shrinkage : float, default 0.01
        Fraction of the mean variance that is added to all within-class variances, if `whiten` is true.
    random_state : int, RandomState or None
        Seed of the random Fourier features.

    Attributes
    ----------
    directions_ : array of shape (numbers or components, projections)
        The projections of the numbers, or of their random Fourier features.
    classes_ : array
        The classes.
    """

    classes_: AnyArray
    directions_: Floats

    def __init__(
        self,
        n_features: int = 9,
        *,
        kernel: Kernel = "linear",
        whiten: bool = False,
        components: int = 2000,
        width: float = 0.5,
        shrinkage: float = 0.01,
        random_state: RandomState = None,
    ) -> None:
        self.n_features = n_features
        self.kernel = kernel
        self.whiten = whiten
        self.components = components
        self.width = width
        self.shrinkage = shrinkage
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the projections from numeric rows and their classes."""
        x, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        weights = _check_sample_weight(sample_weight, x, ensure_non_negative=True)
        seed = seed_of(self.random_state)
        projection = find_projection(x, codes, weights, self._settings(), np.random.default_rng(seed))
        return self._take(projection.first(self.n_features), self.classes_, x.shape[1])

    def transform(self, X: Any) -> Floats:
        """The projections of rows. Shape (rows, projections)."""
        check_is_fitted(self)
        x = validate_data(self, X, dtype=np.float64, reset=False)
        return Projection(self.map_, self.directions_)(x)

    @property
    def _n_features_out(self) -> int:
        return int(self.directions_.shape[1])

    def _settings(self) -> FeatureSettings:
        """The parameters except the number of projections and the seed."""
        return FeatureSettings(self.kernel, self.whiten, self.components, self.width, self.shrinkage)

    def _take(self, projection: Projection, classes: AnyArray, numbers: int) -> Self:
        """Set projections that were computed elsewhere, for rows with this number of columns."""
        self.map_, self.directions_ = projection.mapped, projection.directions
        self.classes_, self.n_features_in_ = classes, numbers
        return self

    def __sklearn_tags__(self) -> Any:
        """The estimator tags of scikit-learn: y is required."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class DSPNSVD(CircuitSavingMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of numeric arrays: HSIC features, and a circuit over them for each class.

    In the published algorithm, the features are linear and the circuits are those of `spn-svd`, weighted by
    the class frequencies. The number of features and the value of gamma with the fewest errors in
    cross-validation are selected. The learner `dspn-svd` of the command line learns such a model from a table
    with columns of any kind, as a conditional circuit over the columns.

    Parameters
    ----------
    n_features : int or sequence of int, default (9, 5, 3)
        Numbers of features to try; there are at most as many features as classes minus one.
    gamma : float or sequence of float, default (4.0, 20.0)
        Values of the setting `gamma` of `spn-svd` to try.
    density : {"blocks", "gaussian-mixture"}, default "blocks"
        Model of the features of a class: blocks of rank one, or a mixture of multivariate Gaussians.
    kernel, whiten, components, width, shrinkage
        The parameters of `HSICFeatures`.
    random_state : int, RandomState or None
        Seed of the features and of the folds of cross-validation.

    Attributes
    ----------
    features_ : HSICFeatures
        The features, as a transformer.
    circuit_ : Circuit
        The joint model of the features `z1`, `z2`, ... and the class.
    classes_ : array
        The classes, in the order of the columns of `predict_proba`.
    chosen_ : dict
        The selected number of features and value of gamma.
    """

    classes_: AnyArray
    features_: HSICFeatures
    circuit_: Circuit

    def __init__(  # noqa: PLR0913 - settings of two steps
        self,
        n_features: Any = (9, 5, 3),
        gamma: Any = (4.0, 20.0),
        *,
        density: Density = "blocks",
        kernel: Kernel = "linear",
        whiten: bool = False,
        components: int = 2000,
        width: float = 0.5,
        shrinkage: float = 0.01,
        random_state: RandomState = None,
    ) -> None:
        self.n_features = n_features
        self.gamma = gamma
        self.density = density
        self.kernel = kernel
        self.whiten = whiten
        self.components = components
        self.width = width
        self.shrinkage = shrinkage
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from numeric rows and their classes."""
        x, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        weights = _check_sample_weight(sample_weight, x, ensure_non_negative=True)
        x, labels, weights = x[weights > 0], labels[weights > 0], weights[weights > 0]
        self.classes_, codes = np.unique(labels, return_inverse=True)
        seed = seed_of(self.random_state)
        features = self._features()
        design = Design(features._settings(), self.density, background=0.0, seed=seed)
        sizes, gammas = np.atleast_1d(self.n_features).tolist(), np.atleast_1d(self.gamma).tolist()
        choices = choices_of(sizes, gammas, self.classes_.size, self.density)
        rows = LabelledRows(x, codes, weights, self.classes_.size)
        self._model = fit_best(rows, None, choices, design, Watch())
        self.chosen_ = self._model.choice._asdict()
        features.set_params(n_features=self.chosen_["n_features"])
        self.features_ = features._take(self._model.projection, self.classes_, x.shape[1])
        self.circuit_ = joint_circuit(self._model, self.classes_.tolist())
        return self

    def predict_log_proba(self, X: Any) -> Floats:
        """log P(class | features) of each class. Shape (rows, classes)."""
        check_is_fitted(self)
        x = validate_data(self, X, dtype=np.float64, reset=False)
        logs = self._model.log_joint(x)
        return np.asarray(logs - special.logsumexp(logs, axis=1, keepdims=True))

    def predict_proba(self, X: Any) -> Floats:
        """P(class | features) of each class. Shape (rows, classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> AnyArray:
        """The most probable class of each row. Shape (rows,)."""
        best: AnyArray = self.predict_log_proba(X).argmax(axis=1)
        return self.classes_[best]

    def _features(self) -> HSICFeatures:
        return HSICFeatures(
            kernel=self.kernel,
            whiten=self.whiten,
            components=self.components,
            width=self.width,
            shrinkage=self.shrinkage,
            random_state=self.random_state,
        )


def joint_circuit(model: ClassModel, classes: list[Any]) -> Circuit:
    """The joint model of features and class."""
    target = Variable("class", "categorical", tuple(classes))
    used = np.argwhere(model.weights > 0).tolist()
    parts = [with_class(model.graphs[circuit], target, state) for state, circuit in used]
    return Circuit(mixture(parts, model.weights[model.weights > 0]), {"learner": "dspn-svd"})
