"""Columns of text that represent numbers: `$12`, `12 kg`, `12 %`, `1,234`, `1.234,5` or `1 234`.

A column is read as numbers if all its cells are numbers with the same currency or unit, or with none. The
unit is removed and nothing is rescaled: `12 %` is 12. The decimal point is decided by the cells of the
column, or else by other columns of the table; ambiguous columns are text. Each such column gets a line of
warning.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from tractable.data.layout import Layout
from tractable.data.missing import WEAK_MISSING, text_array
from tractable.data.problems import caution

_BLANKS = "\u00a0\u202f\u2009"  # that stand between thousands
_MINUS = "\u2212"
_APOSTROPHE = "\u2019"
_USUAL = str.maketrans({_APOSTROPHE: "'", **dict.fromkeys(_BLANKS, " ")})
_SIGNS = "$\u00a2-\u00a5\u20a0-\u20cf"  # of currencies
_PATTERN = re.compile(
    rf"\s*(?P<sign>[-+{_MINUS}]?)\s*(?P<before>(?:[A-Z]{{0,3}}[{_SIGNS}]|[A-Z]{{3}}|Rs\.?)?)"
    rf"\s*(?P<inner>[-{_MINUS}]?)"
    rf"(?P<number>[.,]?[0-9](?:[0-9.,' {_APOSTROPHE}{_BLANKS}]*[0-9])?(?:[eE][-+]?[0-9]+)?)"
    rf"\s*(?P<after>(?:[%\u2030{_SIGNS}]|(?:\u00b0|[^\W\d_])[\w\u00b0\u00b2\u00b3\u00b7/%^.]{{0,15}})?)\s*",
)
_LONGEST = 60  # letters of a cell that is a number
_FIRST = 50  # distinct cells that are looked at first
_CURRENCIES = (
    "AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD HUF IDR ILS INR JPY KRW MXN MYR NOK NZD PHP PLN RON RUB SEK SGD"
    " THB TRY UAH USD VND ZAR"
)
_SHORT_UNITS = frozenset("gmlLhstWVJNd")  # another single letter behind a number is more likely a label
_NO_UNITS = (
    " st nd rd th am pm a.m. p.m. jan feb mar apr may jun jul aug sep sept oct nov dec january february march"
    " april june july august september october november december mon tue wed thu fri sat sun "
)


@dataclass(frozen=True, slots=True)
class Numeral:
    """The possible readings of the distinct cells of a column as numbers."""

    cells: list[str]  # the distinct cells
    before: str  # a currency
    after: str  # a currency, a percent sign or a unit
    readings: dict[str, list[float]]  # the numbers, by the decimal point that makes them so
    marks: frozenset[str]  # commas, points, blanks and apostrophes within the numbers

    @property
    def is_plain(self) -> bool:
        """Whether these are ordinary numbers, which may be text for a good reason."""
        return not (self.before or self.after) and self.marks <= {"."} and "." in self.readings

    def is_grouped(self, point: str) -> bool:
        """Whether there are thousands separators if `point` is the decimal point."""
        return bool(self.marks - {point})

    @property
    def is_settled(self) -> bool:
        """Whether the cells alone determine the decimal point."""
        readings = list(self.readings.values())
        return len(readings) == 1 or readings[0] == readings[1]


def with_numerals(frame: Any, layout: Layout, decimal: str | None, sep: str | None = None) -> Any:
    """The table with its columns of numerals as numbers; `decimal` resolves ambiguous columns.

    Raises:
        ValueError: if a column that is known to be numeric has a unit and a cell that is not a number.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for i, name in _columns_of_text(frame, layout):
        numeral = read_numeral(frame.column(i))
        if numeral is None and name in layout.numbers:
            _refuse_odd_cell(name, frame.column(i))
        if numeral is None or (numeral.is_plain and (decimal != "," or numeral.is_settled)):
            continue
        point = _choose_point(numeral, decimal, sep)
        if point is None:
            _tell_doubt(name, numeral)
            continue
        _tell_reading(name, numeral, point, sep)
        at = pc.index_in(frame.column(i).cast(pa.string()), text_array(numeral.cells))
        numbers = pc.take(pa.array(numeral.readings[point], pa.float64()), at)
        frame = frame.set_column(i, name, numbers)
    return frame


def find_decimal(frame: Any, layout: Layout) -> str | None:
    """The decimal point of the unambiguous columns; None if there are none, or they disagree."""
    points = set()
    for i, _ in _columns_of_text(frame, layout):
        numeral = read_numeral(frame.column(i))
        if numeral is not None and len(numeral.readings) == 1 and not numeral.is_plain:
            points |= set(numeral.readings)
    return points.pop() if len(points) == 1 else None


def _columns_of_text(frame: Any, layout: Layout) -> list[tuple[int, str]]:
    """The positions and names of the columns that may be numerals."""
    return [
        (i, field.name)
        for i, field in enumerate(frame.schema)
        if str(field.type) in ("string", "large_string", "string_view") and layout.may_be_numbers(field.name)
    ]


def _choose_point(numeral: Numeral, decimal: str | None, sep: str | None) -> str | None:
    """The decimal point of a column, or None if it is ambiguous."""
    points = list(numeral.readings)
    if numeral.is_settled:
        return points[0]
    if decimal is not None:
        return decimal
    if "," not in numeral.marks:  # as in a column of plain numbers
        return "."
    return "," if sep == ";" else None  # a separator that is used because commas are decimal points


def read_numeral(texts: Any) -> Numeral | None:
    """The readings of an arrow column of text as numbers, or None."""
    import pyarrow.compute as pc

    distinct = pc.unique(texts)
    if _matches(distinct[:_FIRST]) is None:
        return None
    parts = _matches(distinct)
    if not parts or not _are_units(parts[0]["before"], parts[0]["after"]):
        return None
    numbers = [match["number"].translate(_USUAL) for match in parts]
    signs = [-1.0 if {match["sign"], match["inner"]} & {"-", _MINUS} else 1.0 for match in parts]
    readings = {}
    for point in (".", ","):
        sizes = _sizes(numbers, point)
        if sizes is not None:
            readings[point] = [sign * size + 0.0 for sign, size in zip(signs, sizes, strict=True)]
    marks = frozenset(mark for mark in ",. '" if any(mark in number for number in numbers))
    cells = [match.string for match in parts]
    return Numeral(cells, parts[0]["before"], parts[0]["after"], readings, marks) if readings else None


def _matches(cells: Any) -> list[re.Match[str]] | None:
    """The parts of all cells except weak markers, if these are numbers with equal affixes."""
    matches: list[re.Match[str]] = []
    for cell in cells.to_pylist():
        if cell is None or cell in WEAK_MISSING:
            continue
        match = _PATTERN.fullmatch(cell) if len(cell) <= _LONGEST else None
        if match is None or (
            matches and match.group("before", "after") != matches[0].group("before", "after")
        ):
            return None
        matches.append(match)
    return matches


def _refuse_odd_cell(name: str, texts: Any) -> None:
    """Refuse the first cell that is not a number in a column of numbers with units.

    Raises:
        ValueError: naming its row.
    """
    cells = texts.to_pylist()
    odd = [i for i, cell in enumerate(cells) if cell is not None and not _is_numeral(cell)]
    numeral = read_numeral(text_array(c for c in cells if c is not None and _is_numeral(c)))
    if odd and numeral is not None and not numeral.is_plain:
        raise ValueError(
            f"row {odd[0]}: column '{name}' holds numbers, but {cells[odd[0]]!r} is not a number"
        )


def _is_numeral(cell: str) -> bool:
    return cell in WEAK_MISSING or _PATTERN.fullmatch(cell[: _LONGEST + 1]) is not None


def _are_units(before: str, after: str) -> bool:
    """Whether the affixes of a number are a currency or a unit, rather than a part of a name."""
    if before[:1].isalpha() and before[-1:].isalpha() and before not in (*_CURRENCIES.split(), "Rs", "Rs."):
        return False
    if len(after) == 1 and after.isalpha():
        return after in _SHORT_UNITS
    return after.lower() not in _NO_UNITS.split()


def _sizes(numbers: list[str], point: str) -> list[float] | None:
    """The absolute values if `point` is the decimal point and one other character separates thousands."""
    for mark in ("," if point == "." else ".", " ", "'"):
        form = _form(point, mark)
        if all(map(form.fullmatch, numbers)):
            return [float(number.replace(mark, "").replace(point, ".")) for number in numbers]
    return None


@cache
def _form(point: str, mark: str) -> re.Pattern[str]:
    whole = rf"(?:0|[1-9][0-9]*|[1-9][0-9]{{0,2}}(?:[{mark}][0-9]{{3}})+)"
    return re.compile(rf"(?:{whole}?[{point}][0-9]+|{whole})(?:[eE][-+]?[0-9]+)?")


def _tell_reading(name: str, numeral: Numeral, point: str, sep: str | None) -> None:
    """Report the reading of a column, unless it only has the decimal commas of its file."""
    has_unit = bool(numeral.before or numeral.after)
    if sep not in (None, ",") and not has_unit and not numeral.is_grouped(point):
        return
    example, number = numeral.cells[0], numeral.readings[point][0]
    caution(
        f"column '{name}' is read as numbers: {example!r} is {number:.15g}; if it is text, declare it as"
        f" such (kinds={{'{name}': 'categorical'}}, --kinds {name}=categorical)"
    )


def _tell_doubt(name: str, numeral: Numeral) -> None:
    first, second = numeral.readings["."], numeral.readings[","]
    row = next(i for i in range(len(first)) if first[i] != second[i])
    values = " or ".join(f"{one[row]:.15g}" for one in (first, second))
    caution(
        f"column '{name}' is read as text: {numeral.cells[row]!r} may be {values}; specify the decimal point"
        " (decimal='.', --decimal .)"
    )
