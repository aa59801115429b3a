"""The trees and tables that contain each column, for chains that change one column at a time."""

from collections.abc import Sequence

import numpy as np

from tractable.base.arrays import Ints, Words
from tractable.networks.flat import Rules
from tractable.networks.gibbs.kernels import Blankets, tested_columns


def markov_blankets(scopes: Sequence[tuple[int, ...]], rules: Rules, columns: int) -> Blankets:
    """The trees and tables of each column, and the columns on the path to each leaf."""
    member = np.array([c for scope in scopes for c in scope], dtype=np.int64)
    rule = np.repeat(np.arange(len(scopes)), [len(scope) for scope in scopes]).astype(np.int64)
    order = np.argsort(member, kind="stable")
    first = np.searchsorted(member[order], np.arange(columns + 1))
    tested = tested_columns(rules, columns)
    owner = np.repeat(np.arange(rules.column.size), np.diff(rules.start))
    node, matter = _distinct(np.concatenate([_bits(tested), np.stack([owner, rules.key])], axis=1), columns)
    matter_first = np.searchsorted(node, np.arange(rules.column.size + 1))
    return Blankets(first, rule[order], matter_first, matter, tested)


def _bits(words: Words) -> Ints:
    """The row and the position of each set bit. Shape (2, bits)."""
    little = words.astype("<u8", copy=False).view(np.uint8)
    return np.stack(np.nonzero(np.unpackbits(little, axis=1, bitorder="little")))


def _distinct(pairs: Ints, width: int) -> tuple[Ints, Ints]:
    """The distinct pairs in order; the second number of each is below `width`."""
    first, second = np.divmod(np.unique(pairs[0] * width + pairs[1]), width)
    return first, second
