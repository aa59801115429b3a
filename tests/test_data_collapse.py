import numpy as np
import numpy.typing as npt
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
)
def test_collapsing_agrees_with_its_definition(values: npt.NDArray[np.float64], weighted: bool) -> None:
    weights = np.arange(len(values), dtype=float) if weighted else None
    table = real_table(values, weights)
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
