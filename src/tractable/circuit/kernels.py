"""Compiled loops over a graph's arrays: no objects, no choices of policy.

Layout: the edges of node i are start[i]:start[i + 1], children come before parents. Sets are 64-bit words,
one a node: a bit stands for a column, a state or a leaf.
"""

import numpy as np

from tractable.base.arrays import Bools, Bytes, Floats, Ints, Words
from tractable.base.compiled import njit
from tractable.circuit.graph import LEAF, PRODUCT, SUM


@njit(cache=True, nogil=True)
def heights(start: Ints, child: Ints, height: Ints) -> None:
    """Fill in the longest way down from each node, in edges."""
    for node in range(height.size):
        most = 0
        for e in range(start[node], start[node + 1]):
            most = max(most, height[child[e]] + 1)
        height[node] = most


@njit(cache=True, nogil=True)
def scope_words(kind: Bytes, start: Ints, child: Ints, word: Words) -> tuple[int, int]:
    """Fill in the columns below each inner node.

    Returns the first sum whose children differ and the first product whose children share a column; the
    number of nodes stands for none.
    """
    unsmooth, shared = kind.size, kind.size
    for node in range(kind.size):
        if kind[node] == LEAF:
            continue
        first = word[child[start[node]]]
        union = first
        wrong = False
        for e in range(start[node] + 1, start[node + 1]):
            below = word[child[e]]
            wrong |= (union & below) != 0 if kind[node] == PRODUCT else below != first
            union |= below
        word[node] = union
        if wrong and kind[node] == PRODUCT:
            shared = min(shared, node)
        elif wrong:
            unsmooth = min(unsmooth, node)
    return unsmooth, shared


@njit(cache=True, nogil=True)
def mark_alive(kind: Bytes, start: Ints, child: Ints, log_weight: Floats, alive: Bools) -> None:
    """Fill in which inner nodes can be above zero, given which leaves can."""
    for node in range(kind.size):
        if kind[node] == LEAF:
            continue
        some, every = False, True
        for e in range(start[node], start[node + 1]):
            lives = alive[child[e]] and log_weight[e] > -np.inf
            some |= lives
            every &= lives
        alive[node] = every if kind[node] == PRODUCT else some


@njit(cache=True, nogil=True)
def support_words(kind: Bytes, start: Ints, child: Ints, live: Bools, word: Words) -> None:
    """Fill in the states at which each inner node may be above zero: those of all factors, of any summand.

    `live` says which edges count. A leaf has every bit of the columns that it is not over.
    """
    for node in range(kind.size):
        if kind[node] == PRODUCT:
            common = ~np.uint64(0)
            for e in range(start[node], start[node + 1]):
                common &= word[child[e]]
            word[node] = common
        elif kind[node] == SUM:
            union = np.uint64(0)
            for e in range(start[node], start[node + 1]):
                if live[e]:
                    union |= word[child[e]]
            word[node] = union


@njit(cache=True, nogil=True)
def overlap_words(sums: Ints, start: Ints, child: Ints, live: Bools, word: Words, overlap: Words) -> None:
    """Add to `overlap`, for each sum, the states that two of its children share."""
    for i in range(sums.size):
        seen = np.uint64(0)
        for e in range(start[sums[i]], start[sums[i] + 1]):
            if live[e]:
                overlap[i] |= seen & word[child[e]]
                seen |= word[child[e]]


@njit(cache=True, nogil=True)
def meet_words(first: Ints, second: Ints, word: Words, meet: Words) -> None:
    """Fill in the states that the two nodes of each pair share."""
    for i in range(first.size):
        meet[i] = word[first[i]] & word[second[i]]


@njit(cache=True, nogil=True)
def mark_separated(
    shared: Words, masks: Words, goes_on: bool, more: bool, met: Bools, separated: Bools
) -> None:
    """Mark the items that share nothing in some field of a word.

    A column of several words comes as one field a word, which `goes_on` after the first word and has `more`
    before the last; `met` keeps what was shared so far.
    """
    full = np.uint64(0)
    for mask in masks:
        full |= mask
    for i in range(shared.size):
        if separated[i]:
            continue
        if shared[i] & full == full:  # most items, most of the time: nothing is told apart here
            met[i] = True
            continue
        for mask in masks:
            met[i] = (shared[i] & mask) != 0 or (goes_on and met[i])
            if not met[i] and not more:
                separated[i] = True
                break


@njit(cache=True, nogil=True)
def sibling_pairs(sums: Ints, start: Ints, child: Ints, live: Bools, first: Ints, second: Ints) -> None:
    """Fill in every pair of children of each sum, sum after sum."""
    at = 0
    for i in range(sums.size):
        for e in range(start[sums[i]], start[sums[i] + 1]):
            if not live[e]:
                continue
            for f in range(e + 1, start[sums[i] + 1]):
                if live[f]:
                    first[at] = child[e]
                    second[at] = child[f]
                    at += 1


@njit(cache=True, nogil=True)
def union_words(start: Ints, child: Ints, word: Words) -> None:
    """Fill in the leaves reached from each inner node."""
    for node in range(word.size):
        for e in range(start[node], start[node + 1]):
            word[node] |= word[child[e]]


@njit(cache=True, nogil=True)
def differ_words(sums: Ints, start: Ints, child: Ints, word: Words, differ: Words) -> None:
    """Fill in, for each sum, the bits that not all of its children have or lack together."""
    for i in range(sums.size):
        head = word[child[start[sums[i]]]]
        for e in range(start[sums[i]] + 1, start[sums[i] + 1]):
            differ[i] |= head ^ word[child[e]]


@njit(cache=True, nogil=True)
def log_add(a: float, b: float) -> float:
    """The logarithm of exp(a) + exp(b)."""
    if a == -np.inf or b == -np.inf:
        return max(a, b)
    total: float = max(a, b) + np.log1p(np.exp(-abs(a - b)))
    return total


@njit(cache=True, nogil=True)
def fold(
    kind: Bytes, start: Ints, child: Ints, log_weight: Floats, factor: Floats, gone: Bools, normalise: bool
) -> tuple[Ints, Bools, Floats, Floats]:
    """Move numbers upwards: a node becomes exp(factor) times a simpler node, or a mere number where `gone`.

    `factor` and `gone` come in filled for leaves and are filled for all. Returns `alias`, the node that
    stands for each node; which edges stay; their weights; the log weight that a sum gives to mere numbers.
    """
    alias = np.arange(kind.size)
    stays = np.zeros(child.size, dtype=np.bool_)
    weight = np.zeros(child.size)
    rest = np.full(kind.size, -np.inf)
    for node in range(kind.size):
        if kind[node] == LEAF:
            continue
        kept, only = 0, node
        product, mixture = 0.0, -np.inf
        for e in range(start[node], start[node + 1]):
            below = log_weight[e] + factor[child[e]]
            product += below
            stays[e] = not gone[child[e]] and below > -np.inf
            if stays[e]:
                kept += 1
                only = alias[child[e]]
                mixture = log_add(mixture, below)
            else:
                rest[node] = log_add(rest[node], below)
        if kind[node] == PRODUCT:
            factor[node] = product
            gone[node] = kept == 0 or product == -np.inf
            alias[node] = only if kept == 1 else node
            continue
        if kept == 0:
            gone[node] = True
            factor[node] = rest[node]
        elif kept == 1 and rest[node] == -np.inf:
            alias[node] = only
            factor[node] = mixture
        else:
            factor[node] = log_add(mixture, rest[node]) if normalise else 0.0
            rest[node] -= factor[node]
            for e in range(start[node], start[node + 1]):
                weight[e] = log_weight[e] + factor[child[e]] - factor[node]
    return alias, stays, weight, rest
