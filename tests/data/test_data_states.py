"""States are keys: no two of a column are one to Python, whatever a table holds, wherever it is used."""

import warnings
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tractable as tr
from tractable.data import Table, TableWarning, Variable, as_table
from tractable.data.states import StateIndex, find_state, separate_states, state_text
from tractable.formats.header import plain_schema, schema_from_plain
from tractable.queries import marginals

CELLS: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([True, False, 0, 1, 2, 0.0, 1.0, -0.0, "0", "1", "1.0", "01", "True", "a", ""]),
    st.sampled_from([np.int8(1), np.float32(1.0), np.True_, Decimal(1), Decimal("2.5"), 2.5, 2**60, 2**70]),
    st.sampled_from(
        [date(2020, 1, 1), "2020-01-01", np.datetime64("2020-01-01"), pd.Timestamp("2020-01-01")]
    ),
    st.none(),
    st.just(float("nan")),
)
COLUMNS = st.lists(CELLS, min_size=1, max_size=8).filter(lambda cells: any(not pd.isna(x) for x in cells))


def learn(data: Any) -> tr.Circuit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        return tr.Independent(smoothing=1.0).fit(data).circuit_


@settings(max_examples=150, deadline=None)  # the first example compiles
@given(cells=COLUMNS)
def test_the_marginal_of_every_column_of_mixed_values_adds_up_to_one_by_its_keys(cells: list[Any]) -> None:
    circuit = learn(pd.DataFrame({"a": pd.Series(cells, dtype=object)}))
    variable = circuit.schema[0]
    found = circuit.marginals()["a"]
    if variable.is_numeric:
        assert set(found) == {"mean", "std"}
        return
    assert len(found) == variable.cardinality
    assert sum(found.values()) == pytest.approx(1.0)
    for state in variable.states:
        assert circuit.prob({"a": state}) == pytest.approx(found[state])
    for cell in cells:
        if not pd.isna(cell):
            assert circuit.prob({"a": cell}) > 0.0


@settings(max_examples=100, deadline=None)
@given(cells=COLUMNS)
def test_equal_values_have_one_code_and_rows_are_coded_alike_with_and_without_a_schema(
    cells: list[Any],
) -> None:
    frame = pd.DataFrame({"a": pd.Series(cells, dtype=object)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        table = as_table(frame)
        np.testing.assert_array_equal(as_table(frame, table.schema).values, table.values)
        alone = [as_table([{"a": cell}], table.schema).values[0, 0] for cell in cells]
    np.testing.assert_array_equal(alone, table.values[:, 0])


MIXED = [1, 1.0, True, "1", "b", None, 2.5, 1, True]  # which the version before took for four states of one


def mixed() -> pd.DataFrame:
    return pd.DataFrame({"a": pd.Series(MIXED, dtype=object), "n": [0.5, 1.5] * 4 + [2.5]})


def test_a_mixed_column_is_text_in_every_face(tmp_path: Path) -> None:
    circuit = learn(mixed())
    states = ("1", "2.5", "True", "b")
    assert circuit.schema[0].states == states
    assert tuple(circuit.marginals()["a"]) == states
    assert circuit.mpe({"n": 1.0}).row["a"] == "1"
    assert set(circuit.sample(50, random_state=1)["a"]) <= set(states)
    circuit.save(tmp_path / "m.tract")
    again = tr.load(tmp_path / "m.tract")
    assert again.schema == circuit.schema
    for value, state in ((1, "1"), (1.0, "1"), (True, "True"), (np.float64(2.5), "2.5"), ("b", "b")):
        assert again.prob({"a": value}) == circuit.prob(f"a={state}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        logs = again.log_prob(mixed())
    text = mixed().assign(a=pd.Series([None if x is None else state_text(x) for x in MIXED], dtype=object))
    np.testing.assert_array_equal(logs, again.log_prob(text))


def test_a_classifier_of_a_mixed_column_predicts_texts() -> None:
    frame = mixed().dropna()
    with pytest.warns(TableWarning, match="column 'a' mixes numbers, Booleans and text"):
        face = tr.TractableClassifier("independent", target="a").fit(frame)
    assert face.classes_.tolist() == ["1", "2.5", "True", "b"]
    assert set(face.predict(frame)) == {"1"}
    assert face.predict_proba(frame).sum(axis=1) == pytest.approx(1.0)


def test_numbers_of_several_types_are_numbers() -> None:
    for cells in ([1, 2.5, Decimal("2.5")], [2**53 + 1, 0.5], [np.int8(3), 2**70]):
        assert not as_table({"a": cells}).schema[0].has_text_states


def test_whole_and_other_numbers_that_were_declared_stay_numbers() -> None:
    table = as_table(pd.DataFrame({"a": pd.Categorical([1, 2.5, 1], categories=[2.5, 1])}))
    assert table.schema[0].states == (2.5, 1)
    assert tr.Circuit(learn(table).graph).sample(9, random_state=0)["a"].isin([1.0, 2.5]).all()


@pytest.mark.parametrize(
    "cells", [[1, "a", (1, 2)], ["a", [1]], [Fraction(1, 2), "a"], ["a", 1, float("inf")]]
)
def test_what_is_neither_text_nor_a_finite_number_is_refused(cells: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"column 'a', row \d: "):
        as_table({"a": cells})


def test_states_that_are_one_to_python_are_refused_and_told_apart_in_old_files() -> None:
    with pytest.raises(ValueError, match="has the states 1 and True, which Python takes for one"):
        Variable("a", "categorical", (1, True))
    assert separate_states((True, 1.0, "b")) == ("True", "1", "b")
    assert separate_states((1, "1")) == (1, "1")
    plain = plain_schema(as_table({"a": ["b", "c"]}).schema)
    plain[0]["states"] = [True, 1]
    assert schema_from_plain(plain)[0].states == ("True", "1")


@pytest.mark.parametrize(
    ("states", "value", "code"),
    [
        ((0, 1), "1.0", 1),
        ((0.0, 0.5), "0", 0),
        ((0.0, 0.5), 0, 0),
        ((12,), "12.00", 0),
        ((7,), "007", 0),  # a column of numbers
        (("7",), "007", None),  # a column of texts
        (("007",), 7, None),
        (("007", "7"), 7, 1),
        (("1.1",), "1.10", None),
        (("12", "b"), 12.0, 0),
        (("0.0", "b"), "0", 0),
        (("1", "1.0"), "1.00", None),  # it could be either
        (("1", 1), "1", 0),
        (("1", 1), 1, 1),
        ((False, True), 1, 1),
        ((False, True), "1", None),
        (("True", "1"), True, 0),
        ((5,), "0_5", None),
        ((5,), "five", None),
        ((5,), (5,), None),
    ],
)
def test_a_state_is_found_by_its_plain_name(states: tuple[Any, ...], value: object, code: int | None) -> None:
    assert find_state(states, value) == code
    assert StateIndex(states).find(value) == code


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        ("smoke=yes", "there is no column 'smoke' .*; did you mean 'smoker'\\?"),
        ("smoker=yess", "has no state 'yess' .*; did you mean 'yes'\\?"),
        ("SMOKER=yes", "did you mean 'smoker'\\?"),
        ({"smoker": "Yes"}, "did you mean 'yes'\\?"),
        ({"smokers": "yes"}, "did you mean 'smoker'\\?"),
        ("qqq=yes", "there is no column 'qqq' \\(columns: [^?]*\\)$"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_one_that_was_meant(ask: Any, words: str) -> None:
    circuit = learn({"smoker": ["yes", "no", "yes"], "n": [1, 2, 2]})
    with pytest.raises(ValueError, match=words):
        circuit.prob(ask)


def test_two_equals_signs_are_one() -> None:
    circuit = learn({"smoker": ["yes", "no", "yes"], "n": [0.0, 1.0, 1.0]})
    assert circuit.prob("smoker==yes, n == 0") == circuit.prob("smoker=yes, n=0")
    assert circuit.prob("n==0.0") == circuit.prob({"n": 0}) > 0


def test_a_table_of_equal_codes_has_marginals_that_add_up() -> None:
    table = Table(as_table({"a": [1, True, "x"]}).schema, np.array([[0.0], [1.0], [2.0]]))
    graph = learn(table).graph
    assert sum(marginals(graph, np.array([[np.nan]]))[0][0]) == pytest.approx(1.0)
