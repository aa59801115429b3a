"""What is known of the nodes of a copy, counted for all of them at once.

`Forming` makes single nodes and knows the same of them, one after the other.
"""

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.learning.joint.selective.corrections import own_corrections
from tractable.learning.joint.selective.filling_kernels import (
    Old,
    Passed,
    Smoothed,
    add_up,
    add_up_lines,
    count_edges,
    gain_lines,
    pass_rows,
    score_sums,
)
from tractable.learning.joint.selective.forming import Forming
from tractable.learning.joint.selective.kernels import Codes
from tractable.learning.joint.selective.nodes import Reach
from tractable.learning.joint.selective.rows import CodedRows
from tractable.learning.joint.selective.shapes import Copied, Shape
from tractable.learning.joint.selective.subtrees import Known, Subtree, Weights


def fill(
    forming: Forming, copied: Copied, original: Subtree, reach: Reach, *, inherits_counts: bool
) -> Subtree:
    """Count what is known of all nodes of a copy, whose top certain rows reach.

    Each sum is shrunk towards its original: its smoothed weights, or only what these are shrunk to.
    """
    shape, smoothing = copied.shape, forming.smoothing
    rows = pass_down(shape, forming.rows, reach.rows)
    valid = pass_down(shape, forming.valid, reach.valid)
    counts, held = (
        edge_counts(shape, copied.edge_start, *part)
        for part in ((forming.rows, rows), (forming.valid, valid))
    )
    many, ways = shape.column.size, smoothing.ways
    prior = np.zeros(shape.branch.size * ways)
    scored = Smoothed(prior, np.zeros((many, ways)), np.zeros(many), np.zeros(many, dtype=np.int64))
    before = original.weights
    old = Old(original.shape, before.prior, before.counts, before.edge_start, inherits_counts)
    score_sums(copied, old, np.stack([smoothing.even, smoothing.inherited]), counts, held, scored)
    add_up(copied, scored)
    line = _lines(forming, copied, rows, scored)
    own = own_corrections(copied, scored.size, forming.slots)
    known = Known(
        rows.pool, valid.pool, rows.bounds, valid.bounds,
        scored.held_out, scored.log_likelihood, scored.size, line, own, forming.slots,
    )  # fmt: skip
    return Subtree(shape, Weights(copied.edge_start, counts, prior), known)


def pass_down(shape: Shape, rows: CodedRows, chosen: Codes) -> Passed:
    """The rows that reach each node, of those that reach the top."""
    return Passed(*pass_rows(shape, rows.codes, chosen), rows.codes)


def edge_counts(shape: Shape, edge_start: Ints, rows: CodedRows, passed: Passed) -> Floats:
    """The weight of the rows on each edge of each sum."""
    counts = np.zeros(edge_start[-1])
    count_edges(shape, edge_start, passed, rows.weights, counts)
    return counts


def _lines(forming: Forming, copied: Copied, rows: Passed, scored: Smoothed) -> Ints:
    """Take lines for the sums and fill them; each sum's line."""
    lines = forming.lines
    line: Ints = np.zeros(scored.size.size, dtype=np.int64)
    has_line = np.diff(copied.edge_start) > 0
    line[has_line] = lines.take_many(int(has_line.sum()))
    gain_lines(copied, lines.gain, line, rows, forming.entries)
    add_up_lines(copied, lines.gain, line)
    lines.size[line[has_line]] = scored.size[has_line]
    return line
