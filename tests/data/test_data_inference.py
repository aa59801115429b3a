import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tractable.data import Kind, TableWarning, Variable, as_table
from tractable.data.infer import MAX_STATES


def only(data: object) -> Variable:
    (variable,) = as_table(data).schema
    return variable


def test_truth_values_have_the_states_false_and_true() -> None:
    assert only(pd.DataFrame({"a": [True, True]})).states == (False, True)
    assert only(np.ones((3, 1), dtype=bool)).states == (False, True)
    assert only(pl.DataFrame({"a": [True, None]})).states == (False, True)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table, dict], ids=lambda f: f.__module__)
def test_text_is_kept_as_typed_and_sorted(frame: type) -> None:
    table = as_table(frame({"a": ["yes ", "0", "1.0", "été", "", "yes"]}))
    assert table.schema[0].states == ("", "0", "1.0", "yes", "yes ", "été")
    assert table.values[:, 0].tolist() == [4, 1, 2, 5, 0, 3]


def test_a_pandas_categorical_keeps_its_order_and_its_unused_states() -> None:
    column = pd.Categorical(["b", None, "c"], categories=["c", "z", "b"])
    table = as_table(pd.DataFrame({"a": column}))
    assert table.schema[0].states == ("c", "z", "b")
    np.testing.assert_array_equal(table.values[:, 0], [2, np.nan, 0])


def test_the_intervals_of_a_cut_column_become_text_states() -> None:
    frame = pd.DataFrame({"a": pd.cut([1, 5], [0, 3, 6, 9])})
    assert only(frame).states == ("(0, 3]", "(3, 6]", "(6, 9]")


def test_a_polars_enum_keeps_its_order_and_a_polars_categorical_is_sorted() -> None:
    cells = ["x", None, "b"]
    assert only(pl.DataFrame({"a": pl.Series(cells, dtype=pl.Enum(["z", "x", "b"]))})).states == (
        "z",
        "x",
        "b",
    )
    assert only(pl.DataFrame({"a": pl.Series(cells, dtype=pl.Categorical)})).states == ("b", "x")


def test_an_arrow_dictionary_in_several_chunks_is_one_column() -> None:
    chunks = [pa.array(["b", "a"]).dictionary_encode(), pa.array(["c", None]).dictionary_encode()]
    table = as_table(pa.table({"a": pa.chunked_array(chunks)}))
    assert table.schema[0].states == ("b", "a", "c")
    np.testing.assert_array_equal(table.values[:, 0], [0, 1, 2, np.nan])


def test_integer_codes_need_not_start_at_zero() -> None:
    table = as_table(pd.DataFrame({"a": [7, -3, 7, 100]}))
    assert table.schema[0].states == (-3, 7, 100)
    assert table.values[:, 0].tolist() == [1, 0, 1, 2]


def test_integers_held_as_floats_because_cells_are_missing_are_still_integers() -> None:
    assert only(pd.DataFrame({"a": [1, 3, None]})).states == (1, 3)
    assert only(np.array([[1.0], [np.nan], [3.0]])).states == (1, 3)


@pytest.mark.parametrize("dtype", [int, float])
def test_whole_numbers_of_many_values_are_integers_and_of_few_are_ordered_states(dtype: type) -> None:
    many: np.ndarray = np.repeat(np.arange(MAX_STATES + 1), 2)[:, None].astype(dtype)
    assert only(many).kind == "integer"
    assert only(many - 1).kind == "integer"
    few = only(many[:-2])
    assert (few.kind, few.states) == ("ordinal", tuple(range(MAX_STATES)))
    assert only(many[:4]).kind == "categorical"  # two values have no order worth the name


def test_whole_numbers_that_hardly_repeat_are_no_states() -> None:
    assert only(np.arange(6)[:, None]).kind == "integer"
    assert only(np.arange(5)[:, None]).kind == "ordinal"


def test_floats_are_real_unless_few_round_values_repeat_often() -> None:
    assert only({"a": [0.5, 1.0]}).kind == "real"
    halves = only({"a": [0.5, 1.0, 1.5] * 10})
    assert (halves.kind, halves.states) == ("ordinal", (0.5, 1.0, 1.5))
    assert only({"a": [-0.0446416365, 0.0506801187] * 50}).kind == "real"  # a standardised column
    assert only({"a": np.repeat(np.arange(11) / 10, 50)}).kind == "real"


def test_a_column_is_a_count_only_on_request() -> None:
    visits = np.random.default_rng(0).negative_binomial(0.8, 0.1, 500)[:, None]
    assert only(visits).kind == only(visits.astype(float)).kind == "integer"
    assert as_table(visits, kinds={"x0": "count"}).schema[0].kind == "count"


@pytest.mark.parametrize(
    ("kind", "states"),
    [("real", ()), ("count", ()), ("integer", ()), ("categorical", (1, 2)), ("ordinal", (1, 2))],
)
def test_a_kind_can_be_chosen(kind: Kind, states: tuple[int, ...]) -> None:
    (variable,) = as_table({"a": [1, 2]}, kinds={"a": kind}).schema
    assert (variable.kind, variable.states) == (kind, states)


def test_floats_chosen_to_be_categorical_are_their_own_states() -> None:
    table = as_table({"a": [0.5, 2.0, None]}, kinds={"a": "categorical"})
    assert table.schema[0].states == (0.5, 2.0)


def test_a_kind_for_an_unknown_column_or_of_no_meaning_is_refused() -> None:
    with pytest.raises(ValueError, match="no column 'b'"):
        as_table({"a": [1]}, kinds={"b": "real"})
    with pytest.raises(ValueError, match="'a' cannot be 'fuzzy'"):
        as_table({"a": [1]}, kinds={"a": "fuzzy"})  # type: ignore[dict-item]


def test_text_chosen_to_be_real_is_read_as_numbers_or_refused() -> None:
    assert as_table({"a": ["1.5", "2"]}, kinds={"a": "real"}).values[:, 0].tolist() == [1.5, 2.0]
    with pytest.raises(ValueError, match="row 1: column 'a' is real: 'x' is not a number"):
        as_table({"a": ["1.5", "x"]}, kinds={"a": "real"})


def test_a_constant_column_has_one_state() -> None:
    assert only(pd.DataFrame({"a": ["x", "x"]})).states == ("x",)
    assert only({"a": [5, 5]}).states == (5,)


def test_a_constant_column_among_zeros_and_ones_has_both_states() -> None:
    schema = as_table(np.array([[0, 1, 0], [0, 1, 1]])).schema
    assert [v.states for v in schema] == [(0, 1)] * 3


def test_a_column_may_have_a_thousand_states() -> None:
    names = [f"state {i:04}" for i in range(1000)]
    table = as_table(pd.DataFrame({"a": names[::-1]}))
    assert table.schema[0].states == tuple(names)
    assert table.values[0, 0] == 999
    assert as_table(pd.DataFrame({"a": names}), table.schema).values[:, 0].tolist() == list(range(1000))


def test_values_of_several_types_are_texts_and_a_warning_says_so() -> None:
    column = np.array([1, "1", None, True, "b", 1.0, 2.5], dtype=object)
    with pytest.warns(TableWarning, match="column 'a' mixes numbers, text and Booleans: all"):
        table = as_table(pd.DataFrame({"a": column}))
    assert table.schema[0].states == ("1", "2.5", "True", "b")
    np.testing.assert_array_equal(table.values[:, 0], [0, 0, np.nan, 2, 3, 0, 1])


def test_one_row_and_one_column_are_a_table() -> None:
    assert as_table(pd.DataFrame({"a": ["x"]})).values.tolist() == [[0.0]]


def test_duplicated_columns_are_two_variables() -> None:
    assert len(as_table({"a": ["x", "y"], "b": ["x", "y"]}).schema) == 2


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ({"a": [1, 2], "b": [None, None]}, "column 'b' has no value"),
        (np.zeros((0, 2)), "no rows"),
        (np.zeros((2, 0)), "no columns"),
        ([], "no rows"),
        (np.zeros(3), "two dimensions"),
        (np.array([[1.0, np.inf]]), "column 'x1', row 0: inf"),
        (np.array([[1j]]), "column 'x0' holds complex"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns are called 'a'"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "two columns are called '1'"),
        (pd.DataFrame({"d": pd.to_timedelta(["1h"])}), "column 'd' holds duration"),
        ({"a": [1, 2], "b": [1]}, "column 'b' has 1 rows"),
        ({"a": [[1], "x"]}, r"column 'a', row 0: \[1\] is not text"),
        ([[1, 2], [1]], "row 1 of the list"),
        (pd.Series([1, 2]), "two dimensions"),
        ("train.csv", r"read\('train.csv'\)"),
        (17, "a int is not a table"),
    ],
)
def test_what_is_no_table_is_refused_in_one_line(data: object, fault: str) -> None:
    with pytest.raises(ValueError, match=fault) as caught:
        as_table(data)
    assert "\n" not in str(caught.value)
