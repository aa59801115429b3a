"""Sums over the same operations, as in mixtures and latent trees, evaluated as a product of matrices.

Where both the sums and their operands are consecutive operations, the values of the sums are one matrix
product, and so are, on the way down, the flows of the operands and the expected counts of the edges.
"""

import numpy as np

from tractable.arrays import Bytes, Floats, Ints, UInt32s
from tractable.circuit.graph import SUM
from tractable.compiled import njit

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


@njit(cache=True, nogil=True)
def multiply(
    value: Floats, weight: Floats, first: int, sums: int, head: int, operands: int, below: int
) -> None:
    """Set the values of sums from `head` on to their matrix of weights times the values from `below` on."""
    matrix = weight[first : first + sums * operands].reshape(sums, operands)
    np.dot(matrix, value[below : below + operands], value[head : head + sums])


@njit(cache=True, nogil=True)
def pull(
    flow: Floats,
    value: Floats,
    weight: Floats,
    first: int,
    shape: tuple[int, int],
    places: tuple[int, int],
    tally: Floats,
) -> None:
    """Set the flows of the operands over their values from the shares of the sums, and tally the edges.

    `shape` is (operands, sums), `places` where either begin; the edges from `first` on are in that order.
    """
    (operands, sums), (below, head) = shape, places
    matrix = weight[first : first + operands * sums].reshape(operands, sums)
    shares = flow[head : head + sums]
    np.dot(matrix, shares, flow[below : below + operands])
    rows = np.dot(value[below : below + operands], shares.T)
    for i in range(operands):
        for j in range(sums):
            tally[first + i * sums + j] += matrix[i, j] * rows[i, j]
