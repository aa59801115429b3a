"""Compiled loops over the components of a mixture of one shape: see `shape_terms.py`.

A row is divided into *parts*. Part 0 begins at the root. A part is the sum of the terms along sums of one
possible child; each possible child of any other sum, below which a cell is missing, begins a part, and the
logarithm of the sum of these is added to the part that the sum is in (their *owner*). Parts that lie beside
each other below one sum are numbered one after the other, later than their owner.
"""

from math import exp, inf, log
from typing import NamedTuple

from tractable.base.arrays import Bools, Floats, Int32s, Ints
from tractable.base.compiled import inner, kernel
from tractable.circuit.graph import PRODUCT, SUM
from tractable.engine.shape_terms import INDICATOR, LANES, NUMBER, STATES, Template

BRANCHED = -1  # the answer for a sum with several possible children, and for a row with too many parts
NODE, TERM, OWNER, HEAD, START = 0, 1, 2, 3, 4  # of a part: its node, the term above it, its owner, the first
PART = 5  # part beside it, and its first term
PARTS, TERMS, ABSENT, IS_USUAL = 0, 1, 2, 3  # of a row: how many it has, and whether the usual sum is added
COUNTS = 4


class Rows(NamedTuple):
    """Rows as sums of terms."""

    terms: Int32s  # (rows, terms); a line of numbers is -1 less its number
    absent: Int32s  # (rows, usual terms) the usual terms that a row has not
    parts: Ints  # (rows, parts, PART)
    counts: Ints  # (rows, COUNTS)


@inner
def _fill_possible(template: Template, code: Ints, possible: Bools) -> None:
    """Fill which template nodes can be above zero in a row; `code` has -1 where a cell is missing."""
    for node in range(template.kind.size):
        kind = template.kind[node]
        first, last = template.start[node], template.start[node + 1]
        answer = True
        if kind == PRODUCT:
            for e in range(first, last):
                if not possible[template.child[e]]:
                    answer = False
                    break
        elif kind == SUM:
            answer = False
            for e in range(first, last):
                if possible[template.child[e]]:
                    answer = True
                    break
        elif kind == INDICATOR:
            state = code[template.column[node]]
            answer = state < 0 or state == template.first[node]
        possible[node] = answer


@inner
def _leaf_term(template: Template, node: int, code: Ints) -> int:
    """The term of a leaf over states, or of a constant."""
    if template.kind[node] != STATES:
        return template.first[node]
    state = code[template.column[node]]
    return template.first[node] + (template.states[node] if state < 0 else state)


@inner
def _only_edge(template: Template, possible: Bools, node: int) -> int:
    """The edge to the only possible child of a sum, which has one; BRANCHED if it has several."""
    chosen = BRANCHED
    for e in range(template.start[node], template.start[node + 1]):
        if possible[template.child[e]]:
            if chosen != BRANCHED:
                return BRANCHED
            chosen = e
    return chosen


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
    made, found, left = count[PARTS], count[TERMS], 1
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
            edge = _only_edge(template, possible, node)
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
            terms[found] = _leaf_term(template, node, code)
            found += 1
    count[PARTS], count[TERMS] = made, found


@kernel
def find_parts(template: Template, codes: Ints, possible: Bools, stack: Ints, rows: Rows) -> None:
    """Divide rows into parts.

    `possible` and `stack` are memory for the nodes. An impossible row has no parts, and one with too many
    parts or terms has BRANCHED parts.
    """
    terms, parts, counts = rows.terms, rows.parts, rows.counts
    for r in range(codes.shape[0]):
        _fill_possible(template, codes[r], possible)
        parts[r, 0, NODE], parts[r, 0, TERM] = template.kind.size - 1, -1
        counts[r, PARTS] = int(possible[template.kind.size - 1])
        part = 0
        while part < counts[r, PARTS]:
            parts[r, part, START] = counts[r, TERMS]
            if part > 0:
                terms[r, counts[r, TERMS]] = parts[r, part, TERM]
                counts[r, TERMS] += 1
            _walk_part(template, codes[r], possible, part, stack, terms[r], parts[r], counts[r])
            if counts[r, TERMS] + template.kind.size + 1 > terms.shape[1]:
                counts[r, PARTS] = BRANCHED
            part += 1


@kernel
def find_differences(usual: Ints, is_usual: Bools, seen: Ints, rows: Rows) -> None:
    """Replace the terms of rows of one part by what they differ in from the usual ones, where that is less.

    `seen` (terms,) is memory in which no row is.
    """
    terms, counts = rows.terms, rows.counts
    for r in range(counts.shape[0]):
        if counts[r, PARTS] != 1:
            continue
        others = 0
        for j in range(counts[r, TERMS]):
            if is_usual[terms[r, j]]:
                seen[terms[r, j]] = r
            else:
                others += 1
        absent = usual.size - (counts[r, TERMS] - others)
        if others + absent >= counts[r, TERMS]:
            continue
        others, absent = 0, 0
        for j in range(counts[r, TERMS]):
            line = terms[r, j]
            if not is_usual[line]:
                terms[r, others] = line
                others += 1
        for j in range(usual.size):
            if seen[usual[j]] != r:
                rows.absent[r, absent] = usual[j]
                absent += 1
        counts[r, TERMS], counts[r, ABSENT], counts[r, IS_USUAL] = others, absent, 1


@kernel
def add_terms(terms: Floats, usual_sum: Floats, rows: Rows, out: Floats) -> None:
    """Fill the log-likelihoods (rows, components) of the rows of one part.

    Blocks of components come first, so that their terms stay in the cache.
    """
    plus, absent, counts = rows.terms, rows.absent, rows.counts
    for b in range(terms.shape[0]):
        begin = b * LANES
        for r in range(counts.shape[0]):
            if counts[r, PARTS] != 1:
                continue
            for k in range(LANES):
                out[r, begin + k] = usual_sum[begin + k] if counts[r, IS_USUAL] else 0.0
            for j in range(counts[r, TERMS]):
                line = plus[r, j]
                for k in range(LANES):
                    out[r, begin + k] += terms[b, line, k]
            for j in range(counts[r, ABSENT]):
                line = absent[r, j]
                for k in range(LANES):
                    out[r, begin + k] -= terms[b, line, k]


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
def add_parts(terms: Floats, numbers: Floats, rows: Rows, value: Floats, out: Floats) -> None:
    """Fill the log-likelihoods (rows, components) of the rows of several parts.

    `value` is memory for (parts, LANES).
    """
    parts, counts = rows.parts, rows.counts
    for b in range(terms.shape[0]):
        for r in range(counts.shape[0]):
            last, end = counts[r, PARTS], counts[r, TERMS]
            if last < 2:
                continue
            value[:last] = 0.0
            for part in range(last - 1, -1, -1):
                span = (parts[r, part, START], end)
                _add_part(terms, numbers, b, r, rows.terms[r], span, value[part])
                end = parts[r, part, START]
                if part > 0 and parts[r, part, HEAD] == part:
                    _join_parts(value, part, last, parts[r, part, OWNER])
                    last = part
            for k in range(LANES):
                out[r, b * LANES + k] = value[0, k]
