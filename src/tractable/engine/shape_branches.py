"""Rows of a mixture of one shape in which sums have several possible children, because cells are missing.

Such a row is divided into *parts*. Part 0 begins at the root. A part is the sum of the terms along sums of
one possible child; each possible child of any other sum begins a part of its own, and the logarithm of the
sum of these is added to the part that the sum is in (their *owner*). Parts that lie beside each other below
one sum are numbered one after the other, later than their owner.
"""

from math import exp, inf, log

from tractable.base.arrays import Bools, Floats, Int32s, Ints
from tractable.base.compiled import inner, kernel
from tractable.circuit.graph import PRODUCT, SUM
from tractable.engine.shape_kernels import BRANCHED, leaf_term, only_edge
from tractable.engine.shape_terms import INDICATOR, LANES, NUMBER, Template

NODE, TERM, OWNER, HEAD, START = 0, 1, 2, 3, 4  # of a part: its node, the term above it, its owner, the first
PART = 5  # part beside it, and its first term


@inner
def _open_parts(template: Template, possible: Bools, node: int, owner: int, parts: Ints, made: int) -> int:
    """Begin a part for each possible child of a sum; how many there are then, or BRANCHED if too many."""
    head = made
    for e in range(template.start[node], template.start[node + 1]):
        if possible[template.child[e]]:
            if made == parts.shape[0]:
                return BRANCHED
            parts[made, NODE], parts[made, TERM] = template.child[e], template.term[e]
            parts[made, OWNER], parts[made, HEAD] = owner, head
            made += 1
    return made


@inner
def _walk_part(
    template: Template, code: Ints, possible: Bools, part: int, stack: Ints, terms: Int32s, parts: Ints,
    count: Ints,
) -> None:  # fmt: skip
    """Add the terms of a part, and the parts below it; `count` is how many parts and terms there are."""
    made, found, left = count[0], count[1], 1
    stack[0] = parts[part, NODE]
    while left > 0 and made != BRANCHED:
        left -= 1
        node = stack[left]
        kind = template.kind[node]
        if kind == PRODUCT:
            for e in range(template.start[node], template.start[node + 1]):
                stack[left] = template.child[e]
                left += 1
        elif kind == SUM:
            edge = only_edge(template, possible, node)
            if edge == BRANCHED:
                made = _open_parts(template, possible, node, part, parts, made)
            else:
                terms[found] = template.term[edge]
                found += 1
                stack[left] = template.child[edge]
                left += 1
        elif kind == NUMBER:
            if code[template.column[node]] >= 0:
                terms[found] = -1 - template.first[node]
                found += 1
        elif kind != INDICATOR:
            terms[found] = leaf_term(template, node, code)
            found += 1
    count[0], count[1] = made, found


@kernel
def find_parts(
    template: Template, codes: Ints, possible: Bools, rows: Ints, stack: Ints, terms: Int32s, parts: Ints,
    counts: Ints,
) -> None:  # fmt: skip
    """Fill the parts (rows, parts, PART) and the terms of some rows, and how many there are of both.

    A line of numbers is the term -1 less its number. A row with too many parts or terms has BRANCHED parts.
    """
    for i in range(rows.size):
        parts[i, 0, NODE], parts[i, 0, TERM] = template.kind.size - 1, -1
        counts[i, 0], counts[i, 1] = 1, 0
        part = 0
        while part < counts[i, 0]:
            parts[i, part, START] = counts[i, 1]
            if part > 0:
                terms[i, counts[i, 1]] = parts[i, part, TERM]
                counts[i, 1] += 1
            code, can = codes[rows[i]], possible[rows[i]]
            _walk_part(template, code, can, part, stack, terms[i], parts[i], counts[i])
            if counts[i, 1] + template.kind.size + 1 > terms.shape[1]:
                counts[i, 0] = BRANCHED
            part += 1


@inner
def _add_part(
    terms: Floats, numbers: Floats, block: int, row: int, lines: Int32s, span: tuple[int, int], value: Floats
) -> None:
    """Add the terms of a part to its values (LANES,)."""
    for j in range(span[0], span[1]):
        line = lines[j]
        if line >= 0:
            for k in range(LANES):
                value[k] += terms[block, line, k]
        else:
            for k in range(LANES):
                value[k] += numbers[-1 - line, row, block * LANES + k]


@inner
def _join_parts(value: Floats, head: int, last: int, owner: int) -> None:
    """Add the logarithm of the sum of parts beside each other to their owner's values."""
    for k in range(LANES):
        top = -inf
        for i in range(head, last):
            top = max(top, value[i, k])
        total = 0.0
        if top > -inf:
            for i in range(head, last):
                total += exp(value[i, k] - top)
        value[owner, k] += top + log(total) if total > 0.0 else -inf


@kernel
def add_parts(
    terms: Floats, numbers: Floats, rows: Ints, lines: Int32s, parts: Ints, counts: Ints, value: Floats,
    out: Floats,
) -> None:  # fmt: skip
    """Fill the log-likelihoods (rows, components) of the rows that `find_parts` has divided into parts.

    `value` is memory for (parts, LANES). Blocks of components come first, so that their terms stay in the
    cache.
    """
    for b in range(terms.shape[0]):
        for i in range(rows.size):
            last, end = counts[i, 0], counts[i, 1]
            value[: max(last, 0)] = 0.0
            for part in range(last - 1, -1, -1):
                span = (parts[i, part, START], end)
                _add_part(terms, numbers, b, rows[i], lines[i], span, value[part])
                end = parts[i, part, START]
                if part > 0 and parts[i, part, HEAD] == part:
                    _join_parts(value, part, last, parts[i, part, OWNER])
                    last = part
            if counts[i, 0] > 0:
                for k in range(LANES):
                    out[rows[i], b * LANES + k] = value[0, k]
