"""Compiled loops over the components of a mixture of one shape: see `shape_terms.py`."""

from tractable.base.arrays import Bools, Floats, Int32s, Ints
from tractable.base.compiled import inner, kernel
from tractable.circuit.graph import PRODUCT, SUM
from tractable.engine.shape_terms import INDICATOR, LANES, NUMBER, STATES, Template

BRANCHED = -1  # the answer for a row in which a sum has several possible children


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
def leaf_term(template: Template, node: int, code: Ints) -> int:
    """The term of a leaf over states, or of a constant."""
    if template.kind[node] != STATES:
        return template.first[node]
    state = code[template.column[node]]
    return template.first[node] + (template.states[node] if state < 0 else state)


@inner
def only_edge(template: Template, possible: Bools, node: int) -> int:
    """The edge to the only possible child of a sum, which has one; BRANCHED if it has several."""
    chosen = BRANCHED
    for e in range(template.start[node], template.start[node + 1]):
        if possible[template.child[e]]:
            if chosen != BRANCHED:
                return BRANCHED
            chosen = e
    return chosen


@kernel
def find_terms(
    template: Template, codes: Ints, possible: Bools, stack: Ints, terms: Int32s, lines: Int32s, counts: Ints
) -> None:
    """Fill the terms and the lines of numbers whose sum is the log-likelihood of each row.

    `codes` is (rows, columns), `possible` (rows, nodes), `counts` (rows, 3): how many terms a row has, or
    BRANCHED; zero; and how many lines. An impossible row has none; its root is not possible.
    """
    for r in range(codes.shape[0]):
        _fill_possible(template, codes[r], possible[r])
        found, numbers, left = 0, 0, int(possible[r, template.kind.size - 1])
        stack[0] = template.kind.size - 1
        while left > 0:
            left -= 1
            node = stack[left]
            kind = template.kind[node]
            if kind == PRODUCT:
                for e in range(template.start[node], template.start[node + 1]):
                    stack[left] = template.child[e]
                    left += 1
            elif kind == SUM:
                chosen = only_edge(template, possible[r], node)
                if chosen == BRANCHED:
                    found = BRANCHED
                    break
                terms[r, found] = template.term[chosen]
                found += 1
                stack[left] = template.child[chosen]
                left += 1
            elif kind == NUMBER:
                if codes[r, template.column[node]] >= 0:
                    lines[r, numbers] = template.first[node]
                    numbers += 1
            elif kind != INDICATOR:
                terms[r, found] = leaf_term(template, node, codes[r])
                found += 1
        counts[r, 0], counts[r, 2] = found, numbers


@kernel
def find_differences(
    usual: Ints, is_usual: Bools, rows: Ints, seen: Ints, terms: Int32s, minus: Int32s, counts: Ints
) -> None:
    """Replace the terms of rows by what they differ in from the usual ones, where that is less.

    `minus` are the usual terms that a row has not; `counts` is changed as `add_terms` takes it, and `seen`
    (terms,) is memory in which no row is.
    """
    for i in range(rows.size):
        r = rows[i]
        others = 0
        for j in range(counts[r, 0]):
            if is_usual[terms[r, j]]:
                seen[terms[r, j]] = r
            else:
                others += 1
        absent = usual.size - (counts[r, 0] - others)
        if others + absent >= counts[r, 0]:
            continue
        others, absent = 0, 0
        for j in range(counts[r, 0]):
            line = terms[r, j]
            if not is_usual[line]:
                terms[r, others] = line
                others += 1
        for j in range(usual.size):
            if seen[usual[j]] != r:
                minus[r, absent] = usual[j]
                absent += 1
        counts[r, 0], counts[r, 1], counts[r, 2] = others, absent, -1


@kernel
def add_terms(
    terms: Floats, plus: Int32s, minus: Int32s, counts: Ints, usual_sum: Floats, rows: Ints, out: Floats
) -> None:
    """Fill the sums of terms (rows, components) of some rows.

    `counts` is (rows, 3): how many terms are added; how many are taken away; and -1 where the sum of the
    usual terms is added. Blocks of components come first, so that their terms stay in the cache.
    """
    for b in range(terms.shape[0]):
        begin = b * LANES
        for i in range(rows.size):
            r = rows[i]
            for k in range(LANES):
                out[r, begin + k] = usual_sum[begin + k] if counts[r, 2] < 0 else 0.0
            for j in range(counts[r, 0]):
                line = plus[r, j]
                for k in range(LANES):
                    out[r, begin + k] += terms[b, line, k]
            for j in range(counts[r, 1]):
                line = minus[r, j]
                for k in range(LANES):
                    out[r, begin + k] -= terms[b, line, k]
