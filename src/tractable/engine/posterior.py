"""The posterior distribution of every column given each row, in one sweep up and one down."""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit.blocks import JointBlock, LeafBlock
from tractable.circuit.facts import remembered
from tractable.circuit.graph import SUM, Graph
from tractable.circuit.leaves.moments import quadratic_mean, weighted_spread
from tractable.data.schema import Schema
from tractable.engine.backward import STRETCH_TILE, Backward, backward, sweep_stretches, sweep_tiles
from tractable.engine.down import Collected, Downward, Shares, collect_statistics, downward, fill_known
from tractable.engine.expectations import dense_flows
from tractable.engine.flows import new_flows
from tractable.engine.inputs import Question, Regions, allowed_log_values, ask, batch, dense_blocks
from tractable.engine.mixing import wide_columns
from tractable.engine.scaling import NO_LINE
from tractable.engine.sweep import TILE, borrowed_tile, in_parts, wide_tile_width, write_across
from tractable.engine.up import Inputs, Tile

FARTHEST = float(np.finfo(np.float64).max)
SMALL_BATCH = (
    1 << 19
)  # bytes of inputs: with the answer beside them, more were given back to the system each time


def first_statistics(schema: Schema) -> Ints:
    """Where the statistics of each column begin, and where the last ones end. Shape (columns + 1,).

    A categorical column has one for each state, a numeric column two: its mean and its standard
    deviation.
    """
    size = np.where(schema.cardinalities > 0, schema.cardinalities, 2)
    return np.concatenate([[0], np.cumsum(size)]).astype(np.int64)


def posteriors(
    graph: Graph, rows: Floats, regions: Regions | None = None, *, threads: int | None = None
) -> Floats:
    """The statistics of every column given each row. Shape (rows, statistics); see `first_statistics`.

    Where a cell is not missing its state has probability one, or its value is the mean and the deviation is
    zero. Where a row is impossible all its statistics are NaN.
    """
    question = ask(graph, regions)
    code = question.code
    first = _first_statistics(graph)
    if code.constant or not len(rows):
        return np.full((len(rows), first[-1]), 0.0 if code.log_factor > -np.inf else np.nan)
    shares = _shares(question) if regions else _usual_shares(graph)
    back = backward(graph)
    widest = STRETCH_TILE if back.cuts.size > 2 and len(rows) >= 2 * STRETCH_TILE else TILE
    width = wide_tile_width(back.places, len(rows), widest)

    every = np.empty((len(rows), first[-1]))

    def run(part: slice) -> None:
        inputs, out = batch(question, rows[part], width), every[part]
        with borrowed_tile(back.places, width, back.slots) as tile:
            _fill_statistics(question, back, inputs, shares, tile, rows[part], out)
            _deviations(question, shares, every[part])
            if graph.blocks_of(JointBlock) and not inputs.complete:
                flows = dense_flows(question, back, inputs, tile)[:, : len(out)]
                _mix_numbers(question, shares, flows, rows[part], out)

    in_parts(run, question, len(rows), width, threads, SMALL_BATCH)
    return every


def _fill_statistics(
    question: Question, back: Backward, inputs: Inputs, shares: Shares, tile: Tile, rows: Floats, out: Floats
) -> None:
    """Fill in the statistics of the rows of a batch, tile after tile. `out` is (rows, statistics)."""
    program, width = question.code.program, tile.value.shape[1]
    lines = None if program.is_plain else tile.lines
    down = _downward(question.graph)
    flows = new_flows(back, width)
    collected = Collected(
        np.asarray(np.isnan(rows).any(axis=0)),
        np.empty((out.shape[1] + 1, width)),
        np.empty((rows.shape[1], 2, width)),
    )
    for first, root in sweep_tiles(program, back, inputs, tile):
        flows.line.fill(NO_LINE)
        flows.value[back.slot[-1]] = root[0] > 0.0
        collected.part.fill(0.0)
        collected.flow.fill(0.0)
        for stretch in () if inputs.complete else sweep_stretches(program, back, inputs, tile, first):
            collect_statistics(down, shares, tile, flows, collected, lines, stretch)
        some = rows[first : first + width]
        fill_known(collected.part, inputs.code, first // width, shares, some)
        _write_tile(collected.part, root[0], out[first : first + width])


def _write_tile(part: Floats, root: Floats, out: Floats) -> None:
    """Write the statistics of a tile, a row a line; NaN where the row is impossible."""
    write_across(part[: out.shape[1], : len(out)], out)
    impossible = root[: len(out)] == 0.0
    if impossible.any():
        out[impossible] = np.nan


@remembered
def _first_statistics(graph: Graph) -> Ints:
    return first_statistics(graph.schema)


@remembered
def _downward(graph: Graph) -> Downward:
    return downward(ask(graph), backward(graph))


@remembered
def _usual_shares(graph: Graph) -> Shares:
    return _shares(ask(graph))


def _shares(question: Question) -> Shares:
    tables = question.code.tables
    with np.errstate(invalid="ignore"):
        allowed = allowed_log_values(tables, question.regions) - np.repeat(
            question.log_missing, tables.states
        )
    share = np.where(np.isfinite(allowed), np.exp(np.where(np.isfinite(allowed), allowed, 0.0)), 0.0)
    entry = np.arange(share.size) + np.repeat(np.arange(tables.column.size), tables.states)
    lookup = np.zeros(question.lookup.size)
    lookup[entry] = share
    number = question.graph.schema.cardinalities == 0
    first = _first_statistics(question.graph)
    return Shares(first, number, _edge_shares(question, lookup), lookup, _moments(question))


def _edge_shares(question: Question, lookup: Floats) -> Floats:
    """The shares of the two states at each leaf edge; of a sum's edge together with its term."""
    program, tables = question.code.program, question.code.tables
    offset = (tables.offset[:-1] + np.arange(tables.column.size))[program.leaf]
    share = np.stack([lookup[offset], lookup[offset + 1]], axis=1)  # zero where there is no second state
    above = np.repeat(program.kind, np.diff(program.leaf_start))
    return np.ascontiguousarray(np.where((above == SUM)[:, None], share * question.leaf_table[:, 2:], share))


def _moments(question: Question) -> Floats:
    """The moments of the leaves over numeric columns as `mixing` wants them. Shape (dense leaves, 4).

    They are zeros for potentials.
    """
    moments = np.zeros((question.code.dense_node.size, 4))
    wide = np.zeros(len(question.graph.schema), dtype=np.bool_)
    column = np.zeros(len(moments), dtype=np.int64)
    for block, line in _number_blocks(question):
        here = block.moments(question.regions)
        moments[line, :3], column[line] = here, block.column
        wide[block.column[wide_columns(here[:, 0], here[:, 2])]] = True
    moments[:, 3] = wide[column]
    moments[~wide[column], 2] **= 2
    return moments


def _number_blocks(question: Question) -> list[tuple[LeafBlock, slice]]:
    """The blocks of leaves over one numeric column, each with its lines among the dense values."""
    dense = dense_blocks(question.graph, question.code)
    return [(block, line) for block, line in dense if isinstance(block, LeafBlock)]


def _deviations(question: Question, shares: Shares, out: Floats) -> None:
    """Put standard deviations in the place of variances, in the columns whose spreads are variances."""
    is_variance = question.graph.schema.cardinalities == 0
    for block, line in _number_blocks(question):
        is_variance[block.column[shares.dense[line, 3] > 0]] = False
    place = shares.first[:-1][is_variance] + 1
    if place.size:
        out[:, place] = np.sqrt(out[:, place])


class _Components(NamedTuple):
    """The components of a column that take part in a mixture. Shapes (components, rows)."""

    flow: Floats
    mean: Floats
    sd: Floats

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the mixture for each row. Shapes (rows,)."""
        flow, mean, sd = (part.T for part in self)
        total = flow.sum(axis=1, keepdims=True)
        share = flow / np.where(total > 0, total, 1.0)
        heaviest = np.take_along_axis(mean, share.argmax(axis=1)[:, None], axis=1)
        with np.errstate(over="ignore"):
            apart = np.clip(mean - heaviest, -FARTHEST, FARTHEST)
        step, between = weighted_spread(share, apart)
        return heaviest[:, 0] + step, np.hypot(between, quadratic_mean(share, sd))


def _mix_numbers(question: Question, shares: Shares, flows: Floats, rows: Floats, out: Floats) -> None:
    """Write the mean and deviation of numeric columns where leaves over several columns take part.

    The moments of such a leaf depend on the row, unlike those of leaves over one column.
    """
    schema = question.graph.schema
    joint = [
        (b, line) for b, line in dense_blocks(question.graph, question.code) if isinstance(b, JointBlock)
    ]
    columns = np.unique(np.concatenate([block.columns.ravel() for block, _ in joint]))
    parts = {c: [_single_components(question, shares, flows, c)] for c in columns.tolist()}
    for block, line in joint:
        flow = flows[line]
        for leaves, column, mean, sd in block.row_moments(rows, flow > 0, schema, question.regions):
            parts[column].append(_Components(flow[leaves], mean, sd))
    for c, several in parts.items():
        mean, sd = _Components(*(np.concatenate(each) for each in zip(*several, strict=True))).moments()
        missing = np.isnan(rows[:, c]) & ~np.isnan(out[:, shares.first[c]])
        out[missing, shares.first[c]], out[missing, shares.first[c] + 1] = mean[missing], sd[missing]


def _single_components(question: Question, shares: Shares, flows: Floats, column: int) -> _Components:
    """The leaves over one column alone."""
    lines = [
        np.arange(lines.start, lines.stop)[block.column == column]
        for block, lines in _number_blocks(question)
    ]
    here = np.concatenate([np.zeros(0, dtype=np.int64), *lines])
    mean, _, spread, is_wide = shares.dense[here].T
    sd = np.where(is_wide > 0, spread, np.sqrt(spread))
    shape = (here.size, flows.shape[1])
    return _Components(
        flows[here], np.broadcast_to(mean[:, None], shape), np.broadcast_to(sd[:, None], shape)
    )
