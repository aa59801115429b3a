"""Completion of rows by sampling or by following maximum terms."""

from functools import partial

import numpy as np

from tractable.base.arrays import AnyArray, Bools, Floats, Ints, UInt32s, Words
from tractable.circuit.blocks import MissingCells
from tractable.circuit.facts import remembered
from tractable.circuit.graph import Graph
from tractable.circuit.leaves.random_bits import as_uniform, mix_bits
from tractable.engine.backward import STRETCH_TILE, Backward, backward, sweep_stretches, sweep_tiles
from tractable.engine.inputs import (
    Question,
    Regions,
    allowed_log_values,
    ask,
    batch,
    dense_blocks,
    every_column,
)
from tractable.engine.program import own_places
from tractable.engine.sweep import (
    SMALL_TILE,
    TILE,
    borrowed_tile,
    in_parts,
    joined,
    map_threads,
    new_tile,
    threads_or_default,
    wide_tile_width,
    write_across,
)
from tractable.engine.trace import SET, Draws, LeafWeights, trace
from tractable.engine.up import Inputs, Span, Tile, sweep_up

FEW_DRAWS = 200  # that another thread is not worth
DRAWS_TILE = 512  # draws of one row that go down together


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
    inputs, ops = batch(question, row[None, :], SMALL_TILE), program.kind.size
    places, tile = own_places(program), new_tile(ops, SMALL_TILE)
    root = sweep_up(program, places, inputs, tile, Span(0, SMALL_TILE, 0, ops), False)[0, 0]
    lines = None if program.is_plain else tile.lines
    leaves = _leaves(question) if regions else _usual_leaves(graph)

    def run(words: Words) -> Floats:
        size = min(DRAWS_TILE, max(1, -(-words.size // SET)) * SET)
        draws = _empty_draws(words, len(row), size, np.zeros(size, np.uint32), False)
        waiting, who = _waiting(ops, size)
        for d in range(len(draws.state) if root > 0.0 else 0):
            waiting[-1] = _set_of(np.arange(size) < words.size - d * size)
            trace(program, places, inputs, leaves, tile, draws, waiting, who, lines, (0, d, 0, ops))
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
    back = backward(graph)
    widest = STRETCH_TILE if back.cuts.size > 2 and len(rows) >= 2 * STRETCH_TILE else TILE
    width = wide_tile_width(back.places, len(rows), widest)
    leaves = _leaves(question) if regions else _usual_leaves(graph)
    words = np.zeros(len(rows), np.uint64) if seed is None else _words(seed, len(rows))

    def run(part: slice) -> Floats:
        draws = _empty_draws(
            words[part], rows.shape[1], width, np.arange(width, dtype=np.uint32), seed is None
        )
        inputs = batch(question, rows[part], width)
        with borrowed_tile(back.places, width) as tile:
            _trace_tiles(question, back, inputs, leaves, tile, draws)
        return _fill_rows(question, rows[part], draws)

    return joined(in_parts(run, question, len(rows), width, threads))


def _trace_tiles(
    question: Question, back: Backward, inputs: Inputs, leaves: LeafWeights, tile: Tile, draws: Draws
) -> None:
    """Fill the draws of a batch, one for each row."""
    program, width = question.code.program, draws.lane.size
    lines = None if program.is_plain else tile.lines
    waiting, who = _waiting(program.kind.size, width)
    for first, root in sweep_tiles(program, back, inputs, tile, draws.best):
        real = np.arange(first, first + width) < draws.random.size
        waiting[-1] = _set_of((root[0] > 0.0) & real)
        t = first // width
        for stretch in sweep_stretches(program, back, inputs, tile, first, draws.best):
            place = (t, t, *stretch)
            trace(program, back.again, inputs, leaves, tile, draws, waiting, who, lines, place)


def _waiting(ops: int, draws: int) -> tuple[Words, UInt32s]:
    """Empty sets of draws for all operations, and room for a list of draws."""
    return np.zeros((ops, -(-draws // SET)), np.uint64), np.zeros(draws, np.uint32)


def _set_of(chosen: Bools) -> Words:
    """The set of the chosen draws of a tile. Shape (words,)."""
    bits = np.zeros(-(-chosen.size // SET) * SET, np.uint8)
    bits[: chosen.size] = chosen
    return np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64)


def _words(seed: int, count: int) -> Words:
    """The initial state of the random numbers of each draw; these are far apart."""
    number: Words = np.arange(count, dtype=np.uint64)
    return mix_bits(number + mix_bits(np.array([seed], dtype=np.uint64)))


def _empty_draws(words: Words, columns: int, size: int, lane: UInt32s, best: bool) -> Draws:
    shape = (-(-words.size // size), columns, size)
    return Draws(lane, np.full(shape, np.nan), np.full(shape, -1), words.copy(), best)


@remembered
def _usual_leaves(graph: Graph) -> LeafWeights:
    return _leaves(ask(graph))


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
    answer, size = np.empty(rows.shape), draws.lane.size
    for first in range(0, len(rows), size):
        write_across(draws.state[first // size, :, : len(rows) - first], answer[first : first + size])
    unknown = np.isnan(answer)
    if unknown.any():
        answer[unknown] = rows[unknown]
    missing = MissingCells(question.regions, question.best)

    def uniform(here: AnyArray, column: int) -> Floats:
        return _uniform(draws.random[here], column)

    for block, lines in dense_blocks(question.graph, question.code):
        chosen = partial(_chosen_leaves, draws, lines.start)
        block.complete(rows, answer, chosen, question.graph.schema, missing, uniform)
    return answer


def _chosen_leaves(draws: Draws, first: int, column: int) -> Ints:
    """The dense leaf, counted from `first`, that each draw chose for a column; negative for none."""
    found: Ints = draws.dense[:, column].ravel()[: draws.random.size] - first
    return found


def _uniform(random: Words, column: int) -> Floats:
    """A number in [0, 1) for each draw, another one for each column."""
    step = (2 * column + 1) * 0xD1B54A32D192ED03 % 2**64
    return as_uniform(mix_bits(random + np.uint64(step)))
