"""Circuits as differentiable functions in torch, whose factors may come from neural networks.

A column with the role `potential` holds the logarithm of a factor that arrives with each row. `log_values`
is the circuit's log-value as a function of these cells; gradients flow through it at the speed of the engine.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from tractable.base.arrays import Floats
from tractable.circuit import FactorBlock, Graph, remembered
from tractable.engine.expectations import Expecter
from tractable.model import Circuit


def log_values(circuit: Circuit, rows: Tensor) -> Tensor:
    """The unnormalised log-value of the circuit for each row; NaN cells are summed out. Shape (rows,).

    `rows` are coded cells in the order of the circuit's columns. Gradients flow to the columns of potentials.
    The difference between the log-values of rows with and without their targets is log P(targets | rest).
    """
    logs: Tensor = _LogValues.apply(rows, circuit.graph)
    return logs


@remembered
def _expecter(graph: Graph) -> Expecter:
    return Expecter(graph)


class _LogValues(torch.autograd.Function):  # type: ignore[misc]
    """An upward and a downward sweep: the log-value and its derivatives with respect to potentials."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, graph: Graph) -> Tensor:
        """The values of rows."""
        cells = rows.detach().double().cpu().numpy()
        expecter = _expecter(graph)
        counts = expecter.expectations(graph, cells, np.ones(len(cells)))
        slope: Floats = np.zeros(cells.shape)
        for block, found in zip(graph.blocks, counts.blocks, strict=True):
            if isinstance(block, FactorBlock) and block.is_potential:
                np.add.at(slope.T, block.column, found.flows)
        ctx.save_for_backward(torch.from_numpy(slope).to(rows))
        return torch.from_numpy(counts.log_value).to(rows)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None]:
        """The gradient with respect to all cells, which is zero except for potentials."""
        (slope,) = ctx.saved_tensors
        return slope * slopes[0][:, None], None
