"""Dates are numbers inside and dates outside."""

import json
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tractable as tr
from tractable.data import Variable, as_table, date_parts
from tractable.data.dates import iso_text, label_of, moment_of, text_moments

DAYS = [date(2020, 1, 1) + timedelta(days=i) for i in range(0, 300, 3)]
TIMES = [datetime(2020, 1, 1, 12) + timedelta(hours=5 * i) for i in range(100)]
ISO = [day.isoformat() for day in DAYS]
FORMS: dict[str, Any] = {
    "pandas": pd.DataFrame({"when": pd.to_datetime(ISO)}),
    "pandas text": pd.DataFrame({"when": ISO}),
    "polars": pl.DataFrame({"when": DAYS}),
    "polars times": pl.DataFrame({"when": [datetime(d.year, d.month, d.day) for d in DAYS]}),
    "arrow": pa.table({"when": pa.array(DAYS)}),
    "dictionary": {"when": DAYS},
    "numpy": {"when": np.array(ISO, dtype="datetime64[D]")},
    "mixed objects": {"when": [datetime(2020, 1, 1), *DAYS[1:]]},
    "german": {"when": [f"{d:%d.%m.%Y}" for d in DAYS]},
    "slashes": {"when": [f"{d:%m/%d/%Y}" for d in DAYS]},
    "words": {"when": [f"{d:%d %b %Y}" for d in DAYS]},
}


def numbers(days: list[date]) -> list[float]:
    return [float((day - date(1970, 1, 1)).days) for day in days]


@pytest.mark.parametrize("form", FORMS)
def test_dates_of_any_form_are_days_since_1970(form: str) -> None:
    table = as_table(FORMS[form])
    assert table.schema[0] == Variable("when", "date")
    assert table.values[:, 0].tolist() == numbers(DAYS)


def test_times_are_seconds_since_1970() -> None:
    for data in (pd.DataFrame({"when": TIMES}), {"when": TIMES}, {"when": [t.isoformat() for t in TIMES]}):
        table = as_table(data)
        assert table.schema[0].kind == "datetime"
        assert table.values[0, 0] == TIMES[0].replace(tzinfo=UTC).timestamp()


@given(st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)))
def test_a_time_comes_back_as_it_was(moment: datetime) -> None:
    seconds = moment_of(moment)
    assert seconds is not None
    assert abs(label_of(seconds, "datetime") - moment) < timedelta(milliseconds=1)
    day = label_of(float((moment.date() - date(1970, 1, 1)).days), "date")
    assert day == moment.date()
    assert moment_of(iso_text(seconds, "datetime")) == pytest.approx(seconds, abs=1e-3)


def test_a_time_zone_is_told_of_and_becomes_utc() -> None:
    zoned = pd.to_datetime(["2020-06-01 12:00", "2020-06-02 13:30"]).tz_localize("Europe/Berlin")
    with pytest.warns(tr.TableWarning, match="column 'when' has the time zone Europe/Berlin"):
        table = as_table(pd.DataFrame({"when": zoned}))
    assert table.schema[0].label(table.values[0, 0]) == datetime(2020, 6, 1, 10)
    with pytest.warns(
        tr.TableWarning, match="column 'when' has times with a time zone: they are converted to UTC"
    ):
        as_table({"when": ["2020-06-01T12:00:00+02:00", "2020-06-02T13:30:00Z"]})
    east = timezone(timedelta(hours=2))
    assert moment_of(datetime(2020, 6, 1, 12, tzinfo=east)) == moment_of("2020-06-01T10:00")


@pytest.mark.parametrize(
    "texts",
    [("03/04/2020", "05/06/2020"), ("2020-02-30", "2020-01-01"), ("2020-01-01", "soon"), ("1.5.2", "1.6.0")],
)
def test_texts_that_are_no_dates_for_certain_stay_text(texts: tuple[str, ...]) -> None:
    assert text_moments(texts) is None
    assert as_table({"a": list(texts)}).schema[0].kind == "categorical"


@pytest.fixture(scope="module")
def circuit() -> tr.Circuit:
    sunny = [d.month > 5 for d in DAYS]
    fitted: tr.Circuit = tr.NaiveBayesMixture(random_state=0).fit({"when": DAYS, "sunny": sunny}).circuit_
    return fitted


def test_evidence_takes_dates_and_their_texts(circuit: tr.Circuit) -> None:
    half = circuit.prob({"when": (date(2020, 3, 2), None)})
    assert 0.6 < half < 0.9
    assert circuit.prob({"when": ("2020-03-02", None)}) == half
    assert circuit.prob({"when": slice(np.datetime64("2020-03-02"), None)}) == half
    assert circuit.prob({"when": (pd.Timestamp("2020-03-02"), None)}) == half
    assert circuit.prob("when > 2020-03-01") == circuit.prob("when >= 2020-03-02") == half
    assert circuit.prob("when=[2020-03-02, ]") == half
    assert circuit.prob("when < 2020-03-02") == pytest.approx(circuit.prob("when <= 2020-03-01"))
    with pytest.raises(ValueError, match="'soon' is not a date such as 2020-12-31"):
        circuit.prob("when > soon")
    with pytest.raises(ValueError, match="column 'when' holds dates"):
        circuit.prob({"when": datetime(2020, 3, 1, 12)})


def test_answers_are_dates(circuit: tr.Circuit) -> None:
    assert isinstance(circuit.mpe().row["when"], date)
    assert isinstance(circuit.marginals()["when"]["mean"], date)
    assert isinstance(circuit.expectation("when"), date)
    gaps = pd.DataFrame({"when": [pd.Timestamp("2020-05-01"), pd.NaT], "sunny": [True, False]})
    filled = circuit.impute(gaps)
    assert filled["when"].dtype.kind == "M"
    assert filled["when"][0] == pd.Timestamp("2020-05-01")
    assert circuit.sample(2).__class__ is pd.DataFrame
    drawn = tr.Independent().fit(pl.DataFrame({"when": DAYS})).sample(5, random_state=0)
    assert drawn["when"].dtype == pl.Date


def test_a_file_keeps_dates_and_json_has_iso_texts(circuit: tr.Circuit, tmp_path: Path) -> None:
    from tractable.cli.reports.json_text import to_json

    circuit.save(tmp_path / "m.tract")
    row = tr.load(tmp_path / "m.tract").mpe().row
    assert row == circuit.mpe().row
    assert date.fromisoformat(json.loads(to_json({"row": row}))["row"]["when"]) == row["when"]


def test_a_time_of_day_in_a_column_of_days_is_named(circuit: tr.Circuit) -> None:
    with pytest.raises(
        ValueError, match="row 1: column 'when' holds dates, but '2020-01-02T12:00:00' is not a whole day"
    ):
        circuit.log_prob({"when": [datetime(2020, 1, 1), datetime(2020, 1, 2, 12)], "sunny": [True, True]})


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict], ids=["pd", "pl", "pa", "dict"])
def test_parts_of_dates_become_columns(make: Any) -> None:
    frame = make({"when": [datetime(2020, 2, 29, 13), datetime(1969, 12, 31, 23)], "x": [1, 2]})
    parts = ("year", "quarter", "month", "day", "weekday", "hour")
    more = as_table(date_parts(frame, "when", parts))
    labels = [[v.label(c) for v, c in zip(more.schema, row, strict=True)][2:] for row in more.values]
    assert labels == [[2020, 1, 2, 29, "Sat", 13], [1969, 4, 12, 31, "Wed", 23]]


def test_parts_of_a_table_are_ordinal_and_missing_where_the_date_is() -> None:
    table = date_parts(as_table({"when": [*TIMES, None]}), "when", ("month", "weekday", "hour", "year"))
    assert [v.kind for v in table.schema] == ["datetime", "ordinal", "ordinal", "ordinal", "integer"]
    for i, (moment, row) in enumerate(zip(TIMES, table.values, strict=False)):
        expected = [moment.month - 1, moment.weekday(), moment.hour, moment.year]
        assert row[1:].tolist() == expected, i
    assert np.isnan(table.values[-1]).all()


def test_parts_of_what_is_no_date_are_refused() -> None:
    with pytest.raises(ValueError, match="column 'a' does not hold dates"):
        date_parts({"a": [1, 2]}, "a")
    with pytest.raises(ValueError, match="'minute' is not a part"):
        date_parts({"a": TIMES}, "a", ["minute"])
    with pytest.raises(ValueError, match="no column 'b'"):
        date_parts({"a": TIMES}, "b")
