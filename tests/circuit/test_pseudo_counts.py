"""Empirical Bayes: how many pseudo-counts groups of rows prefer."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tractable.base.arrays import Floats
from tractable.learning.joint.gaussian_mixture.em import SHARES, preferred_pseudo_counts

EVEN = np.full(3, 1 / 3)


def evidence(counts: Floats, pseudo_counts: Floats) -> float:
    """The probability of rows in one order, drawn one after the other from an urn for each group."""
    probability = 1.0
    for group in counts:
        seen = pseudo_counts.copy()
        for state, times in enumerate(group.astype(int)):
            for _ in range(times):
                probability *= seen[state] / seen.sum()
                seen[state] += 1
    return probability


def test_groups_with_states_of_their_own_prefer_few_pseudo_counts() -> None:
    assert preferred_pseudo_counts(50 * np.eye(3), EVEN, 1.0) == SHARES[-1]


def test_groups_that_are_alike_prefer_many() -> None:
    assert preferred_pseudo_counts(np.full((4, 3), 7.0), EVEN, 1.0) == 1.0


def test_no_rows_prefer_what_is_asked_for() -> None:
    assert preferred_pseudo_counts(np.zeros((2, 3)), EVEN, 0.5) == 0.5


@given(arrays(np.float64, (2, 3), elements=st.integers(0, 4)), st.floats(0.1, 5))
def test_the_choice_is_that_of_an_urn(counts: Floats, most: float) -> None:
    probabilities = [evidence(counts, most * share * EVEN) for share in SHARES]
    chosen = preferred_pseudo_counts(counts, EVEN, most)
    best = max(probabilities)
    assert evidence(counts, chosen * EVEN) >= best * (1 - 1e-9)
