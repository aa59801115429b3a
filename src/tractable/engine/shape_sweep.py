"""Log-likelihoods in mixtures of components of one shape, vectorised over components.

A complete row is a sum of logarithms. A row with a few missing cells is divided into parts that are such
sums: see `shape_kernels.py`. Rows with many missing cells go the way of other circuits, which needs no
logarithm for each sum.
"""

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.engine import sweep
from tractable.engine.shape_kernels import (
    BRANCHED,
    COUNTS,
    PART,
    PARTS,
    TERMS,
    Rows,
    add_parts,
    add_terms,
    find_differences,
    find_parts,
)
from tractable.engine.shape_terms import LANES, ShapeProgram

CHUNK = 256  # rows that are evaluated together, fewer with numbers
LEAST_CHUNK = 16
MOST_MISSING = 10  # cells of columns with indicators, above which a row goes the way of other circuits
MOST_PARTS = 48  # into which a row is divided
ROOM = 3  # for terms of such a row, as a multiple of the template's nodes


def shape_log_values(program: ShapeProgram, rows: Floats, threads: int | None) -> Floats:
    """The logarithm of the root's value for each row; a NaN is summed out. Shape (rows,)."""
    answer = np.full(len(rows), np.nan)
    simple = np.flatnonzero(np.isnan(rows[:, program.inner]).sum(axis=1) <= MOST_MISSING)
    size = max(LEAST_CHUNK, CHUNK // (1 + len(program.numbers)))
    parts = [simple[i : i + size] for i in range(0, simple.size, size)]
    workers = sweep.useful_threads(threads, program.graph, simple.size)
    found = sweep.map_threads(lambda part: _mix(program, rows[part]), parts, workers)
    for part, logs in zip(parts, found, strict=True):
        answer[part] = logs
    others = np.isnan(answer)
    if others.any():
        answer[others] = sweep.log_values(program.graph, rows[others], threads=threads)
    return answer


def component_log_values(program: ShapeProgram, rows: Floats) -> Floats:
    """The log-likelihood of each row in each component; NaN where missing cells give too many parts.

    Shape (rows, components).
    """
    nodes, count, usual = program.template.kind.size, len(rows), program.usual
    made = Rows(
        np.zeros((count, ROOM * nodes), dtype=np.int32),
        np.zeros((count, max(1, usual.size)), dtype=np.int32),
        np.zeros((count, MOST_PARTS, PART), dtype=np.int64),
        np.zeros((count, COUNTS), dtype=np.int64),
    )
    possible, stack = np.zeros(nodes, dtype=np.bool_), np.zeros(nodes + 1, dtype=np.int64)
    find_parts(program.template, _codes(program, rows), possible, stack, made)
    out = np.full((count, program.terms.shape[0] * LANES), -np.inf)
    numbers = _number_logs(program, rows, out.shape[1])
    lines = _take_numbers(made) if program.numbers else {}
    if usual.size:
        find_differences(usual, program.is_usual, np.full(program.terms.shape[1], -1), made)
    add_terms(program.terms, program.usual_sum, made, out)
    if (made.counts[:, PARTS] > 1).any():
        add_parts(program.terms, numbers, made, np.zeros((MOST_PARTS, LANES)), out)
    for r, some in lines.items():
        out[r] += numbers[some, r].sum(axis=0)
    out[made.counts[:, PARTS] == BRANCHED] = np.nan
    return out[:, : program.size]


def _take_numbers(made: Rows) -> dict[int, Ints]:
    """The lines of numbers of each row of one part, which are taken out of its terms."""
    answer = {}
    for r in np.flatnonzero(made.counts[:, PARTS] == 1).tolist():
        terms = made.terms[r, : made.counts[r, TERMS]]
        kept, answer[r] = terms[terms >= 0], -1 - terms[terms < 0].astype(np.int64)
        made.counts[r, TERMS] = kept.size
        terms[: kept.size] = kept
    return answer


def _mix(program: ShapeProgram, rows: Floats) -> Floats:
    """The log-likelihoods of rows; NaN where missing cells give too many parts."""
    joint = component_log_values(program, rows) + program.log_weight
    top = joint.max(axis=1)
    scale = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(joint - scale[:, None]).sum(axis=1)) + scale)


def _codes(program: ShapeProgram, rows: Floats) -> Ints:
    """States, -1 where a cell is missing, and zero for numbers. Shape (rows, columns)."""
    states = np.where(program.graph.schema.cardinalities > 0, rows, 0.0)
    return np.where(np.isnan(rows), -1.0, states).astype(np.int64)


def _number_logs(program: ShapeProgram, rows: Floats, width: int) -> Floats:
    """The log-densities of numbers in all components, zero where missing. (lines, rows, components)."""
    answer = np.zeros((len(program.numbers), len(rows), width))
    for line, (block, place) in enumerate(program.numbers):
        x = rows[:, int(block.column[place[0]])]
        seen = np.flatnonzero(~np.isnan(x))
        if seen.size:
            answer[line, seen, : program.size] = block.family.log_prob(block.params[place], x[None, seen]).T
    return answer
