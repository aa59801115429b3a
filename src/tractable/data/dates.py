"""Conversion of dates to numbers and back: days or seconds since the beginning of 1970 (UTC)."""

from datetime import date, datetime, timedelta
from typing import Literal, TypeAlias

import numpy as np

from tractable.base.arrays import Floats

Time: TypeAlias = Literal["date", "datetime"]
DAY = 86_400.0  # seconds
_EPOCH = datetime(1970, 1, 1)
_LAST = (datetime.max - _EPOCH).total_seconds() - 1.0  # Python knows the years 1 to 9999 only
_FIRST = (datetime.min - _EPOCH).total_seconds()

# Ways to write a date beside ISO 8601. Those that share a line are told apart by the column: one is taken
# only if the other cannot be, so that 03/04/2020 alone is no date.
_FORMATS: tuple[tuple[str, ...], ...] = (
    ("%Y/%m/%d",),
    ("%Y.%m.%d",),
    ("%d.%m.%Y",),
    ("%d %b %Y",),
    ("%d %B %Y",),
    ("%d-%b-%Y",),
    ("%b %d, %Y",),
    ("%B %d, %Y",),
    ("%m/%d/%Y", "%d/%m/%Y"),
    ("%m-%d-%Y", "%d-%m-%Y"),
)
_CLOCKS = ("", " %H:%M", " %H:%M:%S")


def moment_of(value: object) -> float | None:
    """The seconds since 1970 of a date, a time or an ISO text; None for other values."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else float(value.astype("datetime64[us]").astype(np.int64)) / 1e6
    if isinstance(value, datetime):
        # not by `astimezone`, which has no moments beyond the years 1 to 9999
        zone = (value.utcoffset() or timedelta()).total_seconds()
        return (value.replace(tzinfo=None) - _EPOCH).total_seconds() - zone
    if isinstance(value, date):
        return (datetime(value.year, value.month, value.day) - _EPOCH).total_seconds()
    return None


def label_of(code: float, kind: Time) -> date | datetime:
    """The date or time of a table's number; dates outside the years 1 to 9999 are clipped."""
    seconds = min(max(float(np.rint(code)) * DAY if kind == "date" else code, _FIRST), _LAST)
    moment = _EPOCH + timedelta(seconds=round(seconds, 6))
    return moment.date() if kind == "date" else moment


def iso_text(code: float, kind: Time) -> str:
    """The ISO text of a table's number."""
    return label_of(code, kind).isoformat()


def text_moments(texts: tuple[str, ...]) -> Floats | None:
    """The seconds since 1970 of texts that are all dates of one format, or None."""
    if not texts or not all(_may_be_date(text) for text in texts[:5]):
        return None
    moments = _iso_moments(texts)
    if moments is None:
        moments = next(filter(None, (_read_alike(texts, f, c) for f in _FORMATS for c in _CLOCKS)), None)
    return None if moments is None else np.array(moments)


def has_zone(text: str) -> bool:
    """Whether an ISO text names a time zone."""
    try:
        return datetime.fromisoformat(text.strip()).tzinfo is not None
    except ValueError:
        return False


def looks_like_date(text: str) -> bool:
    """Whether a text has the form of a date, such as 3/4/2020 or 2020-02-30."""
    parts = text.strip().replace("/", "-").replace(".", "-").split("-")
    return len(parts) == 3 and all(p[:2].strip().isdigit() for p in parts) and _may_be_date(text)


def _may_be_date(text: str) -> bool:
    return 8 <= len(text.strip()) <= 40 and sum(c.isdigit() for c in text) >= 5


def _iso_moments(texts: tuple[str, ...]) -> list[float] | None:
    if not all(text.strip()[4:5] == "-" for text in texts[:5]):
        return None
    moments = [moment_of(text) for text in texts]
    return None if None in moments else moments  # type: ignore[return-value]


def _read_alike(texts: tuple[str, ...], formats: tuple[str, ...], clock: str) -> list[float] | None:
    """The times of texts in the only format of several that parses all of them."""
    readings = [reading for f in formats if (reading := _read_as(texts, f + clock)) is not None]
    return readings[0] if len(readings) == 1 else None


def _read_as(texts: tuple[str, ...], form: str) -> list[float] | None:
    moments = []
    for text in texts:
        try:
            moments.append((datetime.strptime(text.strip(), form) - _EPOCH).total_seconds())
        except ValueError:
            return None
    return moments
