"""Features as lists of allowed states, for loops that track which conditions of a feature hold."""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.networks.flat import Features

IMPOSSIBLE = -1e4  # stands for the logarithm of zero, which cannot be taken back once added


class Literals(NamedTuple):
    """The conditions of features: the allowed states of each column of each feature."""

    start: Ints  # (features + 1,) feature f's literals are start[f]:start[f + 1]
    column: Ints  # (literals,)
    offset: Ints  # (literals,) state k is allowed if `allowed[offset + k]`
    allowed: Bools
    feature: Ints  # (literals,)
    log_weight: Floats  # (features,)
    first: Ints  # (columns + 1,) the literals of column c are order[first[c]:first[c + 1]]
    order: Ints  # (literals,)


def literals_of(features: Features, states: Ints) -> Literals:
    """The combined conditions of each feature on each column."""
    owner = np.repeat(np.arange(features.log_weight.size), np.diff(features.start))
    key, literal = np.unique(owner * states.size + features.column, return_inverse=True)
    feature, column = np.divmod(key, states.size)
    width = states[column]
    offset = np.cumsum(width) - width
    allowed = np.ones(int(width.sum()), dtype=np.bool_)
    each = states[features.column]  # a condition says something about each state of its column
    condition = np.repeat(np.arange(each.size), each)
    state = np.arange(condition.size) - np.repeat(np.cumsum(each) - each, each)
    holds = (state == features.state[condition]) == features.equals[condition]
    np.logical_and.at(allowed, offset[literal[condition]] + state, holds)
    count = np.arange(features.log_weight.size + 1)
    return Literals(
        np.searchsorted(feature, count),
        column,
        offset,
        allowed,
        feature,
        np.maximum(features.log_weight, IMPOSSIBLE),
        np.searchsorted(np.sort(column), np.arange(states.size + 1)),
        np.argsort(column, kind="stable"),
    )
