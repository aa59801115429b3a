"""Features with maximum dependence on a class, as a scikit-learn transformer."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from tractable.base.arrays import AnyArray, Floats
from tractable.estimators.base import RandomState, seed_of
from tractable.learning.conditional.dspn_svd.hsic import FeatureSettings, Kernel, Projection, find_projection


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
