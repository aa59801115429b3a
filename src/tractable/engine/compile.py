"""Compilation of a circuit to a program, once for each circuit."""

import numpy as np

from tractable.base.arrays import Bools, Bytes, Floats, Ints, UInt32s
from tractable.circuit.facts import remembered
from tractable.circuit.graph import SUM, Graph
from tractable.engine import schedule
from tractable.engine.blocks import LEAST, matrix_heads
from tractable.engine.bottom import TO_CONSTANT, TO_LEAF, Bottom, leaf_bounds, read_leaves
from tractable.engine.program import (
    CARRIED,
    CHECKED,
    DENSE,
    LOOKUP,
    ONE,
    PLAIN,
    STEPWISE,
    WIDE,
    CompiledGraph,
    LeafTables,
    Program,
)
from tractable.engine.scaling import DRIFT, ROOM, SAFE, split
from tractable.engine.simplify import Operations, simplify


def compile_graph(graph: Graph, merge: bool = True) -> CompiledGraph:
    """The program of a circuit, which is made when first needed and kept with the circuit.

    With `merge` sums over leaves of one column become leaves; without it every sum of the circuit stays.
    """
    return _compile(graph, merge)


@remembered
def _compile(graph: Graph, merge: bool) -> CompiledGraph:
    bottom = read_leaves(graph, merge)
    ops, leaves = simplify(graph, bottom, merge)
    return _assemble(bottom, bottom.tables.first(leaves), ops)


def _assemble(bottom: Bottom, tables: LeafTables, ops: Operations) -> CompiledGraph:
    kind, identity, coefficient = (a[-1] for a in bottom.refs)
    low, high = leaf_bounds(tables)
    small = (tables.states <= 2) & (tables.states > 0) & (low > -SAFE) & (high < SAFE)
    listing = _Listing(ops, small, root_leaf=int(identity) if kind == TO_LEAF else -1)
    root = listing.number_of(int(kind), int(identity))
    if root < 0 or coefficient == -np.inf:
        return CompiledGraph(_EMPTY, tables, 0, float(coefficient), True, bottom.dense_node, _NONE, _NONE)
    program, origin, leaf_origin = listing.program(root, low, high)
    slot, slots = schedule.slots(program.start, program.operand)
    program = program._replace(slot=slot, operand_slot=slot[program.operand])
    return CompiledGraph(
        program, tables, slots, float(coefficient), False, bottom.dense_node, origin, leaf_origin
    )


def reweight_program(code: CompiledGraph, graph: Graph) -> CompiledGraph:
    """The program of a circuit that differs from the one compiled in its parameters only.

    The program must have been made without merging, of a circuit without constants, with no weight that was
    zero.
    """
    tables = code.tables._replace(log_value=read_leaves(graph, merge=False).tables.log_value)
    low, high = leaf_bounds(tables)
    log_weights = tuple(np.where(o < 0, 0.0, graph.log_weight[o]) for o in (code.origin, code.leaf_origin))
    program = code.program._replace(leaf_weight=np.exp(log_weights[1]))
    return code._replace(
        program=_with_care(program, (log_weights[0], log_weights[1]), low, high), tables=tables
    )


class _Listing:
    """All operations under one numbering: first those that read a leaf, then ONE, then sums and products."""

    def __init__(self, ops: Operations, small: Bools, root_leaf: int) -> None:
        self.ops = ops
        above = np.repeat(np.arange(ops.kind.size), np.diff(ops.start))
        lightest = np.full(ops.kind.size, 0.0)
        np.minimum.at(lightest, above, ops.log_weight)
        self.wide: Bools = lightest < -SAFE
        to_leaf = ops.edge_kind == TO_LEAF
        alone = small & ~_shared_leaves(ops, above, small.size)
        self.inline: Bools = to_leaf & alone[np.where(to_leaf, ops.edge, 0)] & ~self.wide[above]
        read = np.zeros(small.size, dtype=np.bool_)
        read[ops.edge[to_leaf & ~self.inline]] = True
        if root_leaf >= 0:
            read[root_leaf] = True
        self.readers: Ints = np.flatnonzero(read)
        self.reader_of = np.full(small.size, -1, dtype=np.int64)
        self.reader_of[self.readers] = np.arange(self.readers.size)
        self.one = self.readers.size
        self.base = self.one + 1

    def number_of(self, kind: int, identity: int) -> int:
        """The operation that a reference leads to; -1 for a constant."""
        if kind == TO_CONSTANT:
            return -1
        return int(self.reader_of[identity]) if kind == TO_LEAF else self.base + identity

    def program(self, root: int, low: Floats, high: Floats) -> tuple[Program, Ints, Ints]:
        """The operations below `root` in running order, without slots, and the edges that they come from."""
        start, operand, edge = self._edges(~self.inline)
        order = _best_order(
            start, operand, root, np.concatenate([np.full(self.base, LOOKUP, dtype=np.uint8), self.ops.kind])
        )
        position = np.full(start.size - 1, -1, dtype=np.int64)
        position[order] = np.arange(order.size)
        new_start, picked = _rows(start, order)
        leaf_all, leaf, leaf_edge = self._edges(self.inline)
        leaf_start, leaf_picked = _rows(leaf_all, order)
        kinds, sources = self._kinds(low)
        log_weight = self.ops.log_weight[edge[picked]]
        leaf_log_weight = self.ops.log_weight[leaf_edge[leaf_picked]]
        program = Program(
            kind=kinds[order], care=np.zeros(order.size, dtype=np.uint8), start=new_start,
            operand=position[operand[picked]].astype(np.uint32), weight=np.exp(log_weight),
            weight_exponent=np.zeros(log_weight.size),
            leaf_start=leaf_start, leaf=leaf[leaf_picked], leaf_weight=np.exp(leaf_log_weight),
            stride=np.ones(order.size, dtype=np.int64), source=sources[order],
            slot=_PLACES, operand_slot=_PLACES, matrix=_NONE, is_plain=False, has_matrices=False,
        )  # fmt: skip
        matrix = matrix_heads(program.kind, program.start, program.operand, program.leaf_start)
        program = program._replace(matrix=matrix, has_matrices=bool(matrix.any()))
        program = _with_care(program, (log_weight, leaf_log_weight), low, high)
        return program, self.ops.origin[edge[picked]], self.ops.origin[leaf_edge[leaf_picked]]

    def _edges(self, chosen: Bools) -> tuple[Ints, Ints, Ints]:
        """The chosen edges by operation: where those of each begin, what they lead to, which they were."""
        ops = self.ops
        count = (
            np.add.reduceat(np.append(chosen, False).astype(np.int64), ops.start[:-1])
            if ops.kind.size
            else _NONE
        )
        start = np.concatenate([np.zeros(self.base + 1, dtype=np.int64), np.cumsum(count)])
        edge = np.flatnonzero(chosen)
        kind, target = ops.edge_kind[edge], ops.edge[edge]
        if chosen is self.inline:
            return start, target, edge
        reader = self.reader_of[np.where(kind == TO_LEAF, target, 0)] if self.reader_of.size else target
        return (
            start,
            np.where(kind == TO_CONSTANT, self.one, np.where(kind == TO_LEAF, reader, target + self.base)),
            edge,
        )

    def _kinds(self, low: Floats) -> tuple[Bytes, Ints]:
        dense = low[self.readers] == -np.inf
        kinds = np.concatenate([np.where(dense, DENSE, LOOKUP), [ONE], self.ops.kind]).astype(np.uint8)
        sources = np.concatenate([self.readers, np.full(1 + self.ops.kind.size, -1)])
        return kinds, sources


def _shared_leaves(ops: Operations, above: Ints, leaves: int) -> Bools:
    """The leaves that several sums read: it pays to evaluate them once and to make matrices of such sums."""
    read = ops.edge[(ops.edge_kind == TO_LEAF) & (ops.kind[above] == SUM)]
    return np.bincount(read, minlength=leaves) >= LEAST


def _best_order(start: Ints, operand: Ints, root: int, kind: Bytes) -> Ints:
    """The order that needs fewer slots: depth first suits trees, the order of the node numbers suits layers.

    If most edges belong to matrices in the order of the node numbers, that order is taken.
    """
    depth_first = schedule.depth_first(start, operand, root)
    numbered = np.sort(depth_first)
    new_start, new_operand = _reorder(start, operand, numbered)
    heads = matrix_heads(kind[numbered], new_start, new_operand, np.zeros_like(new_start))
    if 2 * (heads * np.diff(new_start)).sum() > operand.size:
        return numbered
    used = [schedule.slots(*_reorder(start, operand, order))[1] for order in (depth_first, numbered)]
    return depth_first if used[0] <= used[1] else numbered


def _reorder(start: Ints, operand: Ints, order: Ints) -> tuple[Ints, UInt32s]:
    position = np.full(start.size - 1, -1, dtype=np.int64)
    position[order] = np.arange(order.size)
    new_start, picked = _rows(start, order)
    return new_start, position[operand[picked]].astype(np.uint32)


def _with_care(program: Program, log_weights: tuple[Floats, Floats], low: Floats, high: Floats) -> Program:
    """The program with the care that each operation needs, by its bounds."""
    log_weight, leaf_log_weight = log_weights
    reads = program.source >= 0
    op_low, op_high = np.zeros(reads.size), np.zeros(reads.size)
    op_low[reads], op_high[reads] = low[program.source[reads]], high[program.source[reads]]
    edges = (program.leaf_start, leaf_log_weight + low[program.leaf], leaf_log_weight + high[program.leaf])
    held, reach = (np.maximum(op_low, -SAFE), np.minimum(op_high, SAFE)), np.zeros(reads.size)
    is_sum = program.kind == SUM
    schedule.bounds(
        is_sum, program.start, program.operand, log_weight, edges, (op_low, op_high), held, reach
    )  # fmt: skip
    value, exponent = split(log_weight)
    is_plain = (op_low > -SAFE) & (op_high < SAFE)
    care = np.select([is_plain, reach < DRIFT, is_sum | (reach < ROOM)], [PLAIN, CARRIED, CHECKED], STEPWISE)
    care[np.repeat(np.arange(care.size), np.diff(program.start))[exponent != 0]] = WIDE
    return program._replace(
        care=care.astype(np.uint8), weight=value, weight_exponent=exponent, stride=_strides(program, edges),
        is_plain=bool((care == PLAIN).all()),
    )  # fmt: skip


def _strides(program: Program, edges: tuple[Ints, Floats, Floats]) -> Ints:
    """How many leaves of a product can be multiplied before its value might leave the range."""
    start, low, high = edges
    size = np.maximum(np.maximum(-low, high), 1e-300)
    largest = np.full(program.kind.size, 1e-300)
    np.maximum.at(largest, np.repeat(np.arange(program.kind.size), np.diff(start)), size)
    return np.clip(SAFE / largest, 1, 2**31).astype(np.int64)


def _rows(start: Ints, order: Ints) -> tuple[Ints, Ints]:
    """The parts `order` of a divided array, one after the other: where each begins, and which entries."""
    length = np.diff(start)[order]
    new_start = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    return new_start, np.repeat(start[order] - new_start[:-1], length) + np.arange(new_start[-1])


_NONE: Ints = np.zeros(0, dtype=np.int64)
_FLOATS: Floats = np.zeros(0)
_BYTES: Bytes = np.zeros(0, dtype=np.uint8)
_PLACES: UInt32s = np.zeros(0, dtype=np.uint32)
_START: Ints = np.zeros(1, dtype=np.int64)
_EMPTY = Program(
    _BYTES, _BYTES, _START, _PLACES, _FLOATS, _FLOATS, _START, _NONE, _FLOATS, _NONE, _NONE, _PLACES, _PLACES,
    _NONE, True, False,
)  # fmt: skip
