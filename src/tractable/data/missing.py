"""Markers of missing cells in columns of text, and the types of their other cells."""

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from tractable.data.codes import holds_codes

WEAK_MISSING = ("-", "--", ".")  # missing in a column of numbers or dates, which may be categories elsewhere


def text_array(texts: Iterable[str]) -> Any:
    """An arrow array of texts, created without `pa.array`, which would import pandas."""
    import pyarrow as pa

    raw = [text.encode("utf-8", "replace") for text in texts]
    ends = np.cumsum([0, *map(len, raw)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(raw), pa.py_buffer(ends), pa.py_buffer(b"".join(raw)))


def without_marks(frame: Any, marks: Iterable[str], texts_stay: Collection[str]) -> Any:
    """The arrow table in which texts that are markers are missing; numbers are compared later.

    A column of text with only numbers or dates besides markers is converted, unless it is declared as text.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    texts = text_array(marks)
    for i, field in enumerate(frame.schema):
        column, kind = frame.column(i), field.type
        if types.is_string(kind) or types.is_large_string(kind):
            known = pc.is_in(column.cast(pa.string()), texts)
            if pc.any(known).as_py():
                rest = pc.if_else(known, None, column)
                is_open = types.is_string(kind) and field.name not in texts_stay
                frame = frame.set_column(i, field.name, typed(rest, rest) if is_open else rest)
    return frame


def typed(texts: Any, otherwise: Any) -> Any:
    """A column of text as numbers or dates if all its cells are and none is a code; otherwise `otherwise`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    distinct = pc.unique(texts).drop_null()
    if len(distinct) and not holds_codes(distinct):
        for kind in (pa.int64(), pa.float64(), pa.timestamp("us")):
            if _is_castable(distinct, kind):
                return texts.cast(kind)
    return otherwise


def _is_castable(texts: Any, kind: Any) -> bool:
    import pyarrow as pa

    try:
        texts.cast(kind)
    except pa.ArrowInvalid:
        return False
    return True
