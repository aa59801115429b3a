"""What growing sums share: division of rows, early stopping, components that pay."""

import numpy as np
import pytest

from tractable.base.progress import Key, Watch
from tractable.learning.conditional.parts.growth import (
    Scored,
    Stopping,
    add_components,
    best_iterate,
    divide_rows,
    pays,
)


def test_rows_are_divided_along_the_first_principal_component() -> None:
    draw = np.random.default_rng(0)
    copies = draw.integers(1, 4, size=50)
    matrix = draw.normal(size=(50, 4)) * [1.0, 3.0, 0.5, 1.0]
    several = np.repeat(matrix, copies, axis=0)  # a weight stands for so many rows
    centred = several - several.mean(axis=0)
    direction = np.linalg.svd(centred, full_matrices=False)[2][0]
    direction *= np.sign(direction[np.abs(direction).argmax()])
    along = (matrix - several.mean(axis=0)) @ direction
    expected = 1 / (1 + np.exp(-2 * along / (centred @ direction).std()))
    first, others = divide_rows(matrix, copies.astype(np.float64), matrix[:5])
    np.testing.assert_allclose(first, expected, atol=1e-9)
    np.testing.assert_allclose(others, expected[:5], atol=1e-9)


def test_rows_that_do_not_differ_belong_to_both_sides() -> None:
    for matrix in (np.zeros((3, 0)), np.ones((3, 2))):
        assert [share.tolist() for share in divide_rows(matrix, np.ones(3), matrix[:1])] == [[0.5] * 3, [0.5]]


@pytest.mark.parametrize(
    ("stopping", "best"),
    [
        (Stopping(10, 2), 7),  # all but the last three
        (Stopping(10, 1), 5),  # one iterate without a better score ends it
        (Stopping(1, 2), 3),
        (Stopping(0, 2), 0),
        (Stopping(10, 2, 3.0), 5),  # steps from 5 to 7 are too small to count as progress
    ],
)
def test_a_fit_stops_early_and_answers_with_its_best_iterate(stopping: Stopping, best: int) -> None:
    scores = [3, 5, 4, 7, 6, 6, 9]
    steps = (Scored(score, float(score)) for score in scores)
    assert best_iterate(Scored(0, 0.0), steps, stopping, "steps", Watch()).model == best


def test_a_larger_model_pays_on_held_out_rows_or_by_the_information_criterion() -> None:
    assert pays(0.03, 100.0, None, 2.0)
    assert not pays(0.01, 100.0, None, 2.0)
    assert pays(0.03, 100.0, lambda: 1.0)  # 3 nats are more than half of log 100
    assert not pays(0.02, 100.0, lambda: 1.0)


def test_components_are_added_while_they_pay_and_up_to_a_limit() -> None:
    def enlarge(model: str, _: Watch) -> str | None:
        return model + "x" if len(model) < 4 else None

    key: Key[str | None] = Key(__name__, "larger", str | None)

    def grown(most: int, limit: int) -> str:
        return add_components("x", most, enlarge, lambda larger, _: len(larger) <= limit, Watch(), key)

    assert [grown(3, 9), grown(9, 2), grown(9, 9), grown(1, 9)] == ["xxx", "xx", "xxxx", "x"]
