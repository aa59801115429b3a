"""The default network, and what is done with any network during training."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from tractable.base.arrays import Floats, Ints
from tractable.base.named_arrays import NamedArrays
from tractable.circuit.leaves.perceptron import BIAS
from tractable.learning.conditional.inputs import InputScale

MakeNetwork = Callable[[int, int], nn.Module]  # from numbers of inputs and outputs


class BiasedSigmoid(nn.Module):  # type: ignore[misc]
    """A sigmoid and a small constant, so that a potential is above zero."""

    def forward(self, x: Tensor) -> Tensor:
        """The value for each number."""
        return torch.sigmoid(x) + BIAS


@dataclass(frozen=True, slots=True)
class Architecture:
    """The default network: layers of softplus units with dropout, and biased sigmoids at the end."""

    hidden: int  # units of each hidden layer
    layers: int  # hidden ones
    dropout: float  # of hidden units
    input_dropout: float

    def __call__(self, inputs: int, outputs: int) -> nn.Module:
        """A network with random weights."""
        parts: list[nn.Module] = [nn.Dropout(self.input_dropout)]
        width = inputs
        for _ in range(self.layers):
            parts += [nn.Linear(width, self.hidden), nn.Softplus(), nn.Dropout(self.dropout)]
            width = self.hidden
        last = nn.Linear(width, outputs)
        if not self.layers:
            nn.init.zeros_(last.weight)
        return nn.Sequential(*parts, last, BiasedSigmoid())


def start_at_frequencies(module: nn.Module, shares: Floats) -> None:
    """Let a default network begin with the frequencies of states, (outputs,), as potentials."""
    if isinstance(module, nn.Sequential) and isinstance(module[-1], BiasedSigmoid):
        last = module[-2]
        if isinstance(last, nn.Linear):
            p = np.clip(shares, 1e-3, 1 - 1e-3)
            with torch.no_grad():
                last.bias.copy_(torch.from_numpy(np.log(p / (1 - p))))


def log_potentials(module: nn.Module, x: Tensor) -> Tensor:
    """The logarithms of a network's outputs."""
    logs: Tensor = torch.log(module(x))
    return logs


def normalised(potentials: Tensor, states: Ints) -> Tensor:
    """The log-potentials normalised over the states of each target."""
    sizes = states.tolist()
    if len(set(sizes)) == 1:
        cut = potentials.reshape(len(potentials), len(sizes), sizes[0])
        return torch.log_softmax(cut, dim=2).reshape(potentials.shape)
    return torch.cat([torch.log_softmax(p, dim=1) for p in potentials.split(sizes, dim=1)], dim=1)


@dataclass(frozen=True, eq=False)
class ModuleCommittee:
    """Networks of any kind, whose outputs are averaged geometrically. No file can hold them."""

    kind: ClassVar[str] = "torch-modules"
    scale: InputScale
    modules: tuple[nn.Module, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that they read."""
        return self.scale.columns

    @property
    def states(self) -> tuple[int, ...]:
        """The number of states of each column, zero for a numeric one."""
        return self.scale.states

    @cached_property
    def outputs(self) -> int:
        """How many numbers they give."""
        return int(self.log_outputs(np.zeros((1, len(self.columns)))).shape[1])

    @property
    def parameters(self) -> int:
        """The number of their parameters."""
        return sum(p.numel() for module in self.modules for p in module.parameters())

    def log_outputs(self, cells: Floats) -> Floats:
        """The logarithms of the outputs for the cells of their columns. Shape (rows, outputs)."""
        shown = torch.from_numpy(self.scale.show_cells(cells)).float()
        with torch.no_grad():
            logs = [log_potentials(module.eval(), shown).double().numpy() for module in self.modules]
        return np.asarray(np.mean(logs, axis=0))

    def encode(self) -> tuple[dict[str, Any], NamedArrays]:
        """Fail, because the networks have no known structure.

        Raises:
            ValueError: always.
        """
        raise ValueError(
            "the circuit has a network of a special kind, which cannot be converted to plain layers"
        )


@contextmanager
def reproducible(seed: int) -> Iterator[None]:
    """Random numbers from a seed, and one thread, so that sums do not depend on their number."""
    threads = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
