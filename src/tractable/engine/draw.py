"""Completions of rows: drawn in proportion to their probability, or traced along the best choices."""

import numpy as np

from tractable.arrays import Floats, Ints, Words
from tractable.circuit.facts import remember
from tractable.circuit.graph import Graph
from tractable.engine.inputs import (
    Question,
    Regions,
    allowed_log_values,
    ask,
    batch,
    dense_blocks,
    every_column,
)
from tractable.engine.joint_lines import joint_lines
from tractable.engine.program import Program, own_places
from tractable.engine.sweep import (
    SMALL_TILE,
    borrowed_tile,
    in_parts,
    joined,
    map_threads,
    new_tile,
    threads_or_default,
    wide_tile_width,
)
from tractable.engine.trace import Draws, LeafWeights, Links, more_links, new_links, trace
from tractable.engine.up import Inputs, Span, Tile, sweep_up
from tractable.leaves.random_bits import as_uniform, mix_bits

FEW_DRAWS = 200  # that another thread is not worth
FEW_LINKS = 256  # that cost less than to begin with too few of them


def samples(
    graph: Graph,
    row: Floats,
    count: int,
    seed: int,
    regions: Regions | None = None,
    *,
    threads: int | None = None,
) -> Floats:
    """`count` complete rows drawn given one row, whose NaN are what is drawn. Shape (count, columns)."""
    question = ask(graph, regions)
    if question.code.constant:
        return np.tile(row, (count, 1))
    program = question.code.program
    inputs = batch(question, row[None, :], SMALL_TILE)
    tile, span = new_tile(program.kind.size, SMALL_TILE), Span(0, SMALL_TILE, 0, program.kind.size)
    sweep_up(program, own_places(program), inputs, tile, span, False)
    leaves = _remembered_leaves(question)

    def run(words: Words) -> Floats:
        draws = _empty_draws(words, len(row), False)
        _trace_tile(program, inputs, leaves, tile, draws, 2 * words.size, 0)
        return _fill_rows(question, np.broadcast_to(row, (words.size, row.size)), draws)

    workers = min(threads_or_default(threads), 1 + count // FEW_DRAWS)
    return joined(map_threads(run, np.array_split(_words(seed, count), workers), workers))


def completions(
    graph: Graph,
    rows: Floats,
    seed: int | None = None,
    regions: Regions | None = None,
    *,
    threads: int | None = None,
) -> Floats:
    """Each row with its missing cells filled: by one draw if there is a seed, else by max-product.

    Shape (rows, columns). Where a row is impossible its missing cells stay NaN.
    """
    question = ask(graph, regions, best=every_column(graph) if seed is None else frozenset())
    if question.code.constant or not len(rows):
        return rows.copy()
    program = question.code.program
    layout, ops = own_places(program), program.kind.size
    width = wide_tile_width(ops, len(rows))
    leaves = _remembered_leaves(question)
    words = np.zeros(len(rows), np.uint64) if seed is None else _words(seed, len(rows))

    def run(part: slice) -> Floats:
        some = rows[part]
        draws = _empty_draws(words[part], rows.shape[1], seed is None)
        inputs = batch(question, some, width)
        links = 2 * width
        with borrowed_tile(ops, width) as tile:
            for first in range(0, len(some), width):
                here = slice(first, min(first + width, len(some)))
                sweep_up(program, layout, inputs, tile, Span(first, first + width, 0, ops), draws.best)
                lane, state, line, random, best = draws
                few = Draws(lane[here], state[here], line[here], random[here], best)
                few.lane[:] = np.arange(few.lane.size)
                links = _trace_tile(program, inputs, leaves, tile, few, links, first // width)
        return _fill_rows(question, some, draws)

    return joined(in_parts(run, question, len(rows), width, threads))


def _words(seed: int, count: int) -> Words:
    """The initial state of the random numbers of each draw; these are far apart."""
    number: Words = np.arange(count, dtype=np.uint64)
    return mix_bits(number + mix_bits(np.array([seed], dtype=np.uint64)))


def _empty_draws(words: Words, columns: int, best: bool) -> Draws:
    shape = (words.size, columns)
    lane, line = np.zeros(words.size, np.int64), np.full(shape, -1, np.int64)
    return Draws(lane, np.full(shape, np.nan), line, words.copy(), best)


def _trace_tile(
    program: Program, inputs: Inputs, leaves: LeafWeights, tile: Tile, draws: Draws, size: int, number: int
) -> int:
    """Fill the draws of a tile, which holds its values, with so many links or more; how many it took."""
    possible = np.flatnonzero(tile.value[program.kind.size - 1, draws.lane] > 0.0)
    links = _links_at_root(program.kind.size, size, possible)
    exponent = None if program.is_plain else tile.exponent
    op = program.kind.size - 1
    while op >= 0:
        op = trace(program, inputs, leaves, tile, draws, links, exponent, (number, op))
        links = more_links(links) if op >= 0 else links
    return links.who.size


def _links_at_root(ops: int, size: int, possible: Ints) -> Links:
    """At least as many links as draws, of which the draws of possible rows are the root's chain."""
    links = new_links(ops, max(size, FEW_LINKS))
    if possible.size:
        links.who[: possible.size] = possible
        links.following[possible.size - 1] = -1
        links.head[-1] = 0
        links.unused[:] = possible.size, links.who.size - possible.size
    return links


def _remembered_leaves(question: Question) -> LeafWeights:
    if question.regions:
        return _leaves(question)
    return remember(question.graph, "leaves to draw from", lambda _: _leaves(question))


def _leaves(question: Question) -> LeafWeights:
    """The tables as probabilities over the largest of each leaf; forbidden states have zero."""
    program, tables = question.code.program, question.code.tables
    value = allowed_log_values(tables, question.regions)
    lookup = np.zeros(question.lookup.size)
    filled = np.flatnonzero(tables.states > 0)
    if filled.size:
        top = np.maximum.reduceat(value, tables.offset[filled])
        top = np.repeat(np.where(np.isneginf(top), 0.0, top), tables.states[filled])
        lookup[np.arange(value.size) + np.repeat(np.arange(tables.column.size), tables.states)] = np.exp(
            value - top
        )
    offset = (tables.offset[:-1] + np.arange(tables.column.size))[program.leaf]
    binary = tables.states[program.leaf]
    states = tables.states[np.maximum(program.source, 0)] if tables.column.size else program.source
    return LeafWeights(np.stack([lookup[offset], lookup[offset + 1]], axis=1), lookup, states, binary)


def _fill_rows(question: Question, rows: Floats, draws: Draws) -> Floats:
    """The rows with missing cells filled by the chosen states, or from the chosen leaves over numbers."""
    answer = np.where(np.isnan(rows), draws.state, rows)
    for block, lines in dense_blocks(question.graph, question.code):
        if block.family.arrives_with_row:
            continue
        for column in np.unique(block.column):
            chosen = draws.line[:, column]
            here = (chosen >= lines.start) & (chosen < lines.stop) & np.isnan(rows[:, column])
            params = block.params[chosen[here] - lines.start]
            region = question.regions.get(int(column))
            if question.best:
                answer[here, column] = block.family.mode(params, region)
            else:
                uniform = _uniform(draws.random[here], int(column))
                answer[here, column] = block.family.draw(params, uniform, region)
    _fill_joints(question, rows, draws, answer)
    return answer


def _fill_joints(question: Question, rows: Floats, draws: Draws, answer: Floats) -> None:
    """Fill the missing cells of leaves over several columns, wherever such a leaf was chosen."""
    missing = np.isnan(rows)
    for leaf in joint_lines(question.graph, question.code):
        columns = leaf.columns
        chosen = draws.line[:, columns[0]] == leaf.line
        here = np.flatnonzero(chosen & missing[:, columns].any(axis=1))
        if here.size:
            uniform = np.stack([_uniform(draws.random[here], c) for c in columns.tolist()], axis=1)
            filled = leaf.fill(rows[here], question.regions, question.best, uniform)
            answer[np.ix_(here, columns)] = filled


def _uniform(random: Words, column: int) -> Floats:
    """A number in [0, 1) for each draw, another one for each column."""
    step = (2 * column + 1) * 0xD1B54A32D192ED03 % 2**64
    return as_uniform(mix_bits(random + np.uint64(step)))
