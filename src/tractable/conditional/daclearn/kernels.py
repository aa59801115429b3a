"""Compiled loops between weights of features and the rows in which their conditions on inputs hold.

Feature i belongs to parameter `param[i]` of the circuit over targets, and its conditions on inputs are
conjunction `conjunction[i]`, which holds in the distinct input rows where `indicator` is one.
"""

from tractable.arrays import Floats, Int32s, Ints
from tractable.compiled import njit


@njit(cache=True, nogil=True)
def add_features(
    weight: Floats, param: Int32s, conjunction: Int32s, indicator: Floats, log_value: Floats
) -> None:
    """Add each feature's weight to its parameter's line of `log_value`, (params, rows), where it holds."""
    for i in range(weight.size):
        w = weight[i]
        if w != 0.0:
            line, holds = log_value[param[i]], indicator[conjunction[i]]
            for row in range(line.size):
                line[row] += w * holds[row]


@njit(cache=True, nogil=True, fastmath=True)
def sum_features(param: Int32s, conjunction: Int32s, indicator: Floats, value: Floats, total: Floats) -> None:
    """Sum each feature's line of `value`, (params, rows), over the rows in which its conjunction holds."""
    for i in range(param.size):
        line, holds = value[param[i]], indicator[conjunction[i]]
        x = 0.0
        for row in range(line.size):
            x += line[row] * holds[row]
        total[i] = x


@njit(cache=True, nogil=True)
def take_out_maximum(log_value: Floats, states: Ints, taken_out: Floats) -> None:
    """Subtract the greatest line of each column's states from these, and add it to `taken_out`, (rows,)."""
    first = 0
    for column in range(states.size):
        for row in range(taken_out.size):
            top = log_value[first, row]
            for state in range(first + 1, first + states[column]):
                top = max(top, log_value[state, row])
            for state in range(first, first + states[column]):
                log_value[state, row] -= top
            taken_out[row] += top
        first += states[column]
