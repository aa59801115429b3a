"""Files of comma-separated integers without a header (`.data`), the format of the benchmark data sets."""

from dataclasses import dataclass

import numpy as np

from tractable.base.arrays import Floats
from tractable.data.columns import Column, LabelColumn, NumericColumn
from tractable.data.encodings import as_utf8
from tractable.data.schema import Schema, Variable, discrete_schema
from tractable.data.source import Source

LARGEST_STATE = 65_535  # states are numbered from 0: a larger number is no state but a mistake


@dataclass(frozen=True, slots=True, eq=False)
class Integers:
    """The content of a `.data` file."""

    values: Floats  # (rows, columns), NaN where missing
    weights: Floats | None  # (rows,)


def read_integers(source: Source) -> Integers:
    """The numbers and weights of a file.

    Raises:
        ValueError: naming the line that is ragged, or has a cell that is not an integer.
    """
    raw = as_utf8(source.read(), source.name)
    first = raw.lstrip().split(b"\n", 1)[0]
    weighted = b"|" in first
    digits = None if weighted else _single_digits(raw, first.count(b",") + 1)
    if digits is not None:
        return Integers(digits, None)
    from tractable.data.kernels import NO_FAULT, parse_integers

    text = np.frombuffer(raw, dtype=np.uint8)
    columns = first.rpartition(b"|")[2].count(b",") + 1  # a weight is no cell
    values = np.empty((raw.count(b"\n") + 1, columns))
    rows, fault, place = parse_integers(text, weighted, values)
    if fault != NO_FAULT:
        raise ValueError(f"{source}, {_explain_fault(raw, fault, place, values.shape[1])}")
    return Integers(values[:rows], _weights(source, raw) if weighted else None)


def _single_digits(raw: bytes, columns: int) -> Floats | None:
    """The rows of a text in which each cell is a single digit and no cell is missing, or None.

    Most files have this form, and parsing them in this way needs no compiled code.
    """
    text = np.frombuffer(raw if raw.endswith(b"\n") else raw + b"\n", dtype=np.uint8)
    if text.size % (2 * columns):
        return None
    cells = text.reshape(-1, columns, 2)
    digits, marks = cells[:, :, 0] - np.uint8(ord("0")), cells[:, :, 1]  # what is no digit becomes large
    is_plain = (marks[:, :-1] == ord(",")).all() and (marks[:, -1] == ord("\n")).all() and (digits <= 9).all()
    return digits.astype(np.float64) if is_plain else None


def _explain_fault(raw: bytes, fault: int, place: int, columns: int) -> str:
    """A one-line description of the error at a position of the text."""
    from tractable.data.kernels import NO_WEIGHT, NOT_A_NUMBER

    start = raw.rfind(b"\n", 0, place) + 1
    content = raw[start:].split(b"\n", 1)[0].decode(errors="replace").rstrip("\r")
    line = raw.count(b"\n", 0, place) + 1
    if fault == NO_WEIGHT:
        return f"line {line}: no weight before a '|', as the first line has"
    if fault == NOT_A_NUMBER:
        first = max(start, raw.rfind(b"|", start, place) + 1)  # behind the weight
        column = raw.count(b",", first, place)
        cell = raw[first:].split(b"\n", 1)[0].split(b",")[column].decode(errors="replace").strip()
        return f"line {line}, column {column + 1}: {cell!r} is not a whole number from 0 up, '*' or '?'"
    cells = content.rpartition("|")[2].count(",") + 1
    return f"line {line}: {cells} cells instead of {columns}"


def _weights(source: Source, raw: bytes) -> Floats:
    weights: list[float] = []
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if line.strip():
            cell = line.partition(b"|")[0]
            try:
                weights.append(float(cell))
            except ValueError:
                words = cell.decode(errors="replace")
                raise ValueError(f"{source}, line {number}: the weight {words!r} is not a number") from None
    return np.array(weights)


def plain_schema(source: Source, values: Floats) -> Schema:
    """The schema of numbered states: the largest number of each column plus one, at least two.

    Raises:
        ValueError: if a number is too large to be a state.
    """
    with np.errstate(invalid="ignore"):
        top = np.nan_to_num(np.fmax.reduce(values, axis=0), nan=1.0)
    if top.max() > LARGEST_STATE:
        column = int(top.argmax())
        raise ValueError(f"{source}, column {column + 1}: {top[column]:g} is too large for a state number")
    return discrete_schema(np.maximum(top.astype(np.int64) + 1, 2))


def integer_column(values: Floats, variable: Variable) -> Column:
    """A column of a file for a variable: states, or state numbers if no state is an integer."""
    if variable.is_categorical and not any(str(s).lstrip("-").isdigit() for s in variable.states):
        outside = values >= variable.cardinality
        if outside.any():
            row = int(np.argmax(outside))
            count = variable.cardinality
            raise ValueError(
                f"row {row}: column '{variable.name}' has {count} states, so {values[row]:g} is not a state"
                " number"
            )
        return LabelColumn(values, variable.states)
    return NumericColumn(values)
