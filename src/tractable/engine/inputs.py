"""The values of the leaves of a program for given rows and regions."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tractable.base.arrays import Floats, Ints, UInt16s, UInt32s
from tractable.base.compiled import kernel
from tractable.circuit.blocks import Block, ConstantBlock, MissingCells, tell_error
from tractable.circuit.facts import remembered
from tractable.circuit.graph import Graph
from tractable.data.evidence import Region, States
from tractable.engine.compile import compile_graph
from tractable.engine.program import DENSE, CompiledGraph, LeafTables
from tractable.engine.scaling import split, split_in_place
from tractable.engine.up import Inputs

Regions = Mapping[int, Region]


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A compiled circuit prepared for evaluating rows under common regions.

    A leaf whose cell is missing is summed over the region of its column; over a column among `best` it takes
    its largest value instead.
    """

    graph: Graph
    code: CompiledGraph
    regions: Regions
    best: frozenset[int]
    leaf_table: Floats  # (leaf edges, 3)
    lookup: Floats  # (entries,) each leaf's states, then its value where the cell is missing
    lookup_exponent: Floats  # (entries,)
    log_missing: Floats  # (leaves,) zero for the leaf of a numeric column
    leaf_column: UInt32s  # (leaf edges,)
    source_column: Ints  # (ops,) the column of the leaf that an operation reads
    source_offset: Ints  # (ops,) the first entry, or the line, of that leaf


def ask(
    graph: Graph, regions: Regions | None = None, *, best: frozenset[int] = frozenset(), merge: bool = True
) -> Question:
    """A circuit prepared for rows.

    The preparation is cached with the circuit if there are no regions and `best` is all columns or no column.
    """
    if regions or best not in (frozenset(), every_column(graph)):
        return prepare(graph, compile_graph(graph, merge), regions or {}, best)
    return _usual_question(graph, bool(best), merge)


@remembered
def _usual_question(graph: Graph, is_best: bool, merge: bool) -> Question:
    best = every_column(graph) if is_best else frozenset()
    return prepare(graph, compile_graph(graph, merge), {}, best)


def every_column(graph: Graph) -> frozenset[int]:
    """The set of all columns."""
    return frozenset(range(len(graph.schema)))


def prepare(
    graph: Graph, code: CompiledGraph, regions: Regions, best: frozenset[int] = frozenset()
) -> Question:
    """A compiled circuit prepared for rows."""
    tables, program = code.tables, code.program
    missing = _missing_log_values(tables, regions, best)
    entries = tables.offset[1:] + np.arange(tables.column.size)  # the place after a leaf's states
    full = np.empty(tables.log_value.size + missing.size)
    is_state = np.ones(full.size, dtype=np.bool_)
    is_state[entries] = False
    full[entries], full[is_state] = missing, tables.log_value
    lookup, exponent = split(full)
    table = _edge_tables(program.leaf, program.leaf_weight, tables, lookup)
    column = tables.column if tables.column.size else np.zeros(1, np.int64)
    return Question(
        graph, code, regions, best, table, lookup, exponent, missing,
        column[program.leaf].astype(np.uint32), column[np.maximum(program.source, 0)], _source_offset(code),
    )  # fmt: skip


def _source_offset(code: CompiledGraph) -> Ints:
    """The first entry, or the line, of the leaf that each operation reads. Shape (ops,)."""
    tables, source = code.tables, np.maximum(code.program.source, 0)
    if not tables.column.size:
        return source
    return np.where(code.program.kind == DENSE, tables.dense[source], tables.offset[source] + source)


def _edge_tables(leaf: Ints, weight: Floats, tables: LeafTables, lookup: Floats) -> Floats:
    """The three values of every leaf edge, its weight included."""
    first = (tables.offset[:-1] + np.arange(tables.column.size))[leaf]
    states = tables.states[leaf]
    # Where there is a single state the second entry is read for a missing cell, and is the leaf's value
    # there.
    table = np.stack([lookup[first], lookup[first + 1], lookup[first + states]], axis=1)
    return np.ascontiguousarray(table * weight[:, None])


def _missing_log_values(tables: LeafTables, regions: Regions, best: frozenset[int]) -> Floats:
    """The log-value of each leaf where the cell is missing, over the states that its region allows."""
    missing = np.zeros(tables.column.size)
    filled = np.flatnonzero(tables.states > 0)
    if not filled.size:
        return missing
    value = allowed_log_values(tables, regions)
    first = tables.offset[filled]
    top = np.maximum.reduceat(value, first)
    safe_top = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        total = np.log(np.add.reduceat(np.exp(value - np.repeat(safe_top, tables.states[filled])), first))
    missing[filled] = np.where(np.isin(tables.column[filled], list(best)), top, total + safe_top)
    return missing


def allowed_log_values(tables: LeafTables, regions: Regions) -> Floats:
    """The tables with -inf at the states that a region forbids."""
    forbidding = {c: r for c, r in regions.items() if isinstance(r, States)}
    if not forbidding:
        return tables.log_value
    value = tables.log_value.copy()
    column = np.repeat(tables.column, tables.states)
    state = np.arange(value.size) - np.repeat(tables.offset[:-1], tables.states)
    for c, region in forbidding.items():
        here = column == c
        value[here] = np.where(region.allowed[state[here]], value[here], -np.inf)
    return value


def batch(question: Question, rows: Floats, width: int) -> Inputs:
    """The inputs of some rows; the last row is repeated to fill whole tiles of `width` rows."""
    tiles = -(-len(rows) // width)
    state = np.empty((tiles * width, rows.shape[1]), dtype=np.uint16)
    missing = _fill_states(np.ascontiguousarray(rows), question.graph.schema.cardinalities, state)
    code = np.ascontiguousarray(state.reshape(tiles, width, -1).transpose(0, 2, 1))
    dense, exponent = _dense_values(question, rows, tiles * width)
    return Inputs(
        missing == 0, code, question.leaf_column, question.leaf_table, question.source_column,
        question.source_offset, question.lookup, question.lookup_exponent, dense, exponent,
    )  # fmt: skip


@kernel
def _fill_states(rows: Floats, states: Ints, state: UInt16s) -> int:
    """Fill in states as small numbers, one past the last where the cell is missing; how many are missing.

    `state` is (rows, columns); the last row is repeated.
    """
    missing = 0
    for r in range(state.shape[0]):
        row = min(r, rows.shape[0] - 1)
        for c in range(rows.shape[1]):
            x, past = rows[row, c], float(states[c])
            is_missing = x != x  # noqa: PLR0124 (a NaN)
            missing += int(is_missing)
            x = past if is_missing or past == 0.0 else x
            state[r, c] = np.uint16(np.int32(x))
    return missing


def _dense_values(question: Question, rows: Floats, size: int) -> tuple[Floats, Floats]:
    """Values and exponents of the leaves without tables, each of shape (dense leaves, size).

    The last row is repeated.
    """
    lines = question.code.dense_node.size
    if not lines:
        return np.empty((0, size)), np.empty((0, size))
    if size > len(rows):
        rows = np.concatenate([rows, np.repeat(rows[-1:], size - len(rows), axis=0)])
    value = np.empty((lines, size))
    missing = MissingCells(question.regions, question.best)
    for block, line in dense_blocks(question.graph, question.code):
        block.write_log_values(rows, question.graph.schema, missing, value[line])
    # A sum of leaves over the same columns is no further off than the worst of them, and in a product the
    # errors of different columns add up.
    tell_error(sum(missing.errors.values()))
    return value, split_in_place(value)


def dense_blocks(graph: Graph, code: CompiledGraph) -> list[tuple[Block, slice]]:
    """The blocks of leaves without tables, each with its lines among the dense values."""
    found: list[tuple[Block, slice]] = []
    first = 0
    for block in graph.blocks if code.dense_node.size else ():
        if not isinstance(block, ConstantBlock) and not block.is_tabular(graph.schema):
            found.append((block, slice(first, first + block.node.size)))
            first += block.node.size
    return found
