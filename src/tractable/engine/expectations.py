"""Expected counts of rows at edges and leaves, for EM and gradients."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats
from tractable.circuit.blocks import ConstantBlock, LeafCounts
from tractable.circuit.graph import SUM, Graph
from tractable.engine.backward import Backward, reverse_edges, reweight_backward
from tractable.engine.compile import compile_graph, reweight_program
from tractable.engine.counts import Tally, sweep_counts, sweep_hard_counts
from tractable.engine.inputs import Question, batch, dense_blocks, prepare
from tractable.engine.program import PLAIN, LeafTables, Program, ValuePlaces
from tractable.engine.scaling import join
from tractable.engine.sweep import (
    THREAD_WORK,
    borrowed_tile,
    map_threads,
    new_tile,
    question_log_values,
    useful_threads,
    wide_tile_width,
)
from tractable.engine.up import Inputs, Tile

# ---- counting with fewer values kept between the way up and the way down --------------------------------
#
# The values of a large circuit do not stay in the nearest cache, and to write and read them is a good
# part of the cost of counting. The value of a sum of two operations need not be kept: on the way down
# both operands are read anyway, and the sum is computed again from them. Where most sums have two
# operands that saves nearly half of all values.


def recompute_pairs(back: Backward, program: Program) -> Backward:
    """Recompute the values of pairs without stored values of sums that can be computed from two operands."""
    if back.cuts.size > 2 or back.matrix.any():
        return back
    again = _pairs(back, program)
    kept = int((~again).sum())
    # The values kept lie without gaps between them: with gaps nothing was gained.
    place = np.where(again, kept + program.slot.astype(np.int64), np.cumsum(~again) - 1).astype(np.uint32)
    layout = ValuePlaces(place, place[program.operand], False)
    return back._replace(up=layout, again=layout, places=int(place.max()) + 1, pair=again)


def _pairs(back: Backward, program: Program) -> Bools:
    """Which operations are sums of two, never with exponents, that nothing but one product reads."""
    degree, leaves = np.diff(program.start), np.diff(program.leaf_start)
    sums_above, products_above = np.diff(back.start), np.diff(back.product_start)
    plain = (program.kind == SUM) & (program.care == PLAIN)
    return plain & (degree == 2) & (leaves == 0) & (sums_above == 0) & (products_above == 1)


LEAST_PART, MOST_PART = 512, 4096  # rows of one part
COUNT_TILE = 256  # rows counted together: more than are swept upwards, as each operation has more to do


class Expectations(NamedTuple):
    """Expected counts of weighted rows under a circuit."""

    log_value: Floats  # (rows,) the logarithm of the circuit's value
    edge: Floats  # (edges,) rows expected to use each edge of a sum; zero below products
    blocks: tuple[LeafCounts, ...]  # one for each block; nothing is counted for constants


class Expecter:
    """The structure of a circuit, compiled once, which counts under any parameters."""

    def __init__(self, graph: Graph) -> None:
        self._structure = compile_graph(graph, merge=False)
        if self._structure.constant:
            raise ValueError("the circuit does not depend on the row: there is nothing to count")
        self._back = reverse_edges(self._structure.program)
        self._places = self._back.places + self._structure.slots  # enough whatever the parameters
        self._spare: list[Tile] = []  # tiles that no thread uses: fresh memory costs as much as a sweep

    def log_values(self, graph: Graph, rows: Floats, threads: int | None = None) -> Floats:
        """The circuit's log-value for each row, with the parameters of `graph`. Shape (rows,)."""
        question = prepare(graph, reweight_program(self._structure, graph), {})
        return question_log_values(question, rows, maximise=False, threads=threads)

    def expectations(
        self,
        graph: Graph,
        rows: Floats,
        weights: Floats,
        *,
        hard: bool = False,
        threads: int | None = None,
        between: Callable[[], None] | None = None,
    ) -> Expectations:
        """Expected counts under the parameters of `graph`, which has the structure of the compiled circuit.

        With `hard` a row counts for its most probable induced tree alone, and has the log-value of that tree.
        `between` is called between parts of the rows, and may raise an exception to break off.
        """
        question = prepare(graph, reweight_program(self._structure, graph), {})
        back = recompute_pairs(reweight_backward(self._back, question.code.program), question.code.program)
        workers = useful_threads(threads, graph, len(rows))
        size = part_size(len(rows), graph.edges)
        parts = [slice(i, min(i + size, len(rows))) for i in range(0, len(rows), size)]

        def run(part: slice) -> Tally:
            if between is not None:
                between()
            if hard:
                return _hard_tally(question, back, rows[part], weights[part])
            tile = self._tile(wide_tile_width(self._places, part.stop - part.start, COUNT_TILE))
            tally = _tally(question, back, tile, rows[part], weights[part])
            self._spare.append(tile)
            return tally

        tallies = map_threads(run, parts, workers)
        return _read(question, back, tallies, [p.stop - p.start for p in parts])

    def _tile(self, width: int) -> Tile:
        """A tile of that width; one that was used before, if there is any."""
        try:
            tile = self._spare.pop()
        except IndexError:
            return new_tile(self._places, width, self._back.slots)
        return tile if tile.value.shape[1] == width else self._tile(width)


def part_size(rows: int, edges: int) -> int:
    """The number of rows counted together; it must not depend on threads, since sums of rows are rounded.

    A part is an eighth of all rows, or of the work that a thread is worth.
    """
    least = max(LEAST_PART, THREAD_WORK // (8 * max(edges, 1)), -(-rows // 8))
    return min(MOST_PART, -(-least // COUNT_TILE) * COUNT_TILE)


def _tally(question: Question, back: Backward, tile: Tile, rows: Floats, weights: Floats) -> Tally:
    inputs = batch(question, rows, tile.value.shape[1])
    tally = _empty_tally(question, back.edge.size, inputs.rows)
    program = question.code.program
    sweep_counts(program, back, inputs, tile, _padded_weights(weights, tally.root.size), tally)
    return tally


def _hard_tally(question: Question, back: Backward, rows: Floats, weights: Floats) -> Tally:
    program = question.code.program
    width = wide_tile_width(2 * program.kind.size, len(rows))
    inputs = batch(question, rows, width)
    tally = _empty_tally(question, program.operand.size, inputs.rows)
    padded = _padded_weights(weights, tally.root.size)
    with borrowed_tile(program.kind.size, width) as tile:
        sweep_hard_counts(program, inputs, tile, padded, tally)
    return tally._replace(edge=tally.edge[back.edge])


def _empty_tally(question: Question, edges: int, rows: int) -> Tally:
    code = question.code
    return Tally(
        np.zeros(edges), np.zeros((code.program.leaf.size, 3)), np.zeros(question.lookup.size),
        np.zeros((code.dense_node.size, rows)), np.empty(rows), np.empty(rows),
    )  # fmt: skip


def _padded_weights(weights: Floats, rows: int) -> Floats:
    return np.concatenate([weights, np.zeros(rows - weights.size)])


def _read(question: Question, back: Backward, tallies: list[Tally], sizes: list[int]) -> Expectations:
    """The tallies of all parts added up, by the edges and leaves of the circuit."""
    code, graph = question.code, question.graph
    edge_total, leaf_total, entry_total = (
        np.sum([getattr(t, name) for t in tallies], axis=0) for name in ("edge", "leaf_edge", "entry")
    )
    edge = np.zeros(graph.edges)
    known = code.origin[back.edge] >= 0
    edge[code.origin[back.edge][known]] = edge_total[known]
    above = np.repeat(code.program.kind, np.diff(code.program.leaf_start)) == SUM
    edge[code.leaf_origin[above]] = leaf_total[above].sum(axis=1)
    states = _states(question, leaf_total, entry_total)
    dense = np.concatenate([t.dense[:, :n] for t, n in zip(tallies, sizes, strict=True)], axis=1)
    roots = [join(t.root, t.root_exponent)[:n] for t, n in zip(tallies, sizes, strict=True)]
    blocks = _by_block(question, states, dense)
    return Expectations(np.concatenate(roots) + code.log_factor, edge, blocks)


def _states(question: Question, leaf_total: Floats, entry_total: Floats) -> Floats:
    """Expected counts of the states of each leaf, one leaf after another; missing cells do not count."""
    tables, program = question.code.tables, question.code.program
    first = tables.offset[:-1] + np.arange(tables.column.size)
    entries = entry_total.copy()
    np.add.at(entries, first[program.leaf], leaf_total[:, 0])
    two = tables.states[program.leaf] > 1
    np.add.at(entries, first[program.leaf[two]] + 1, leaf_total[two, 1])
    return np.delete(entries, first + tables.states)


def _by_block(question: Question, states: Floats, dense: Floats) -> tuple[LeafCounts, ...]:
    tables, found = question.code.tables, []
    lines = {id(block): line for block, line in dense_blocks(question.graph, question.code)}
    leaf = 0
    for block in question.graph.blocks:
        size = block.node.size
        if isinstance(block, ConstantBlock):
            found.append(LeafCounts(np.zeros((size, 0)), np.zeros((size, 0))))
            continue
        if id(block) in lines:
            found.append(LeafCounts(np.zeros((size, 0)), dense[lines[id(block)]]))
        else:
            found.append(LeafCounts(_state_matrix(tables, states, leaf, size), np.zeros((size, 0))))
        leaf += size
    return tuple(found)


def dense_flows(question: Question, back: Backward, inputs: Inputs, tile: Tile) -> Floats:
    """How much of each row of a batch flows into each leaf over numbers. Shape (dense lines, rows)."""
    rows = inputs.rows
    tally = _empty_tally(question, back.edge.size, rows)
    sweep_counts(question.code.program, back, inputs, tile, np.ones(rows), tally)
    return tally.dense


def _state_matrix(tables: LeafTables, states: Floats, leaf: int, size: int) -> Floats:
    """The states of consecutive leaves as a matrix, zeros behind those of leaves that have fewer."""
    width = tables.states[leaf : leaf + size]
    answer = np.zeros((size, int(width.max())))
    inside = np.arange(answer.shape[1]) < width[:, None]
    answer[inside] = states[tables.offset[leaf] : tables.offset[leaf + size]]
    return answer
