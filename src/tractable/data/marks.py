"""Marks of missing cells in columns that are no text any more."""

from collections.abc import Iterable
from typing import Any


def without_marks(frame: Any, marks: Iterable[str]) -> Any:
    """The arrow table in which cells that are a mark are missing: a text, or a number as it is written.

    So `-999` is missing also where it stands as -999.0, and in files whose numbers are no text.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    texts = pa.array(marks, pa.string())
    numbers = pa.array(_numbers(texts.to_pylist()), pa.float64())
    for i, field in enumerate(frame.schema):
        column, known = frame.column(i), None
        if types.is_integer(field.type) or types.is_floating(field.type) or types.is_decimal(field.type):
            known = pc.is_in(column.cast(pa.float64(), safe=False), numbers) if len(numbers) else None
        elif types.is_string(field.type) or types.is_large_string(field.type):
            known = pc.is_in(column, texts.cast(field.type)) if len(texts) else None
        if known is not None and pc.any(known).as_py():
            frame = frame.set_column(i, field.name, pc.if_else(known, None, column))
    return frame


def _numbers(marks: list[str]) -> list[float]:
    found = []
    for mark in marks:
        try:
            found.append(float(mark))
        except ValueError:
            continue
    return found
