"""Parquet and Arrow files."""

from collections.abc import Callable
from typing import Any

from tractable.data.layout import Layout
from tractable.data.source import Source


def read_parquet(source: Source, layout: Layout) -> Any:
    """The table in a Parquet file."""
    from pyarrow import parquet

    # `parquet.read_table` would import pandas, which takes longer than most files
    return _guarded(source, lambda file: parquet.ParquetFile(file).read())


def read_arrow(source: Source, layout: Layout) -> Any:
    """The table in an Arrow (Feather) file."""
    from pyarrow import feather

    return _guarded(source, feather.read_table)


def _guarded(source: Source, reader: Callable[[Any], Any]) -> Any:
    """The result of a reader of pyarrow; its errors are reported in one line."""
    import pyarrow as pa

    try:
        frame = reader(source.open())
        frame.validate(full=True)  # pyarrow trusts what a damaged file says of itself, and crashes
        frame.column_names  # noqa: B018 - which are decoded here
        return frame
    except UnicodeDecodeError:
        raise ValueError(f"{source}: a column name is not valid UTF-8") from None
    except (pa.ArrowException, OSError) as fault:
        words = (str(fault).splitlines() or [type(fault).__name__])[0]
        raise ValueError(f"{source}: {words}") from None
