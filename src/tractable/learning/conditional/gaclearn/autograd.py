"""The log-partition function of a grown circuit as a function that torch differentiates."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from tractable.learning.conditional.gaclearn.sweep import TargetCircuit


class LogPartition(torch.autograd.Function):  # type: ignore[misc]
    """log Z of each row, from the logarithms of the potentials of its rows and of the features' weights.

    One compiled sweep up and down gives the value and all derivatives.
    """

    @staticmethod
    def forward(ctx: Any, potentials: Tensor, weights: Tensor, circuit: TargetCircuit) -> Tensor:
        """log Z, (rows,), for potentials (rows, states of all targets) and weights (params,)."""
        rows, states = potentials.shape
        value = np.empty((circuit.params, rows))
        value[:] = weights.detach().double().numpy()[:, None]
        value[:states] += potentials.detach().double().numpy().T
        log_partition, share = circuit.evaluate(value)
        ctx.save_for_backward(torch.from_numpy(share))
        ctx.states = states
        return torch.from_numpy(log_partition).to(potentials.dtype)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, Tensor, None]:
        """The slopes of potentials and of weights."""
        (share,) = ctx.saved_tensors
        scaled = share * slopes[0].double()
        dtype = slopes[0].dtype
        return scaled[: ctx.states].T.to(dtype), scaled.sum(dim=1).to(dtype), None


def log_partition(potentials: Tensor, weights: Tensor, circuit: TargetCircuit) -> Tensor:
    """log Z of each row; gradients flow to potentials and weights. Shape (rows,)."""
    found: Tensor = LogPartition.apply(potentials, weights, circuit)
    return found
