"""Conditional distributions of a column given each state of its parent, from counts."""

from collections.abc import Callable

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit.leaves import Family, leaf_family
from tractable.circuit.leaves.counts import SHARE
from tractable.data import Variable
from tractable.learning.statistics.encoding import Encoding
from tractable.learning.statistics.estimates import (
    LEAST_SMOOTHING,
    gaussian_params,
    least_variances,
    smoothed_moments,
)
from tractable.learning.statistics.forests import Forest
from tractable.learning.statistics.leaf_choice import disjoint_weights, statistics_family

STRIP = 4096  # rows that are coded at a time
NEAR = 2.5  # rows near those of its group that stand for one pseudo-count of an ordered column


def forest_tables(
    encoding: Encoding,
    forest: Forest,
    smoothing: float,
    choose: Callable[[Variable], Family] = leaf_family,
) -> list[Floats]:
    """For each column a row of parameters for each state of its parent, or a single one; see `forest_node`.

    The parameters of numeric columns are those of the chosen families.

    A column's own distribution is smoothed towards even probabilities. Conditional distributions are shrunk
    towards the column's own: a state of the parent that never occurs gives the column's own distribution.
    """
    smoothing = max(smoothing, LEAST_SMOOTHING)
    codes = _codes(encoding)
    answer = []
    for link in enumerate(forest.parent.tolist()):
        variable = encoding.schema[link[0]]
        if variable.is_categorical:
            answer.append(_state_table(encoding, codes, link, smoothing))
        elif link[0] in encoding.layout.real and choose(variable) == statistics_family(variable):
            answer.append(_real_table(encoding, codes, link, smoothing))
        else:
            answer.append(_fitted_table(encoding, codes, link, smoothing, choose(variable)))
    return answer


def _codes(encoding: Encoding) -> Ints:
    """The states of categorical columns, cardinality where missing; zero in numeric ones. (columns, rows)."""
    states, values = encoding.schema.cardinalities, encoding.table.values
    codes = np.empty(values.shape[::-1], dtype=np.int64)
    for start in range(0, len(values), STRIP):  # many rows at once would not stay in the cache
        part = values[start : start + STRIP]
        known = np.where(np.isnan(part), states, part)
        codes[:, start : start + STRIP] = np.where(states > 0, known, 0.0).T
    return codes


def _state_table(encoding: Encoding, codes: Ints, link: tuple[int, int], smoothing: float) -> Floats:
    column, parent = link
    weights, states = encoding.weights, encoding.schema[column].cardinality
    own: Floats = np.bincount(codes[column], weights, states + 1)[:states].astype(np.float64)
    own = own + smoothing / states
    own = own / own.sum()
    if parent < 0:
        return np.log(own)[None, :]
    above = encoding.schema[parent].cardinality
    pair = codes[parent] * (states + 1) + codes[column]
    counts: Floats = np.bincount(pair, weights, (above + 1) * (states + 1)).astype(np.float64)
    counts = counts.reshape(above + 1, states + 1)[:above, :states]
    ordered = [encoding.schema[each].kind == "ordinal" for each in link]
    own = pseudo_counts(counts, own, *ordered)
    counts = counts + smoothing * own
    return np.log(counts / counts.sum(axis=1, keepdims=True))


def pseudo_counts(counts: Floats, own: Floats, ordered: bool, ordered_parent: bool) -> Floats:
    """What one pseudo-count adds to each state of a column, for each state of its parent.

    States next to each other in an ordered column, or below ones of an ordered parent, are alike: there most
    of a pseudo-count goes where the rows of this and the next states are, and a little is distributed like
    the column, so that a group stays where it is. Shape (parent's states, states), or that of `own`, which
    is all of it where nothing is ordered.
    """
    if not (ordered or ordered_parent):
        return own
    near = _blurred(counts.T).T if ordered else counts
    if ordered_parent:
        near = _blurred(near)
    total = near.sum(axis=1, keepdims=True)
    spread = np.where(total > 0, near / np.where(total > 0, total, 1.0), own)
    return (NEAR if ordered else 1 - SHARE) * spread + SHARE * own


def _blurred(counts: Floats) -> Floats:
    """Three quarters of each line's counts, and an eighth of those of the lines before and after it."""
    padded = np.pad(counts, ((1, 1), (0, 0)), mode="edge")
    return 0.75 * counts + 0.125 * (padded[:-2] + padded[2:])


def _real_table(encoding: Encoding, codes: Ints, link: tuple[int, int], smoothing: float) -> Floats:
    column, _ = link
    centre, scale = encoding.centre[column], encoding.scale[column]
    z = encoding.table.values[:, column] / scale - centre / scale
    seen, total, square = _sums(encoding, codes, link, np.stack([np.ones(z.size), z, z**2]))
    layout = encoding.layout
    spread = encoding.prior[layout.squares][np.searchsorted(layout.real, column)]
    mean, variance = smoothed_moments((seen, total, square), smoothing, spread)
    variance = np.maximum(variance, least_variances(encoding)[column])
    return gaussian_params(encoding, column, mean, variance)


def _fitted_table(
    encoding: Encoding, codes: Ints, link: tuple[int, int], smoothing: float, family: Family
) -> Floats:
    """Leaves of a family that is fitted to the rows in each state of the parent, or to all rows."""
    column, groups = link[0], _groups(encoding, codes, link)
    x, weight = disjoint_weights(encoding.table.values[:, column], encoding.weights, *groups)
    return family.estimate(x, weight, encoding.schema[column], smoothing, encoding.mean(column))


def _groups(encoding: Encoding, codes: Ints, link: tuple[int, int]) -> tuple[Ints, int]:
    """The parent's state in each row, (rows,), and how many there are; one without a parent."""
    if link[1] < 0:
        return np.zeros(len(encoding.weights), dtype=np.int64), 1
    return codes[link[1]], encoding.schema[link[1]].cardinality


def _sums(encoding: Encoding, codes: Ints, link: tuple[int, int], numbers: Floats) -> list[Floats]:
    """Weighted sums over the rows in each state of the parent, or over all rows; (parent's states,) each."""
    state, states = _groups(encoding, codes, link)
    seen = ~np.isnan(encoding.table.values[:, link[0]])
    weighed = numbers[:, seen] * encoding.weights[seen]
    tables = [np.bincount(state[seen], line, states)[:states] for line in weighed]
    return [sums.astype(np.float64) for sums in tables]
