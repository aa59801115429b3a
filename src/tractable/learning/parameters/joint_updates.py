"""The M step for leaves over several columns together."""

from dataclasses import replace

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit import Graph, JointBlock
from tractable.circuit.joint_evidence import joint_leaves
from tractable.circuit.leaves.multivariate.fit import blend_leaves, refit_leaves_together
from tractable.engine.expectations import Expectations


def refit_joints(
    graph: Graph, expected: Expectations, values: Floats, smoothing: float, step: float = 1.0
) -> tuple[JointBlock, ...]:
    """Leaves of maximum likelihood for the expected flows; `values` are the rows that were counted.

    With a `step` below one they move so far from what they are towards that.
    """
    return tuple(
        replace(block, params=_refit_block(graph, block, flows, values, smoothing, step))
        for block, flows in zip(graph.joints, expected.joints, strict=True)
    )


def _refit_block(
    graph: Graph, block: JointBlock, flows: Floats, values: Floats, smoothing: float, step: float
) -> Floats:
    """The parameters of one block; leaves over the same columns are fitted together."""
    leaves, params = joint_leaves(graph, block), block.params.copy()
    _, group = np.unique(block.columns, axis=0, return_inverse=True)
    for number in np.unique(group):
        some = np.flatnonzero(group.ravel() == number)
        x = values[:, block.columns[some[0]]]
        old = [leaves[i] for i in some]
        new = refit_leaves_together(old, x, flows[some], smoothing)
        for i, before, after in zip(some.tolist(), old, new, strict=True):
            params[i] = block.family.params(blend_leaves(before, after, step) if step < 1 else after)
    return params
