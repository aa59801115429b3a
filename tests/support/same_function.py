"""What tests of changed circuits share: whether two are the same function, and of what they are made."""

import numpy as np
import oracle

from tractable.base.arrays import Floats
from tractable.circuit import Graph


def assert_equal_logs(found: Floats, expected: Floats) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def assert_same_function(one: Graph, other: Graph, values: Floats) -> None:
    assert one.schema == other.schema
    assert_equal_logs(oracle.log_values(one, values), oracle.log_values(other, values))


def every_row(graph: Graph) -> Floats:
    return np.array(oracle.all_rows(graph.schema), dtype=np.float64)


def families(graph: Graph) -> set[str]:
    return {block.name for block in graph.blocks}
