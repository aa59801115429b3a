"""Compiled loops for queries that are not sweeps of the engine."""

from tractable.base.arrays import Bytes, Floats, Ints
from tractable.base.compiled import njit
from tractable.circuit.graph import SUM


@njit(cache=True, nogil=True)
def expected_log(
    kind: Bytes, start: Ints, child: Ints, weight: Floats, log_weight: Floats, value: Floats
) -> None:
    """Fill the inner nodes of `value`: sums average their children plus `log_weight`, products add."""
    for node in range(kind.size):
        if start[node] == start[node + 1]:
            continue
        total = 0.0
        for e in range(start[node], start[node + 1]):
            if kind[node] != SUM:
                total += value[child[e]]
            elif weight[e] > 0.0:
                total += weight[e] * (value[child[e]] + log_weight[e])
        value[node] = total
