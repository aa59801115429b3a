"""Columns of text that are numbers: `$12`, `12 kg`, `12 %`, `1,234`, `1.234,5` or `1 234`.

A column is read as numbers if all its cells are numbers with the same currency or unit, or with none. The
unit is left out and nothing is rescaled: `12 %` is 12. Whether the point or the comma is the decimal point is
decided by the cells of the column, or else by other columns of the table; a column that can be read in two
ways stays text. Each column that is read so, or could be, gets a line of warning.
"""

from dataclasses import dataclass
from typing import Any

from tractable.data.caution import caution
from tractable.data.layout import Layout
from tractable.data.marks import WEAK_MISSING, text_array

_BLANKS = "\u00a0\u202f\u2009"  # that stand between thousands
_MINUS = "\u2212"
_APOSTROPHE = "\u2019"
_SPACE = rf"[\s{_BLANKS}]*"
_LETTER = r"\p{L}" + "\u00b0"  # a unit begins with one
_UNIT = rf"[{_LETTER}][{_LETTER}\d/%^." + "\u00b2\u00b3\u00b7" + r"]{0,15}"
_PATTERN = (
    rf"^{_SPACE}(?P<sign>[-+{_MINUS}]?){_SPACE}(?P<before>(?:[A-Z]{{0,3}}\p{{Sc}}|[A-Z]{{3}}|Rs\.?)?)"
    rf"{_SPACE}(?P<inner>[-{_MINUS}]?)"
    rf"(?P<number>[.,]?\d(?:[\d.,' {_APOSTROPHE}{_BLANKS}]*\d)?(?:[eE][-+]?\d+)?)"
    rf"{_SPACE}(?P<after>(?:%|" + "\u2030" + rf"|\p{{Sc}}|{_UNIT})?){_SPACE}$"
)
_CURRENCIES = (
    "AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD HUF IDR ILS INR JPY KRW MXN MYR NOK NZD PHP PLN RON RUB SEK SGD"
    " THB TRY UAH USD VND ZAR"
)
_SHORT_UNITS = frozenset("gmlLhstWVJNd")  # another single letter behind a number is more likely a label
_NO_UNITS = (
    " st nd rd th am pm a.m. p.m. jan feb mar apr may jun jul aug sep sept oct nov dec january february march"
    " april june july august september october november december mon tue wed thu fri sat sun "
)
_FIRST = 100  # distinct cells that are looked at first


@dataclass(frozen=True, slots=True)
class Numeral:
    """How the distinct cells of a column can be read as numbers."""

    cells: Any  # the distinct cells, of text
    before: str  # a currency
    after: str  # a currency, a percent sign or a unit
    readings: dict[str, Any]  # the numbers, by the decimal point that makes them so
    marks: frozenset[str]  # commas, points, blanks and apostrophes within the numbers

    @property
    def is_plain(self) -> bool:
        """Whether these are ordinary numbers, which somebody may have good reason to hold as text."""
        return not (self.before or self.after) and self.marks <= {"."} and "." in self.readings

    def is_grouped(self, point: str) -> bool:
        """Whether something stands between thousands if `point` is the decimal point."""
        return bool(self.marks - {point})

    @property
    def is_settled(self) -> bool:
        """Whether the cells alone say which number each of them is."""
        found = list(self.readings.values())
        return len(found) == 1 or found[0].equals(found[1])


def with_numerals(frame: Any, layout: Layout, decimal: str | None, sep: str | None = None) -> Any:
    """The table with its columns of numerals as numbers. `decimal` is the decimal point of doubtful ones.

    Raises:
        ValueError: if a column that is known to hold numbers has a unit, and a cell that is none.
    """
    import pyarrow.compute as pc

    for i, name in _columns_of_text(frame, layout):
        found = read_numeral(frame.column(i))
        if found is None and name in layout.numbers:
            _refuse_odd_cell(name, frame.column(i))
        if found is None or (found.is_plain and (decimal != "," or found.is_settled)):
            continue
        point = _choose_point(found, decimal, sep)
        if point is None:
            _tell_doubt(name, found)
            continue
        _tell_reading(name, found, point, sep)
        at = pc.index_in(frame.column(i), found.cells)
        frame = frame.set_column(i, name, pc.take(found.readings[point], at))
    return frame


def find_decimal(frame: Any, layout: Layout) -> str | None:
    """The decimal point of the columns that have only one reading; None if they have none, or several."""
    points = set()
    for i, _ in _columns_of_text(frame, layout):
        found = read_numeral(frame.column(i))
        if found is not None and len(found.readings) == 1 and not found.is_plain:
            points |= set(found.readings)
    return points.pop() if len(points) == 1 else None


def _columns_of_text(frame: Any, layout: Layout) -> list[tuple[int, str]]:
    """The places and names of the columns that may be numerals."""
    return [
        (i, field.name)
        for i, field in enumerate(frame.schema)
        if str(field.type) in ("string", "large_string", "string_view") and layout.may_be_numbers(field.name)
    ]


def _choose_point(found: Numeral, decimal: str | None, sep: str | None) -> str | None:
    """The decimal point that a column has; None if nothing tells."""
    points = list(found.readings)
    if found.is_settled:
        return points[0]
    if decimal is not None:
        return decimal
    if "," not in found.marks:  # as in a column of plain numbers
        return "."
    return "," if sep == ";" else None  # a separator that is used because commas are decimal points


def read_numeral(texts: Any) -> Numeral | None:
    """How a column of text can be read as numbers; None if it cannot."""
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = pc.unique(texts).drop_null().cast(pa.string())
    cells = cells.filter(pc.invert(pc.is_in(cells, text_array(WEAK_MISSING))))
    for some in (cells[:_FIRST], cells):
        parts = pc.extract_regex(some, _PATTERN)
        if not len(some) or parts.null_count:
            return None
    fields = {name: parts.field(name) for name in ("sign", "before", "inner", "number", "after")}
    before, after = (pc.unique(fields[name]).to_pylist() for name in ("before", "after"))
    if len(before) > 1 or len(after) > 1 or not _are_units(before[0], after[0]):
        return None
    numbers = _with_usual_marks(fields["number"])
    readings = {}
    for point in (".", ","):
        plain = _plain_numbers(numbers, point)
        if plain is not None:
            readings[point] = _signed(plain, fields["sign"], fields["inner"])
    if not readings:
        return None
    marks = frozenset(mark for mark in ",. '" if pc.any(pc.match_substring(numbers, mark)).as_py())
    return Numeral(cells, before[0], after[0], readings, marks)


def _refuse_odd_cell(name: str, texts: Any) -> None:
    """Refuse the first cell that is no number in a column of numbers that have a unit.

    Raises:
        ValueError: naming its row.
    """
    import pyarrow.compute as pc

    found = read_numeral(texts.filter(pc.match_substring_regex(texts, _PATTERN)))
    if found is None or found.is_plain:
        return
    row = next(i for i, cell in enumerate(texts.to_pylist()) if cell is not None and not _is_numeral(cell))
    raise ValueError(f"row {row}: column '{name}' holds numbers: {texts[row].as_py()!r} is none")


def _is_numeral(cell: str) -> bool:
    return cell in WEAK_MISSING or read_numeral(text_array([cell])) is not None


def _are_units(before: str, after: str) -> bool:
    """Whether what stands around a number is a currency or a unit, rather than a part of a name."""
    if before[:1].isalpha() and before[-1:].isalpha() and before not in (*_CURRENCIES.split(), "Rs", "Rs."):
        return False
    if len(after) == 1 and after.isalpha():
        return after in _SHORT_UNITS
    return after.lower() not in _NO_UNITS.split()


def _with_usual_marks(numbers: Any) -> Any:
    """Numbers with ordinary blanks and apostrophes."""
    import pyarrow.compute as pc

    return pc.replace_substring_regex(pc.replace_substring(numbers, _APOSTROPHE, "'"), f"[{_BLANKS}]", " ")


def _plain_numbers(numbers: Any, point: str) -> Any | None:
    """The numbers as doubles if `point` is the decimal point and one other mark separates thousands."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for mark in ("," if point == "." else ".", " ", "'"):
        whole = rf"(?:0|[1-9]\d*|[1-9]\d{{0,2}}(?:[{mark}]\d{{3}})+)"
        form = rf"^(?:{whole}?[{point}]\d+|{whole})(?:[eE][-+]?\d+)?$"
        if pc.all(pc.match_substring_regex(numbers, form)).as_py():
            return pc.replace_substring(pc.replace_substring(numbers, mark, ""), point, ".").cast(
                pa.float64()
            )
    return None


def _signed(numbers: Any, *signs: Any) -> Any:
    import pyarrow.compute as pc

    for sign in signs:
        numbers = pc.if_else(pc.is_in(sign, text_array(["-", _MINUS])), pc.negate(numbers), numbers)
    return numbers


def _tell_reading(name: str, found: Numeral, point: str, sep: str | None) -> None:
    """Tell how a column is read, unless it has nothing but the decimal commas of its file."""
    has_unit = bool(found.before or found.after)
    if sep not in (None, ",") and not has_unit and not found.is_grouped(point):
        return
    example, number = found.cells[0].as_py(), found.readings[point][0].as_py()
    caution(
        f"column '{name}' is read as numbers: {example!r} is {number:.15g}; if it is text, say so"
        f" (kinds={{'{name}': 'categorical'}}, --kinds {name}=categorical)"
    )


def _tell_doubt(name: str, found: Numeral) -> None:
    first, second = found.readings["."], found.readings[","]
    row = next(i for i in range(len(first)) if first[i] != second[i])
    values = " or ".join(f"{one[row].as_py():.15g}" for one in (first, second))
    caution(
        f"column '{name}' stays text: {found.cells[row].as_py()!r} is {values}; say which character is the"
        " decimal point (decimal='.', --decimal .)"
    )
