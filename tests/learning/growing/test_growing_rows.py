"""Rows as bits, counted by words, against rows counted one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tractable.base.arrays import Floats
from tractable.data import Table, discrete_schema
from tractable.learning.growing.bit_rows import BitRows

STATES = (2, 3, 1, 2)
KINDS = {
    "alike": [1.0],
    "few": [0.25, 1.25, 3.0],
    "many": np.linspace(0.1, 9, 200).tolist(),
    "none": [0.0, 1.0],
}


def some_rows(count: int, weights: list[float], seed: int) -> Table:
    """Rows with missing cells, many of them equal."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, STATES, size=(count, len(STATES))).astype(np.float64)
    values[rng.random(values.shape) < 0.2] = np.nan
    return Table(discrete_schema(STATES), values, rng.choice(weights, size=count))


def counted(table: Table, column: int, state: int) -> Floats:
    """How much the rows weigh that have a state of a column, together with each state of each column."""
    chosen = table.values[:, column] == state
    return np.array(
        [
            table.row_weights[chosen & (table.values[:, c] == v)].sum()
            for c, states in enumerate(STATES)
            for v in range(states)
        ]
    )


@given(st.integers(0, 400), st.sampled_from(sorted(KINDS)), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_counts_are_those_of_the_rows_one_by_one(count: int, kind: str, seed: int) -> None:
    table = some_rows(count, KINDS[kind], seed)
    rows = BitRows(table)
    assert rows.total == pytest.approx(table.row_weights.sum())
    assert rows.weight(rows.all_rows) == pytest.approx(rows.total)
    for column, states in enumerate(STATES):
        held = rows.literals[rows.states_of(column)]
        for state in range(states):
            counts = rows.count_states(held[state])
            np.testing.assert_allclose(counts, counted(table, column, state), atol=1e-9)
            shares = rows.state_shares(held[state])
            for other in range(len(STATES)):
                alone = rows.column_shares(held[state], other)
                np.testing.assert_array_equal(alone, shares[rows.states_of(other)])
                assert alone.sum() == pytest.approx(1.0)
