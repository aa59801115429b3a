"""The posterior distribution of every column given each row, in one sweep up and one down."""

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.circuit.facts import remember
from tractable.circuit.graph import SUM, Graph
from tractable.data.schema import Schema
from tractable.engine.backward import backward
from tractable.engine.down import Shares, sweep_posteriors
from tractable.engine.inputs import Question, Regions, allowed_log_values, ask, batch, dense_blocks
from tractable.engine.sweep import in_parts, new_tile, tile_width


def first_statistics(schema: Schema) -> Ints:
    """Where the statistics of each column begin, and where the last ones end. Shape (columns + 1,).

    A categorical column has one for each state, a numeric column two: its mean and its variance.
    """
    size = np.where(schema.cardinalities > 0, schema.cardinalities, 2)
    return np.concatenate([[0], np.cumsum(size)]).astype(np.int64)


def posteriors(
    graph: Graph, rows: Floats, regions: Regions | None = None, *, threads: int | None = None
) -> Floats:
    """The statistics of every column given each row. Shape (rows, statistics); see `first_statistics`.

    Where a cell is not missing its state has probability one, or its value is the mean and the variance is
    zero. Where a row is impossible all its statistics are NaN.
    """
    question = ask(graph, regions)
    code = question.code
    first = first_statistics(graph.schema)
    if code.constant or not len(rows):
        return np.full((len(rows), first[-1]), 0.0 if code.log_factor > -np.inf else np.nan)
    shares = (
        _shares(question, first) if regions else remember(graph, "shares", lambda _: _shares(question, first))
    )
    back = backward(graph, code.program)
    width = tile_width(back.places, len(rows))

    def run(part: slice) -> Floats:
        inputs = batch(question, rows[part], width)
        out = np.empty((part.stop - part.start, first[-1]))
        tile = new_tile(graph, back.places, width)
        sweep_posteriors(code.program, back, inputs, shares, tile, rows[part], out)
        return out

    return np.concatenate(in_parts(run, question, len(rows), width, threads))


def _shares(question: Question, first: Ints) -> Shares:
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
    return Shares(first, number, _edge_shares(question, lookup), lookup, _moments(question))


def _edge_shares(question: Question, lookup: Floats) -> Floats:
    """The shares of the two states at each leaf edge; of a sum's edge together with its term."""
    program, tables = question.code.program, question.code.tables
    offset = (tables.offset[:-1] + np.arange(tables.column.size))[program.leaf]
    share = np.stack([lookup[offset], lookup[offset + 1]], axis=1)  # zero where there is no second state
    above = np.repeat(program.kind, np.diff(program.leaf_start))
    return np.ascontiguousarray(np.where((above == SUM)[:, None], share * question.leaf_table[:, 2:], share))


def _moments(question: Question) -> Floats:
    """Mean and variance of the leaves over numeric columns, zeros for potentials. Shape (dense leaves, 2)."""
    moments = np.zeros((question.code.dense_node.size, 2))
    for block, line in dense_blocks(question.graph, question.code):
        if block.family.arrives_with_row:
            continue
        here = np.stack(block.family.moments(block.params), axis=1)
        for c, region in question.regions.items():
            some = block.column == c
            if some.any():
                here[some] = np.stack(block.family.moments(block.params[some], region), axis=1)
        moments[line] = here
    return moments
