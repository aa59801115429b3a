"""Held-out rows: whatever divides them, none is lost, and no copy of a row is on both sides."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tractable.base.arrays import Floats
from tractable.learning.statistics.held_out import (
    disjoint_shares,
    divide_at_random,
    divide_evenly,
    random_subset,
    shuffled_folds,
)

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # on a busy machine
WEIGHTS = st.lists(st.floats(0.01, 20), min_size=1, max_size=8)


@pytest.mark.parametrize("divide", [divide_evenly, divide_at_random])
@unhurried
@given(weights=WEIGHTS, parts=st.integers(2, 8), seed=st.integers(0, 9))
def test_weights_are_divided_without_loss_and_whole_rows_stay_whole(
    divide: Callable[..., Floats], weights: list[float], parts: int, seed: int
) -> None:
    whole = np.array(weights)
    shares = divide(whole, parts, np.random.default_rng(seed))
    assert shares.shape == (parts, whole.size)
    np.testing.assert_allclose(shares.sum(axis=0), whole)
    assert (shares >= 0).all()
    counted = divide(np.ceil(whole), parts, np.random.default_rng(seed))
    assert (counted == np.round(counted)).all()


@unhurried
@given(WEIGHTS, st.integers(2, 8), st.integers(0, 9))
def test_parts_of_a_weight_that_is_divided_evenly_differ_by_one_row_at_most(
    weights: list[float], parts: int, seed: int
) -> None:
    even = divide_evenly(np.ceil(weights), parts, np.random.default_rng(seed))
    assert (even.max(axis=0) - even.min(axis=0) <= 1).all()


@unhurried
@given(WEIGHTS, st.integers(1, 4), st.integers(0, 9))
def test_no_copy_of_a_row_is_held_out_twice(weights: list[float], folds: int, seed: int) -> None:
    counts = np.ceil(weights)
    held = disjoint_shares(counts, 1 / 4, folds, np.random.default_rng(seed))
    assert held.shape == (folds if counts.sum() > 1 else 0, counts.size)
    assert (held >= 0).all()
    assert (held.sum(axis=0) <= 1 + 1e-12).all()
    for fold in held[: int(counts.sum()) // max(1, round(counts.sum() / 4))]:
        assert fold @ counts == pytest.approx(max(1, round(counts.sum() / 4)))


@unhurried
@given(st.integers(5, 60), st.integers(2, 5), st.integers(0, 9))
def test_each_fold_has_its_share_of_each_label(count: int, folds: int, seed: int) -> None:
    labels = np.random.default_rng(seed).integers(0, 3, count)
    pairs = list(shuffled_folds(count, folds, np.random.default_rng(seed), labels=labels))
    assert sorted(np.concatenate([held for _, held in pairs])) == list(range(count))
    for train, held in pairs:
        assert sorted(np.concatenate([train, held])) == list(range(count))
    by_fold = np.array([np.bincount(labels[held], minlength=3) for _, held in pairs])
    assert (by_fold.max(axis=0) - by_fold.min(axis=0) <= 1).all()


def test_of_many_rows_a_random_sample_takes_part_in_folds() -> None:
    pairs = list(shuffled_folds(1000, 3, np.random.default_rng(0), most=60))
    assert [held.size for _, held in pairs] == [20, 20, 20]
    assert np.unique(np.concatenate([held for _, held in pairs])).size == 60


@pytest.mark.parametrize("most", [0, 3, 10, 20])
def test_a_subset_has_so_many_rows_in_their_order(most: int) -> None:
    chosen = random_subset(10, most, np.random.default_rng(0))
    assert chosen.size == min(most, 10)
    assert (np.diff(chosen) > 0).all()
