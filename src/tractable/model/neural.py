"""Circuits as differentiable functions of torch: networks of any kind can give the factors of a circuit.

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
    """The logarithm of the circuit's value for each row, not normalised; a NaN is summed out. Shape (rows,).

    `rows` are coded cells in the order of the circuit's columns. Gradients go to the columns of potentials.
    The difference between the values of rows as they are and without their targets is log P(targets | rest).
    """
    found: Tensor = _LogValues.apply(rows, circuit.graph)
    return found


@remembered
def _expecter(graph: Graph) -> Expecter:
    return Expecter(graph)


class _LogValues(torch.autograd.Function):  # type: ignore[misc]
    """One sweep up and down: the value, and its derivatives for the cells of potentials."""

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
        """The slopes of all cells; zero where they are no potentials."""
        (slope,) = ctx.saved_tensors
        return slope * slopes[0][:, None], None
