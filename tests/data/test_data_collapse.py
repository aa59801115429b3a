import pickle
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tractable.data import Schema, Table, Variable, clinic, collapse

CELLS = st.sampled_from([0.0, -0.0, 1.0, 2.0, 1e-300, -5.5, np.nan])


def slow_collapse(table: Table) -> tuple[list[tuple[str, ...]], list[float], list[int]]:
    """The distinct rows, their weights and each row's place among them, by the definition."""
    keys: list[tuple[str, ...]] = [tuple(repr(float(x) + 0.0) for x in row) for row in table.values]
    distinct = list(dict.fromkeys(keys))
    weights = [sum(w for k, w in zip(keys, table.row_weights, strict=True) if k == d) for d in distinct]
    return distinct, weights, [distinct.index(k) for k in keys]


def real_table(values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64] | None = None) -> Table:
    return Table(Schema(tuple(Variable(f"x{i}", "real") for i in range(values.shape[1]))), values, weights)


@settings(deadline=None)  # the first call compiles
@given(
    hnp.arrays(float, st.tuples(st.integers(0, 12), st.integers(1, 3)), elements=CELLS),
    st.booleans(),
    st.sampled_from([0, 1000]),
)
def test_collapsing_agrees_with_its_definition(
    values: npt.NDArray[np.float64], weighted: bool, few_cells: int
) -> None:
    weights = np.arange(len(values), dtype=float) if weighted else None
    table = real_table(values, weights)
    with patch("tractable.data.table.FEW_CELLS", few_cells):  # above it, a kernel does the same
        distinct, inverse = collapse(table)
    keys, sums, places = slow_collapse(table)
    assert slow_collapse(distinct)[0] == keys
    assert distinct.row_weights.tolist() == sums
    assert inverse.tolist() == places


def test_rows_that_differ_only_far_to_the_right_stay_apart() -> None:
    values = np.zeros((500, 300))
    values[np.arange(500), 299] = np.arange(500)
    assert len(collapse(real_table(values))[0]) == 500


def test_a_matrix_stored_by_column_collapses_too() -> None:
    values = np.asfortranarray(np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]]))
    distinct, inverse = collapse(real_table(values))
    assert distinct.row_weights.tolist() == [2.0, 1.0]
    assert inverse.tolist() == [0, 0, 1]


def test_every_row_is_its_distinct_row() -> None:
    table = clinic(5000, missing=0.1)
    distinct, inverse = collapse(table)
    np.testing.assert_array_equal(distinct.values[inverse], table.values)
    assert distinct.total_weight == len(table)
    assert len(distinct) < len(table)


def known_distinct(table: Table) -> bool:
    """Whether the table says that its rows are distinct; it must be true if it does."""
    assert not table.has_distinct_rows or len(slow_collapse(table)[0]) == len(table)
    return table.has_distinct_rows


def test_what_was_collapsed_is_not_collapsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    distinct, _ = collapse(clinic(300, missing=0.1))
    monkeypatch.setattr("tractable.data.kernels.distinct_rows", None)
    again, inverse = collapse(distinct)
    assert again is distinct
    assert inverse.tolist() == list(range(len(distinct)))
    reordered, _ = collapse(distinct.select([2, *range(2), *range(3, len(distinct.schema))]))
    assert reordered.values.flags.c_contiguous
    np.testing.assert_array_equal(reordered.row_weights, distinct.row_weights)
    part, _ = collapse(distinct.take(np.array([1, 4, 9])).reweight(np.array([2.0, 0.5, 0.0])))
    np.testing.assert_array_equal(part.values, distinct.values[[1, 4, 9]])
    assert part.row_weights.tolist() == [2.0, 0.5, 0.0]


def test_rows_are_known_to_be_distinct_only_while_they_are() -> None:
    distinct, _ = collapse(clinic(100))
    assert known_distinct(distinct)
    assert known_distinct(pickle.loads(pickle.dumps(distinct)))
    assert known_distinct(distinct.take(slice(3, 20)))
    assert known_distinct(distinct.take(distinct.row_weights > 1))
    assert known_distinct(distinct.take(np.zeros(0, dtype=np.int64)))
    assert not known_distinct(distinct.take(np.array([0, 0, 1])))
    assert not known_distinct(distinct.take(np.array([-len(distinct), 0])))
    assert not known_distinct(distinct.select([0, 1]))
    assert not known_distinct(clinic(100))
    assert not known_distinct(Table(distinct.schema, distinct.values))
