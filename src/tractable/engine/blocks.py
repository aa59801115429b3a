"""Sums over the same operations, as in mixtures and latent trees, evaluated as a product of matrices.

Where both the sums and their operands are consecutive operations, the values of the sums are one matrix
product, and so are, on the way down, the flows of the operands and the expected counts of the edges.
"""

import numpy as np

from tractable.base.arrays import Bytes, Floats, Ints, UInt32s
from tractable.base.compiled import njit
from tractable.circuit.graph import SUM
from tractable.engine.program import WIDE

LEAST = 4  # sums, and operands, from which on a matrix product pays


def matrix_heads(kind: Bytes, start: Ints, operand: UInt32s, leaf_start: Ints) -> Ints:
    """How many sums make up the matrix that begins at an operation; zero where none does. Shape (ops,)."""
    degree = np.diff(start)
    heads = np.zeros(kind.size, dtype=np.int64)
    can = (kind == SUM) & (degree >= LEAST) & (np.diff(leaf_start) == 0)
    if not can.any():
        return heads
    first = np.zeros(kind.size, dtype=np.int64)
    first[degree > 0] = operand[start[:-1][degree > 0]]
    place = np.arange(operand.size) - np.repeat(start[:-1], degree)
    apart = operand != np.repeat(first, degree) + place
    can &= np.bincount(np.repeat(np.arange(kind.size), degree), weights=apart, minlength=kind.size) == 0
    goes_on = can[1:] & can[:-1] & (degree[1:] == degree[:-1]) & (first[1:] == first[:-1])
    begins = np.flatnonzero(can & ~np.concatenate([[False], goes_on]))
    ends = np.flatnonzero(can & ~np.concatenate([goes_on, [False]]))
    length = ends - begins + 1
    heads[begins[length >= LEAST]] = length[length >= LEAST]
    return heads


@njit(cache=True, nogil=True, _nrt=True)  # allocates
def multiply_matrix(
    value: Floats,
    care: Bytes,
    weight: Floats,
    first: int,
    head: int,
    sums: int,
    below: int,
    operands: int,
) -> bool:
    """Set the values of sums from `head` on to their matrix of weights times the values from `below` on.

    All operands must have the same exponents. Answers False, with nothing done, where a weight has some.
    """
    for op in range(head, head + sums):
        if care[op] == WIDE:
            return False
    matrix = weight[first : first + sums * operands].reshape(sums, operands)
    np.dot(matrix, value[below : below + operands], value[head : head + sums])
    return True


@njit(cache=True, nogil=True, _nrt=True)  # allocates
def pull_matrix(  # noqa: PLR0913, PLR0917
    flow: Floats,
    value: Floats,
    line: Ints,
    care: Bytes,
    weight: Floats,
    tally: Floats,
    end: int,
    head: int,
    start: Ints,
    up_start: Ints,
    sizes: Ints,
) -> int:
    """Set the flows of all operands of a matrix over their values, and tally the edges; the first operand.

    `end` is its last operand, `head` its first sum. If they do not share all exponents, one past `end` is
    returned: the flows must be set one by one.
    """
    sums, operands = sizes[head], up_start[head + 1] - up_start[head]
    below = end + 1 - operands
    for op in range(below, end + 1):
        if line[op] != line[end]:
            return end + 1
    for op in range(head, head + sums):
        if line[op] != line[end] or care[op] == WIDE:
            return end + 1
    first, shares = start[below], flow[head : head + sums]
    matrix = weight[first : first + operands * sums].reshape(operands, sums)
    np.dot(matrix, shares, flow[below : below + operands])
    rows = np.dot(value[below : below + operands], shares.T)
    for i in range(operands):
        for j in range(sums):
            tally[first + i * sums + j] += matrix[i, j] * rows[i, j]
    return below
