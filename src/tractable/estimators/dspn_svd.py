"""DSPN-SVD: a circuit of each class over features that depend on the class.

Adel, Balduzzi and Ghodsi, «Learning the Structure of Sum-Product Networks via an SVD-based Algorithm», UAI
2015.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from tractable.arrays import AnyArray, Floats, Ints
from tractable.circuit import Graph, mixture
from tractable.data import Schema, Table, Variable
from tractable.engine import log_values
from tractable.estimators.base import RandomState
from tractable.estimators.choice import estimators_of, learn_circuit
from tractable.estimators.classes import UNSEEN, with_class
from tractable.estimators.hsic import HSICFeatures, Kernel
from tractable.late import special
from tractable.model import Circuit

FOLDS = 3  # of cross-validation
MOST_ROWS = 6000  # that take part in it

Density = Literal["blocks", "gaussian-mixture"]


class DSPNSVD(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of numbers: HSIC features, a circuit of them for each class, and a sum over the classes.

    As printed, the features are linear and the circuits are those of `spn-svd`. The weights of the sum are
    the shares of the classes. Of several numbers of features or values of gamma, cross-validation chooses
    those with the fewest errors.

    Parameters
    ----------
    n_features : int or sequence of int, default (9, 5, 3)
        Numbers of features to choose from; there are at most as many features as classes less one.
    gamma : float or sequence of float, default (4.0, 20.0)
        Values of the setting `gamma` of `spn-svd` to choose from.
    density : {"blocks", "gaussian-mixture"}, default "blocks"
        Circuit of a class: blocks of rank one, or a mixture of multivariate Gaussians.
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
        The number of features and the value of gamma that were used.
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
        """Learn from rows of numbers and their classes."""
        x, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        weights = _check_sample_weight(sample_weight, x, ensure_non_negative=True)
        x, labels, weights = x[weights > 0], labels[weights > 0], weights[weights > 0]
        self.classes_, codes = np.unique(labels, return_inverse=True)
        seed = int(check_random_state(self.random_state).randint(2**31))
        self.chosen_ = self._choose(x, codes, weights, seed)
        self.features_ = self._features(seed).set_params(n_features=self.chosen_["n_features"])
        z = self.features_.fit(x, codes, weights).transform(x)
        self._by_class = self._learn(z, codes, weights, self.chosen_["gamma"], seed)
        self.circuit_ = self._by_class.joined(self.classes_.tolist())
        return self

    def predict_log_proba(self, X: Any) -> Floats:
        """log P(class | features) of each class. Shape (rows, classes)."""
        check_is_fitted(self)
        x = validate_data(self, X, dtype=np.float64, reset=False)
        return self._by_class.log_probs(self.features_.transform(x))

    def predict_proba(self, X: Any) -> Floats:
        """P(class | features) of each class. Shape (rows, classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> AnyArray:
        """The most probable class of each row. Shape (rows,)."""
        best: AnyArray = self.predict_log_proba(X).argmax(axis=1)
        return self.classes_[best]

    def _features(self, seed: int) -> HSICFeatures:
        return HSICFeatures(
            kernel=self.kernel,
            whiten=self.whiten,
            components=self.components,
            width=self.width,
            shrinkage=self.shrinkage,
            random_state=seed,
        )

    def _choose(self, x: Floats, codes: Ints, weights: Floats, seed: int) -> dict[str, Any]:
        """The number of features and the gamma with the fewest errors in cross-validation."""
        most = max(self.classes_.size - 1, 1)
        sizes = list(dict.fromkeys(min(int(d), most) for d in np.atleast_1d(self.n_features)))
        options = list(product(sizes, np.atleast_1d(self.gamma).tolist()))
        if self.density != "blocks":
            options = [(d, options[0][1]) for d in sizes]
        rows = np.random.default_rng(seed).permutation(len(x))[:MOST_ROWS]
        if len(options) == 1 or np.bincount(codes[rows], minlength=most + 1).min() < FOLDS:
            return dict(zip(("n_features", "gamma"), options[0], strict=True))
        right = dict.fromkeys(options, 0.0)
        for train, test in StratifiedKFold(FOLDS).split(x[rows], codes[rows]):
            for option, share in self._try(x, codes, weights, (rows[train], rows[test]), options, seed):
                right[option] += share
        best = max(options, key=lambda option: right[option])
        return dict(zip(("n_features", "gamma"), best, strict=True))

    def _try(
        self,
        x: Floats,
        codes: Ints,
        weights: Floats,
        fold: tuple[Ints, Ints],
        options: list[tuple[int, float]],
        seed: int,
    ) -> Iterator[tuple[tuple[int, float], float]]:
        """The weight of the rows of a fold whose class each option predicts."""
        train, test = fold
        features = clone(self._features(seed)).set_params(n_features=max(d for d, _ in options))
        z = features.fit(x[train], codes[train], weights[train]).transform(x[train])
        held_out = features.transform(x[test])
        for d, gamma in options:
            circuits = self._learn(z[:, :d], codes[train], weights[train], gamma, seed)
            guess = circuits.log_probs(held_out[:, :d]).argmax(axis=1)
            yield (d, gamma), float(weights[test] @ (guess == codes[test]))

    def _learn(self, z: Floats, codes: Ints, weights: Floats, gamma: float, seed: int) -> "ClassCircuits":
        """A circuit of the features of each class."""
        if self.density not in get_args(Density):
            raise ValueError(f"density is 'blocks' or 'gaussian-mixture', not {self.density!r}")
        (estimator,) = estimators_of("spn-svd" if self.density == "blocks" else self.density, seed)
        if self.density == "blocks":
            estimator.set_params(gamma=(gamma,), leaf="instances")
        table = Table(Schema(tuple(Variable(f"z{i + 1}", "real") for i in range(z.shape[1]))), z, weights)
        members = [codes == code for code in range(self.classes_.size)]
        shares = np.array([weights[rows].sum() for rows in members])
        graphs = [learn_circuit(estimator, table.take(rows)).graph for rows in members]
        return ClassCircuits(graphs, np.where(shares > 0, shares, UNSEEN))  # a fold may lack a class


class ClassCircuits(NamedTuple):
    """A circuit of the features of each class, and the weights of the classes."""

    graphs: list[Graph]
    shares: Floats

    def log_probs(self, z: Floats) -> Floats:
        """log P(class | features). Shape (rows, classes)."""
        logs = np.stack([log_values(graph, z) for graph in self.graphs], axis=1) + np.log(self.shares)
        return np.asarray(logs - special.logsumexp(logs, axis=1, keepdims=True))

    def joined(self, classes: list[Any]) -> Circuit:
        """The joint model of features and class."""
        target = Variable("class", "categorical", tuple(classes))
        parts = [with_class(graph, target, state) for state, graph in enumerate(self.graphs)]
        return Circuit(mixture(parts, self.shares), {"learner": "dspn-svd"})
