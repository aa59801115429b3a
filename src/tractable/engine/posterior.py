"""Every column's distribution given each row, in one sweep up and one down."""

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.circuit.graph import Graph
from tractable.data.schema import Schema
from tractable.engine.down import Shares, sweep_posteriors
from tractable.engine.inputs import Question, Regions, allowed_log_values, ask, batch, dense_blocks
from tractable.engine.program import SUM
from tractable.engine.sweep import in_parts, new_tile, tile_width


def first_statistics(schema: Schema) -> Ints:
    """Where each column's statistics begin, and where the last one's end. Shape (columns + 1,).

    A categorical column has one for each state, a number's two: the expectations of the value and of its square.
    """
    size = np.where(schema.cardinalities > 0, schema.cardinalities, 2)
    return np.concatenate([[0], np.cumsum(size)]).astype(np.int64)


def posteriors(graph: Graph, rows: Floats, regions: Regions | None = None, *, threads: int | None = None) -> Floats:
    """The statistics of every column given each row. Shape (rows, statistics); see `first_statistics`.

    A column that a row shows has probability one at its state. Where the row itself is impossible all is NaN.
    """
    question = ask(graph, regions)
    code = question.code
    first = first_statistics(graph.schema)
    if code.constant or not len(rows):
        return _with_the_seen(graph.schema, rows, np.full((len(rows), first[-1]), np.nan))
    shares = _shares(question, first)
    width = tile_width(code.program.kind.size, len(rows))
    places = np.arange(code.program.kind.size, dtype=np.uint32)

    def run(part: slice) -> Floats:
        inputs = batch(question, rows[part], width)
        out = np.empty((first[-1], inputs.code.shape[1]))
        flow = np.zeros((code.slots, width))
        tile = new_tile(graph, places.size, width)
        sweep_posteriors(code.program, places, inputs, shares, tile, flow, out)
        return _with_the_seen(graph.schema, rows[part], out[:, : part.stop - part.start].T)

    return np.concatenate(in_parts(run, question, len(rows), width, threads))


def _shares(question: Question, first: Ints) -> Shares:
    graph, code = question.graph, question.code
    program, tables = code.program, code.tables
    with np.errstate(invalid="ignore"):
        allowed = allowed_log_values(tables, question.regions) - np.repeat(question.log_missing, tables.states)
    share = np.where(np.isfinite(allowed), np.exp(np.where(np.isfinite(allowed), allowed, 0.0)), 0.0)
    entry = np.arange(share.size) + np.repeat(np.arange(tables.column.size), tables.states)
    lookup = np.zeros(question.lookup.size)
    lookup[entry] = share
    states = tables.states[np.maximum(program.source, 0)] if tables.column.size else program.source
    dense, dense_column = _moments(question)
    return Shares(first, _edge_shares(question, lookup), lookup, states, dense, dense_column)


def _edge_shares(question: Question, lookup: Floats) -> Floats:
    """The shares of the two states at each leaf edge; of a sum's edge together with its term."""
    program, tables = question.code.program, question.code.tables
    offset = (tables.offset[:-1] + np.arange(tables.column.size))[program.leaf]
    one = np.where(tables.states[program.leaf] > 1, lookup[np.minimum(offset + 1, max(lookup.size - 1, 0))], 0.0)
    share = np.stack([lookup[offset], one], axis=1)
    above = np.repeat(program.kind, np.diff(program.leaf_start))
    return np.ascontiguousarray(np.where((above == SUM)[:, None], share * question.leaf_table[:, 2:], share))


def _moments(question: Question) -> tuple[Floats, Ints]:
    """The first two moments of the leaves over numbers, and their columns."""
    lines = question.code.dense_node.size
    moments, column = np.zeros((lines, 2)), np.zeros(lines, dtype=np.int64)
    for block, line in dense_blocks(question.graph, question.code):
        column[line] = block.column
        if block.family.name == "potential":
            continue
        here = np.stack(block.family.moments(block.params), axis=1)
        for c, region in question.regions.items():
            some = block.column == c
            if some.any():
                here[some] = np.stack(block.family.moments(block.params[some], region), axis=1)
        moments[line] = here
    return moments, column


def _with_the_seen(schema: Schema, rows: Floats, statistics: Floats) -> Floats:
    """The statistics with the columns that a row shows put in, NaN throughout where the row is impossible.

    The flows into a column that nothing is known of add up to one, or to nothing where the row is impossible.
    """
    answer = np.array(statistics)
    first = first_statistics(schema)
    for c, variable in enumerate(schema):
        seen = ~np.isnan(rows[:, c])
        if not seen.any():
            continue
        if variable.is_categorical:
            states = np.arange(variable.cardinality)
            answer[seen, first[c] : first[c + 1]] = rows[seen, c, None] == states
        else:
            answer[seen, first[c]], answer[seen, first[c] + 1] = rows[seen, c], rows[seen, c] ** 2
    return answer
