"""The Gaussian mixture of scikit-learn, with distributions of states beside each Gaussian."""

from typing import Any

import numpy as np
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity

from tractable.base.arrays import Floats
from tractable.data import Table

SIZES = range(1, 7)
COVARIANCES = ("full", "tied", "diag", "spherical")
MANY_ROWS = 5000  # from which on EM has one starting point instead of three
SPREAD = 1.5  # of the background, in sd


class MixedGaussianMixture(GaussianMixture):  # type: ignore[misc]
    """EM as in scikit-learn; columns after the first `numeric` are indicators of states, in `parts`."""

    def set_columns(self, numeric: int, parts: list[slice]) -> "MixedGaussianMixture":
        """The mixture itself, which knows its columns from now on."""
        self.numeric, self.parts = numeric, parts
        return self

    def _fit_states(self, X: Floats, share: Floats) -> None:
        self.log_states_ = np.zeros((share.shape[1], X.shape[1] - self.numeric))
        for part in self.parts:
            count = share.T @ X[:, part] + 1 / (part.stop - part.start)
            own = slice(part.start - self.numeric, part.stop - self.numeric)
            self.log_states_[:, own] = np.log(count / count.sum(axis=1, keepdims=True))

    def _initialize(self, X: Floats, resp: Floats, **rest: Any) -> None:
        super()._initialize(X[:, : self.numeric], resp, **rest)
        self._fit_states(X, resp)

    def _m_step(self, X: Floats, log_resp: Floats, **rest: Any) -> None:
        super()._m_step(X[:, : self.numeric], log_resp, **rest)
        self._fit_states(X, np.exp(log_resp))

    def _estimate_log_prob(self, X: Floats, **rest: Any) -> Floats:
        gaussian = super()._estimate_log_prob(X[:, : self.numeric], **rest)
        return np.asarray(gaussian + X[:, self.numeric :] @ self.log_states_.T)

    def _n_parameters(self) -> int:
        size, columns = self.n_components, self.numeric
        full = columns * (columns + 1) // 2
        spread = {"full": size * full, "tied": full, "diag": size * columns, "spherical": size}
        states = size * sum(part.stop - part.start - 1 for part in self.parts)
        return spread[self.covariance_type] + size * columns + size - 1 + states


def baseline(train: Table, test: Table, numeric: int) -> Floats:
    """Log-densities of the test rows: components and covariance type by BIC on the training rows."""
    rows, parts = _indicators(train, numeric)
    best, best_bic = None, np.inf
    for covariance in COVARIANCES:
        for size in SIZES:
            starts = 1 if len(rows) > MANY_ROWS else 3
            mixture = MixedGaussianMixture(size, covariance_type=covariance, n_init=starts, random_state=0)
            mixture.set_columns(numeric, parts).fit(rows)
            if mixture.bic(rows) < best_bic:
                best, best_bic = mixture, mixture.bic(rows)
    assert best is not None
    return np.asarray(best.score_samples(_indicators(test, numeric)[0]))


def kernel_density(train: Table, test: Table) -> Floats:
    """Log-densities of test rows of numbers by a Gaussian kernel, its bandwidth by cross-validation."""
    search = GridSearchCV(KernelDensity(), {"bandwidth": np.geomspace(0.05, 2.0, 30)}, cv=5)
    search.fit(train.values)
    return np.asarray(search.best_estimator_.score_samples(test.values))


def background(train: Table, test: Table, numeric: int) -> Floats:
    """Log-densities of the test rows if columns are independent and numbers have 1.5 times their spread."""
    x = test.values[:, :numeric] / SPREAD  # the training rows have mean zero and sd one
    logs = -0.5 * (x**2).sum(axis=1) - numeric * (np.log(SPREAD) + 0.5 * np.log(2 * np.pi))
    rows, parts = _indicators(train, numeric)
    others = _indicators(test, numeric)[0]
    for part in parts:
        count = rows[:, part].sum(axis=0) + 1 / (part.stop - part.start)
        logs = logs + others[:, part] @ np.log(count / count.sum())
    return np.asarray(logs)


def _indicators(table: Table, numeric: int) -> tuple[Floats, list[slice]]:
    """Numbers and then indicators of states, and where those of each column stand."""
    blocks, parts, start = [table.values[:, :numeric]], [], numeric
    for column in range(numeric, len(table.schema)):
        states = table.schema[column].cardinality
        blocks.append(np.eye(states)[table.values[:, column].astype(int)])
        parts.append(slice(start, start + states))
        start += states
    return np.concatenate(blocks, axis=1), parts
