"""Many multivariate leaves at once, against each leaf by itself and against integrals with many digits."""

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tractable.circuit.leaves.maps import IdentityMap, MonotoneMap, PiecewiseLinearMap, YeoJohnsonMap
from tractable.circuit.leaves.multivariate import Box, GaussianLeaf, GaussianStack

MAPS: dict[MonotoneMap, list[float]] = {
    IdentityMap(): [],
    YeoJohnsonMap(): [0.1, 1.2, 0.4],
    PiecewiseLinearMap(): [-1.0, 0.0, 2.0, -1.5, 0.0, 1.0],
}


def random_leaves(
    rng: np.random.Generator, count: int, size: int, kind: MonotoneMap, *, shared: bool, scale: float = 1.0
) -> list[GaussianLeaf]:
    """Leaves over columns of which every second holds whole numbers."""
    leaves = []
    for _ in range(count):
        mixing = rng.normal(size=(size, size))
        factor = np.asarray(np.linalg.cholesky(mixing @ mixing.T + 0.3 * np.eye(size)) * scale, np.float64)
        line = np.array(MAPS[kind]) * (1.0 if shared else rng.uniform(0.9, 1.1))
        maps = np.broadcast_to(line, (size, line.size)).copy()
        leaves.append(
            GaussianLeaf(kind, scale * rng.normal(size=size), factor, maps, np.arange(size) % 2 == 1)
        )
    return leaves


def random_rows(rng: np.random.Generator, rows: int, size: int, missing: float) -> np.ndarray:
    x = 3 * rng.normal(size=(rows, size))
    x[:, 1::2] = np.rint(x[:, 1::2])
    return np.where(rng.random(x.shape) < missing, np.nan, x)


@pytest.mark.parametrize("kind", MAPS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("shared", [True, False])
@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**32), size=st.integers(1, 5), rows=st.sampled_from([1, 7, 600]),
    missing=st.sampled_from([0.0, 0.3, 1.0]),
)  # fmt: skip
def test_a_stack_answers_like_its_leaves(
    kind: MonotoneMap, shared: bool, seed: int, size: int, rows: int, missing: float
) -> None:
    rng = np.random.default_rng(seed)
    leaves = random_leaves(rng, 3, size, kind, shared=shared)
    x = random_rows(rng, rows, size, missing)
    free = Box(np.full(size, -np.inf), np.full(size, np.inf))
    stack = GaussianStack.of(leaves)
    expected = [leaf.log_value(x, free)[0] for leaf in leaves]
    np.testing.assert_allclose(stack.log_values(x), expected, rtol=1e-9, atol=1e-9)
    used = rng.random((len(leaves), rows)) < 0.8
    moments = [np.stack(each) for each in zip(*(leaf.moments(x, free) for leaf in leaves), strict=True)]
    for several, slow in zip(stack.moments(x, used), moments, strict=True):
        np.testing.assert_allclose(several[used], slow[used], rtol=1e-8, atol=1e-9)


@settings(max_examples=300, deadline=None)
@given(score=st.floats(-60, 60), log_half=st.floats(-30, 6))
def test_the_mass_of_a_cell_is_exact_for_every_length_and_however_far_out(
    score: float, log_half: float
) -> None:
    half = float(np.exp(log_half))
    sd = 0.5 / half
    x = float(np.rint(score * sd))
    leaf = GaussianLeaf(IdentityMap(), np.zeros(1), np.full((1, 1), sd), np.zeros((1, 0)), np.ones(1, bool))
    (value,) = GaussianStack.of([leaf]).log_values(np.array([[x]]))[0]
    with mpmath.workdps(60):
        low, high = ((mpmath.mpf(x) + end) / mpmath.mpf(sd) for end in (-0.5, 0.5))
        low, high = (-high, -low) if low > 0 else (low, high)
        exact = mpmath.log((mpmath.erfc(-high / mpmath.sqrt(2)) - mpmath.erfc(-low / mpmath.sqrt(2))) / 2)
    assert value == pytest.approx(float(exact), rel=2e-14, abs=2e-13)


def test_rows_without_any_cell_and_cells_beyond_all_scale() -> None:
    rng = np.random.default_rng(0)
    stack = GaussianStack.of(random_leaves(rng, 2, 2, IdentityMap(), shared=True))
    nothing = stack.log_values(np.full((3, 2), np.nan))
    np.testing.assert_array_equal(nothing, np.zeros((2, 3)))
    far = stack.log_values(np.array([[1e200, np.nan], [np.nan, 1e12]]))
    assert (far < -1e20).all()
    assert not np.isnan(far).any()


def test_a_singular_covariance_counts_as_one_next_to_it() -> None:
    factor = np.array([[1.0, 0.0], [1.0, 1e-12]])
    leaf = GaussianLeaf(IdentityMap(), np.zeros(2), factor, np.zeros((2, 0)), np.array([False, True]))
    x = np.array([[0.3, 0.0], [np.nan, 1.0], [2.0, np.nan]])
    free = Box(np.full(2, -np.inf), np.full(2, np.inf))
    np.testing.assert_allclose(
        GaussianStack.of([leaf]).log_values(x)[0], leaf.log_value(x, free)[0], rtol=1e-6
    )
