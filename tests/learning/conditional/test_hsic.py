"""HSIC features, and the classifier DSPN-SVD that is made of them."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

import tractable as tr
from tractable.base.arrays import Floats, Ints
from tractable.learning.conditional.dspn_svd.hsic import class_sums, fourier_map, hsic_directions, identity

NOT_CHECKED = {
    "check_array_api_input",  # needs an environment variable that is read when scipy is imported
    "check_sample_weight_equivalence_on_dense_data",  # folds see other rows where rows are repeated
}
every_check = [
    pytest.param(instance, check, id=f"{type(instance).__name__} {getattr(check, 'func', check).__name__}")
    for made in (tr.HSICFeatures(), tr.DSPNSVD(2, 4.0))
    for instance, check in estimator_checks_generator(made, legacy=True)
    if getattr(check, "func", check).__name__ not in NOT_CHECKED
]


@pytest.mark.parametrize(("instance", "check"), every_check)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_finds_no_fault(instance: Any, check: Any) -> None:
    check(instance)


def slow_matrix(x: Floats, codes: Ints) -> Floats:
    """X'HLHX with all its matrices of rows by rows."""
    rows = len(x)
    centring = np.eye(rows) - np.ones((rows, rows)) / rows
    kernel = (codes[:, None] == codes).astype(np.float64)
    return np.asarray(x.T @ centring @ kernel @ centring @ x)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 30), st.integers(1, 6), st.integers(1, 4))
def test_the_directions_are_the_eigenvectors_of_the_definition(
    seed: int, rows: int, columns: int, classes: int
) -> None:
    rng = np.random.default_rng(seed)
    x, codes = rng.normal(size=(rows, columns)), rng.integers(0, classes, rows)
    matrix = slow_matrix(x, codes)
    found = hsic_directions(class_sums(x, codes, np.ones(rows), identity, False))
    assert found.shape[1] <= classes - 1
    np.testing.assert_allclose(found.T @ found, np.eye(found.shape[1]), atol=1e-9)
    sizes = np.einsum("if,ij,jf->f", found, matrix, found)
    np.testing.assert_allclose(matrix @ found, found * sizes, atol=1e-7 * max(1.0, np.abs(matrix).max()))
    assert sizes.sum() == pytest.approx(np.trace(matrix), rel=1e-6, abs=1e-7)
    assert (np.diff(sizes) <= 1e-7 * max(1.0, np.abs(matrix).max())).all()


def test_weights_stand_for_repeated_rows_and_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, codes, times = rng.normal(size=(50, 4)), rng.integers(0, 3, 50), rng.integers(1, 4, 50)
    one = class_sums(
        np.repeat(x, times, axis=0), np.repeat(codes, times), np.ones(times.sum()), identity, True
    )
    monkeypatch.setattr("tractable.learning.conditional.dspn_svd.hsic.CHUNK", 7)
    other = class_sums(x, codes, times.astype(np.float64), identity, True)
    assert one.within is not None
    assert other.within is not None
    np.testing.assert_allclose(one.means, other.means)
    np.testing.assert_allclose(one.within, other.within)


def test_random_fourier_features_are_a_gaussian_kernel() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(30, 3))
    mapped = fourier_map(x, 20_000, 0.7, rng)
    distance = ((x[:, None] - x) ** 2).sum(axis=2)
    found = mapped(x) @ mapped(x).T
    variance = 1.0 / mapped.frequencies.var()
    np.testing.assert_allclose(found, np.exp(-0.5 * distance / variance), atol=0.05)
    assert np.sqrt(variance) == pytest.approx(0.7 * np.sqrt(np.median(distance[distance > 0])), rel=0.05)


def test_whitened_linear_features_are_those_of_discriminant_analysis() -> None:
    x, y = load_iris(return_X_y=True)
    z = tr.HSICFeatures(2, whiten=True, shrinkage=0.0).fit(x, y).transform(x)
    reference = LinearDiscriminantAnalysis(solver="eigen", n_components=2).fit(x, y).transform(x)
    both = np.linalg.lstsq(z - z.mean(axis=0), reference - reference.mean(axis=0), rcond=None)[0]
    np.testing.assert_allclose((z - z.mean(axis=0)) @ both, reference - reference.mean(axis=0), atol=1e-6)
    within = sum(np.cov(z[y == c].T, bias=True) for c in range(3)) / 3
    np.testing.assert_allclose(within, np.eye(2), atol=1e-6)


def test_a_feature_that_tells_nothing_is_left_out() -> None:
    """The paper's figure 4: only the third of three columns depends on the class."""
    x = np.array([[1, 0, 1], [0, 1, 1], [1, 0, 5], [0, 1, 5]], dtype=np.float64)
    found = tr.HSICFeatures(1).fit(x, [0, 0, 1, 1])
    np.testing.assert_allclose(found.directions_[:, 0], [0, 0, 1], atol=1e-12)


def test_the_classifier_classifies_and_chooses() -> None:
    x, y = load_digits(return_X_y=True)
    model = tr.DSPNSVD((9, 1), (4.0,), random_state=0).fit(x[:600], y[:600])
    assert model.chosen_ == {"n_features": 9, "gamma": 4.0}
    assert model.score(x[600:900], y[600:900]) > 0.85
    proba = model.predict_proba(x[600:620])
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(x[600:620]), proba)
    z = model.features_.transform(x[600:601])[0]
    answer = model.circuit_.marginals(given={f"z{i + 1}": value for i, value in enumerate(z.tolist())})
    np.testing.assert_allclose([answer["class"][state] for state in range(10)], proba[0], atol=1e-9)


def test_an_extension_is_better_than_what_is_printed() -> None:
    x, y = load_digits(return_X_y=True)
    model = tr.DSPNSVD(
        9, kernel="rbf", whiten=True, components=500, density="gaussian-mixture", random_state=0
    ).fit(x[:900], y[:900])
    assert model.score(x[900:], y[900:]) > tr.DSPNSVD(9, 4.0).fit(x[:900], y[:900]).score(x[900:], y[900:])


def test_it_works_in_pipelines_and_searches() -> None:
    x, y = load_iris(return_X_y=True)
    pipe = make_pipeline(tr.HSICFeatures(2), tr.TractableClassifier("naive-bayes", random_state=0))
    assert pipe.fit(x, y).score(x, y) > 0.9
    search = GridSearchCV(tr.DSPNSVD(2, 4.0), {"whiten": [False, True]}, cv=2).fit(x, y)
    assert search.best_score_ > 0.9
    assert clone(tr.DSPNSVD(2, whiten=True)).whiten
    for setting in ("density", "kernel"):
        with pytest.raises(ValueError, match=f"{setting} must be"):
            tr.DSPNSVD().set_params(**{setting: "x"}).fit(x, y)
