"""The log-partition function of a grown circuit as a function that torch differentiates."""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import State, Watch
from tractable.learning.conditional.networks.modules import log_potentials, normalised
from tractable.learning.conditional.networks.sweep import TargetCircuit
from tractable.learning.growing import Priors


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
    log_z: Tensor = LogPartition.apply(potentials, weights, circuit)
    return log_z


FEWEST_BATCHES = 16  # of an epoch
LEAST_IMPROVEMENT = 1e-4  # of the loss on held-out rows, in nats, that early stopping counts


class Effort(NamedTuple):
    """How a network is trained."""

    learning_rate: float
    weight_decay: float
    batch_size: int  # at most; smaller if there are few rows
    epochs: int  # at most
    patience: int  # epochs without a smaller loss on the held-out rows


class Rows(NamedTuple):
    """Rows as tensors."""

    inputs: Tensor  # (rows, shown)
    own: Tensor  # (rows, states of all targets) one at the state of each target
    weight: Tensor  # (rows,)
    features: Tensor  # (rows, params) where the conditions of each parameter of the circuit hold

    def take(self, places: Tensor) -> "Rows":
        """Some of the rows."""
        return Rows(*(part[places] for part in self))


class Member(NamedTuple):
    """A network and the weights of a circuit's features above it."""

    module: nn.Module
    weights: Tensor  # (params,)

    def state(self) -> State:
        """All parameters as arrays."""
        network = {name: value.numpy().copy() for name, value in self.module.state_dict().items()}
        return {"network": network, "weights": self.weights.detach().numpy().copy()}

    def restore(self, state: State) -> Self:
        """The member with parameters that `state` has returned."""
        self.module.load_state_dict({k: torch.from_numpy(np.array(v)) for k, v in state["network"].items()})
        with torch.no_grad():
            self.weights.copy_(torch.from_numpy(np.array(state["weights"])))
        return self


Loss = Callable[[Member, Rows], Tensor]  # of each row, in nats


def independent_loss(states: Ints) -> Loss:
    """The negative log-likelihood of targets that are independent given the inputs."""

    def loss(member: Member, rows: Rows) -> Tensor:
        logs = normalised(log_potentials(member.module, rows.inputs), states)
        return -(logs * rows.own).sum(dim=1)

    return loss


def circuit_loss(circuit: TargetCircuit) -> Loss:
    """The negative conditional log-likelihood of targets in a circuit whose potentials the network gives."""

    def loss(member: Member, rows: Rows) -> Tensor:
        potentials = log_potentials(member.module, rows.inputs)
        own = (potentials * rows.own).sum(dim=1) + rows.features @ member.weights
        return log_partition(potentials, member.weights, circuit) - own

    return loss


def train_member(
    member: Member, rows: tuple[Rows, Rows], loss: Loss, effort: Effort, priors: Priors, watch: Watch
) -> None:
    """Train a network, and the weights of features if they need gradients, until it no longer helps.

    `rows` are those to train on and those held out. The parameters end as they were when the loss of the
    held-out rows was smallest, which may be at the start.
    """
    train, held = rows
    trained = [*member.module.parameters()]
    groups: list[dict[str, Any]] = [{"params": trained}]
    if member.weights.requires_grad:
        groups.append({"params": [member.weights], "weight_decay": 0.0})
    optimiser = torch.optim.AdamW(
        groups, lr=effort.learning_rate, weight_decay=effort.weight_decay, fused=True
    )
    size = max(1, min(effort.batch_size, len(train.weight) // FEWEST_BATCHES))
    best, best_state, since = mean_loss(member, held, loss), member.state(), 0
    for epoch in range(effort.epochs):
        if watch.should_stop() or since >= effort.patience:
            break
        if not _train_epoch(member, train, loss, optimiser, size, priors, watch):
            break
        held_loss = mean_loss(member, held, loss)
        watch.report("epochs", epoch + 1, effort.epochs, -held_loss)
        if held_loss < best - LEAST_IMPROVEMENT:
            best, best_state, since = held_loss, member.state(), 0
        else:
            since += 1
    member.restore(best_state)


def _train_epoch(
    member: Member,
    rows: Rows,
    loss: Loss,
    optimiser: torch.optim.Optimizer,
    size: int,
    priors: Priors,
    watch: Watch,
) -> bool:
    """Go through all rows once; false if the work was told to stop meanwhile."""
    member.module.train()
    total = float(rows.weight.sum())
    for places in torch.randperm(len(rows.weight)).split(size):
        if watch.should_stop():
            return False
        part = rows.take(places)
        mean = (loss(member, part) * part.weight).sum() / (total * len(places) / len(rows.weight))
        if member.weights.requires_grad:
            cost = priors.l1 * member.weights.abs() + member.weights**2 / (2 * priors.variance)
            mean = mean + cost.sum() / total
        optimiser.zero_grad()
        mean.backward()
        optimiser.step()
    return True


def hold_features(own: Tensor, conditions: Tensor) -> Tensor:
    """Where all conditions of each parameter of a circuit hold, (rows, params), for states (rows, states)."""
    return (own @ conditions.T >= conditions.sum(dim=1) - 0.5).to(own.dtype)


def mean_loss(member: Member, rows: Rows, loss: Loss) -> float:
    """The weighted mean loss of rows, without dropout."""
    member.module.eval()
    with torch.no_grad():
        each = torch.cat(
            [loss(member, rows.take(part)) for part in torch.arange(len(rows.weight)).split(1024)]
        )
    return float((each.double() * rows.weight).sum() / rows.weight.sum())


def potentials_of(module: nn.Module, inputs: Tensor) -> Floats:
    """The logarithms of a network's outputs, without dropout. Shape (rows, outputs)."""
    module.eval()
    with torch.no_grad():
        return log_potentials(module, inputs).double().numpy()
