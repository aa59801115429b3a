from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tractable.data import (
    Evidence,
    Interval,
    Schema,
    States,
    Variable,
    parse_conditions,
    parse_evidence,
    parse_question,
)

SCHEMA = Schema(
    (
        Variable("age", "categorical", ("under 40", "40-60", "60+", "(1, 2]")),
        Variable("smoker", "categorical", ("no", "yes ", "x=y", "a, b", "it's")),
        Variable("rooms", "categorical", (1, 2, 3, 5)),
        Variable("owner", "categorical", (False, True)),
        Variable("height", "real"),
        Variable("visits", "count"),
        Variable("odd, name|", "categorical", ("u", "v")),
    )
)


def known(evidence: Evidence) -> dict[str, Any]:
    """What the evidence says, by name: a label, a set of labels, or a pair."""
    said: dict[str, Any] = {}
    for column in evidence.columns:
        variable, region = SCHEMA[column], evidence.regions.get(column)
        if isinstance(region, States):
            said[variable.name] = {s for s, ok in zip(variable.states, region.allowed, strict=True) if ok}
        elif isinstance(region, Interval):
            said[variable.name] = (region.low, region.high)
        else:
            said[variable.name] = variable.label(evidence.row[column])
    return said


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        (None, {}),
        ({}, {}),
        ({"age": None, "height": nan, "visits": np.nan}, {}),
        ({"age": "40-60", "owner": True, "height": 1.5, "visits": 3}, "same"),
        ({"age": {"40-60", "60+"}}, "same"),
        ({"age": ["40-60"]}, {"age": "40-60"}),
        ({"rooms": range(1, 3)}, {"rooms": {1, 2}}),
        ({"rooms": [1, 2, 3, 5]}, {}),
        ({"rooms": slice(2, None)}, {"rooms": {2, 3, 5}}),
        ({"rooms": np.int64(5)}, {"rooms": 5}),
        ({"height": (1, 2)}, {"height": (1, 2)}),
        ({"height": [None, 2]}, {"height": (-inf, 2)}),
        ({"height": slice(1, None)}, {"height": (1, inf)}),
        ({"height": (None, None)}, {}),
        ({"visits": (1, 2), "height": Interval(0, 1)}, {"visits": (1, 2), "height": (0, 1)}),
        ({"owner": States(np.array([True, False]))}, {"owner": False}),
    ],
)
def test_evidence_in_a_dictionary_is_understood(given_: dict[str, Any] | None, said: Any) -> None:
    assert known(parse_evidence(given_, SCHEMA)) == (given_ if said == "same" else said)


@pytest.mark.parametrize(
    ("given_", "fault"),
    [
        ({"nobody": 1}, "no column 'nobody'"),
        ({"age": "70"}, "column 'age' has no state '70'"),
        ({"age": ["40-60", "70"]}, "column 'age' has no state '70'"),
        ({"age": set()}, "column 'age' has no possible state left"),
        ({"age": slice(1, 2)}, "column 'age' has text states"),
        ({"age": Interval(0, 1)}, "column 'age' is categorical"),
        ({"age": States(np.array([True]))}, "column 'age' has 4 states, but its region has 1"),
        ({"rooms": slice(6, None)}, "column 'rooms' has no possible state left"),
        ({"height": (1, 2, 3)}, "column 'height' is real: .* is not a pair"),
        ({"height": {1, 2}}, "is not a pair"),
        ({"height": (2, 1)}, "column 'height': the interval from 2 to 1 is empty"),
        ({"height": ("low", 1)}, "column 'height': the bound 'low'"),
        ({"height": "tall"}, "column 'height' is real: 'tall'"),
        ({"height": inf}, "not a finite number"),
        ({"visits": -1}, "column 'visits' holds counts"),
    ],
)
def test_evidence_that_makes_no_sense_is_refused(given_: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        parse_evidence(given_, SCHEMA)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", {}),
        ("age=40-60, rooms = 2", {"age": "40-60", "rooms": 2}),
        ("age=under 40,smoker=it's", {"age": "under 40", "smoker": "it's"}),
        ("smoker='yes '", {"smoker": "yes "}),
        ("smoker='x=y', 'odd, name|'=u", {"smoker": "x=y", "odd, name|": "u"}),
        ('smoker="a, b"', {"smoker": "a, b"}),
        ("smoker=x=y", {"smoker": "x=y"}),
        ("smoker='it''s'", {"smoker": "it's"}),
        ("age=(1, 2], rooms=1", {"age": "(1, 2]", "rooms": 1}),
        ("age in {40-60, 60+}", {"age": {"40-60", "60+"}}),
        ("age={40-60,'60+'}", {"age": {"40-60", "60+"}}),
        ("smoker in {'a, b', no}", {"smoker": {"a, b", "no"}}),
        ("age in [40-60, 60+]", {"age": {"40-60", "60+"}}),
        ("age!=40-60", {"age": {"under 40", "60+", "(1, 2]"}}),
        ("age != {40-60, 60+}, age!=under 40", {"age": "(1, 2]"}),
        ("owner=true", {"owner": True}),
        ("owner!=True", {"owner": False}),
        ("rooms>=2", {"rooms": {2, 3, 5}}),
        ("rooms>2, rooms<5", {"rooms": 3}),
        ("rooms in [2, 3]", {"rooms": {2, 3}}),
        ("height=1.5", {"height": 1.5}),
        ("height=[150, 180]", {"height": (150, 180)}),
        ("height in [150,]", {"height": (150, inf)}),
        ("height>150", {"height": (150, inf)}),
        ("height>150, height<=180", {"height": (150, 180)}),
        ("height=160, height<=180", {"height": 160}),
        ("visits>2", {"visits": (3, inf)}),
        ("visits<2.5, visits>=1", {"visits": (1, 2)}),
        ("150 <= height<=180", {"height": (150, 180)}),
        ("180 > height >= 150", {"height": (150, 180)}),
        ("150<height, 2 > visits", {"height": (150, inf), "visits": (-inf, 1)}),
        ("1 < rooms < 4", {"rooms": {2, 3}}),
    ],
)
def test_conditions_are_understood_as_typed(text: str, said: dict[str, Any]) -> None:
    assert known(parse_conditions(text, SCHEMA)) == said


@pytest.mark.parametrize(
    ("text", "asked", "given_"),
    [
        ("P(age=40-60)", {"age": "40-60"}, {}),
        (" p ( age=40-60 , rooms=1 | smoker=no )", {"age": "40-60", "rooms": 1}, {"smoker": "no"}),
        ("P(owner=True|height>1.5, visits=2)", {"owner": True}, {"height": (1.5, inf), "visits": 2}),
        ("P('odd, name|'=u | smoker='a, b')", {"odd, name|": "u"}, {"smoker": "a, b"}),
        ("P(rooms=1 | )", {"rooms": 1}, {}),
    ],
)
def test_a_question_has_two_halves(text: str, asked: dict[str, Any], given_: dict[str, Any]) -> None:
    query, evidence = parse_question(text, SCHEMA)
    assert (known(query), known(evidence)) == (asked, given_)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("age=40-60", "not a query of the form"),
        ("P(age=40-60", "not a query of the form"),
        ("P()", "asks for nothing"),
        ("P(|age=40-60)", "asks for nothing"),
        ("P(rooms=1 | rooms=2 | rooms=3)", "more than one bar"),
        ("P(age)", "'age' is not a condition"),
        ("P(rooms=1, )", "'' is not a condition"),
        ("P(age=)", "the condition on 'age' has no value"),
        ("P(agee=40-60)", "no column 'agee'"),
        ("P(age=41)", "column 'age' has no state '41'"),
        ("P(age=Under 40)", "column 'age' has no state 'Under 40'"),
        ("P(age in {})", "column 'age' has no state ''"),
        ("P(age>4)", "column 'age' has text states"),
        ("P(age>x)", "column 'age': 'x' after '>' is not a number"),
        ("P(height!=2)", "column 'height' is real: '!='"),
        ("P(height={1, 2})", "column 'height': '{1, 2}' is not an interval"),
        ("P(height=[1, 2, 3])", "is not an interval"),
        ("P(height=[3, 2])", "the interval from 3 to 2 is empty"),
        ("P(height=1, height=2)", "conditions on column 'height' contradict"),
        ("P(age=40-60, age=60+)", "column 'age' has no possible state left"),
        ("P(visits=1.5)", "column 'visits' holds counts"),
        ("P(150 < heigth < 180)", "no column '150'"),
        ("P(180 < height < 150)", "the interval from 180 to 150 is empty"),
        ("P(150 < height = 180)", "no column '150'"),
        ("P(150 < height < )", "the condition on 'height' has no value"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_in_one_line(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault) as caught:
        parse_question(text, SCHEMA)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=8), st.text(max_size=8))
def test_any_name_and_any_state_can_be_asked_for_in_quotes(name: str, state: str) -> None:
    if any(mark in name + state for mark in "\ue000\ue001"):
        return
    schema = Schema((Variable(name, "categorical", (state + "?", state)),))
    text = "'{}'=\"{}\"".format(name.replace("'", "''"), state.replace('"', '""'))
    assert parse_conditions(text, schema).row.tolist() == [1.0]
    assert parse_question(f"P({text} | {text})", schema)[1].row.tolist() == [1.0]
