"""Answers about images: columns that lie in a grid are drawn as pictures.

A sheet is a list of lines of images. Images are (height, width) arrays of numbers, NaN where a cell is not
known; those are drawn in colour.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tractable.base.arrays import Bytes, Floats
from tractable.circuit import Graph
from tractable.data import Evidence, Grid, Schema, Variable, grid_of
from tractable.formats.pictures import write_png
from tractable.queries import marginals, most_probable, sample

UNKNOWN = (70, 105, 160)  # the colour of cells that are not known
PAPER = 255
GAP = 2  # pixels between images, before they are enlarged
SIDE = 64  # pixels that a small image is enlarged to, at least


@dataclass(frozen=True, slots=True, eq=False)
class Completions:
    """Images of which a part was hidden and completed, each (images, height, width)."""

    original: Floats
    evidence: Floats  # NaN where it was hidden
    mode: Floats  # the most probable completion by max-product
    mean: Floats  # the posterior mean of each cell

    def squared_errors(self) -> tuple[float, float]:
        """The mean squared errors of the hidden cells, by the mode and by the mean."""
        hidden = np.isnan(self.evidence) & ~np.isnan(self.original)
        mode, mean = (float(((p - self.original)[hidden] ** 2).mean()) for p in (self.mode, self.mean))
        return mode, mean


def require_grid(schema: Schema) -> Grid:
    """The grid of a schema.

    Raises:
        ValueError: if its columns lie in none.
    """
    grid = grid_of(schema)
    if grid is None:
        raise ValueError(
            "the columns of the model have no grid: give it with --grid HEIGHTxWIDTH, or grid=(8, 8)"
        )
    return grid


def images_of(schema: Schema, grid: Grid, rows: Floats) -> Floats:
    """The images in coded rows. Shape (rows, height, width)."""
    numbers = np.stack([_numbers(v, rows[:, c]) for c, v in enumerate(schema)], axis=1)
    return _placed(grid, numbers)


def mean_images(graph: Graph, grid: Grid, rows: Floats) -> Floats:
    """The posterior mean of each cell given each row. Shape (rows, height, width)."""
    means = []
    for variable, posterior in zip(graph.schema, marginals(graph, rows), strict=True):
        codes = np.arange(variable.cardinality, dtype=np.float64)
        means.append(posterior @ _numbers(variable, codes) if variable.is_categorical else posterior[:, 0])
    return _placed(grid, np.stack(means, axis=1))


def complete_images(graph: Graph, rows: Floats, side: str) -> Completions:
    """The images of rows, and what the model makes of them if one half is hidden: left, right, top, bottom.

    Raises:
        ValueError: if the columns lie in no grid, or there is no such half.
    """
    grid = require_grid(graph.schema)
    hidden = grid.columns[grid.half(side) & (grid.columns >= 0)]
    given = rows.copy()
    given[:, hidden] = np.nan
    mode = most_probable(graph, given, method="max-product").rows
    original, evidence, best = (images_of(graph.schema, grid, some) for some in (rows, given, mode))
    return Completions(original, evidence, best, mean_images(graph, grid, given))


def model_sheet(graph: Graph, given: Evidence, count: int, seed: int) -> list[Floats]:
    """What a model believes given evidence: its mean and mode in one line, and samples in the next."""
    grid = require_grid(graph.schema)
    row = given.row[None, :]
    mode = most_probable(graph, row, given.regions, method="max-product").rows
    beliefs = np.concatenate([mean_images(graph, grid, row), images_of(graph.schema, grid, mode)])
    drawn = sample(graph, count, given, seed) if count else np.zeros((0, len(graph.schema)))
    return [beliefs, images_of(graph.schema, grid, drawn)] if count else [beliefs]


def completion_sheet(completions: Completions) -> list[Floats]:
    """Four lines: the originals, the evidence, the most probable completions and the posterior means."""
    return [completions.original, completions.evidence, completions.mode, completions.mean]


def save_sheet(path: Path, lines: Sequence[Floats], limits: tuple[float, float] | None = None) -> None:
    """Save lines of images as a .png file.

    `limits` are the numbers that are drawn black and white: those of the first line, unless given.
    """
    low, high = limits or (float(np.nanmin(lines[0])), float(np.nanmax(lines[0])))
    height, width = lines[0].shape[1:]
    columns = max(len(line) for line in lines)
    size = (len(lines) * (height + GAP) - GAP, columns * (width + GAP) - GAP, 3)
    sheet = np.full(size, PAPER, dtype=np.uint8)
    for i, line in enumerate(lines):
        for j, image in enumerate(line):
            top, left = i * (height + GAP), j * (width + GAP)
            sheet[top : top + height, left : left + width] = _coloured(image, low, high)
    times = max(1, -(-SIDE // max(height, width)))
    write_png(path, sheet.repeat(times, axis=0).repeat(times, axis=1))


def _coloured(image: Floats, low: float, high: float) -> Bytes:
    """An image in red, green and blue. Shape (height, width, 3)."""
    grey = np.clip((np.nan_to_num(image, nan=low) - low) / ((high - low) or 1.0), 0.0, 1.0)
    pixels = np.repeat(np.rint(255 * grey).astype(np.uint8)[:, :, None], 3, axis=2)
    pixels[np.isnan(image)] = UNKNOWN
    return pixels


def _numbers(variable: Variable, codes: Floats) -> Floats:
    """What the cells of a column are drawn as: numbers, or the places of text states."""
    if not variable.is_categorical or variable.has_text_states:
        return codes
    states = np.array([float(s) for s in variable.states])
    seen = ~np.isnan(codes)
    return np.where(seen, states[np.where(seen, codes, 0.0).astype(np.int64)], np.nan)


def _placed(grid: Grid, numbers: Floats) -> Floats:
    """Numbers of columns, (rows, columns), as images; a cell without a column is not known."""
    padded = np.column_stack([numbers, np.full(len(numbers), np.nan)])
    return np.asarray(padded[:, grid.columns])
