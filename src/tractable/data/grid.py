"""Columns with places in a grid, such as the pixels of an image."""

import re
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Ints
from tractable.data.schema import Schema
from tractable.data.table import Table, mark_distinct


class Grid(NamedTuple):
    """The places of the columns of a schema in a grid."""

    columns: Ints  # (height, width) the column of each cell; -1 where the schema has none

    def half(self, side: str) -> Bools:
        """The cells of one half: left, right, top or bottom. Shape (height, width).

        Raises:
            ValueError: if there is no such half.
        """
        height, width = self.columns.shape
        row, column = np.indices((height, width))
        halves = {"left": column < width // 2, "right": column >= width - width // 2}
        halves |= {"top": row < height // 2, "bottom": row >= height - height // 2}
        if side not in halves:
            raise ValueError(f"a half must be one of {', '.join(halves)}, not {side!r}")
        return np.asarray(halves[side])


def grid_of(schema: Schema) -> Grid | None:
    """The grid of the columns of a schema, or None if no column has a place."""
    placed = [(v.place, number) for number, v in enumerate(schema) if v.place is not None]
    if not placed:
        return None
    height, width = (max(place[side] for place, _ in placed) + 1 for side in (0, 1))
    columns = np.full((height, width), -1, dtype=np.int64)
    for place, number in placed:
        columns[place] = number
    return Grid(columns)


def with_grid(schema: Schema, size: Sequence[int], names: Sequence[Hashable] | None = None) -> Schema:
    """The schema whose columns have places in a grid of (height, width), row by row.

    These are the named columns or, by default, the first ones, so the last column may be a class.

    Raises:
        ValueError: if there are fewer columns than cells.
    """
    height, width = (int(side) for side in size)
    cells = height * width
    chosen = list(range(len(schema)))[:cells] if names is None else schema.columns(names)
    if height < 1 or width < 1 or len(chosen) != cells:
        raise ValueError(
            f"a grid of {height} x {width} has {cells} cells, but there are {len(chosen)} columns for it"
        )
    places: dict[int, tuple[int, int] | None] = {
        column: (number // width, number % width) for number, column in enumerate(chosen)
    }
    return Schema(tuple(replace(v, place=places.get(number)) for number, v in enumerate(schema)))


def table_with_grid(table: Table, size: Sequence[int]) -> Table:
    """The table whose first columns have places in a grid of (height, width)."""
    placed = Table(with_grid(table.schema, size), table.values, table.weights, table.unseen)
    return mark_distinct(placed) if table.has_distinct_rows else placed


def parse_grid(text: str) -> tuple[int, int]:
    """Height and width in a text such as `8x8`.

    Raises:
        ValueError: if the text has another form.
    """
    match = re.fullmatch(r"\s*(\d+)\s*[xX×]\s*(\d+)\s*", text)
    if match is None:
        raise ValueError(f"a grid must be written as height x width, such as 8x8, not {text!r}")
    return int(match[1]), int(match[2])
