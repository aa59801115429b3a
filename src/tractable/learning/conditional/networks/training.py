"""The log-partition function of a grown circuit as a function that torch differentiates."""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import State, Watch
from tractable.circuit import FactorBlock, Graph
from tractable.circuit.assemble import assemble
from tractable.circuit.leaves import FACTORS
from tractable.data import Schema, Variable
from tractable.engine import completions, log_values
from tractable.learning.conditional.field.expectations import CACHE, FEWEST_LANES, MOST_LANES
from tractable.learning.conditional.field.freeze import NodeList, indicator_blocks, target_circuit
from tractable.learning.conditional.field.kernels import take_out_maximum
from tractable.learning.conditional.field.rows import one_hot_targets
from tractable.learning.conditional.field.structure import ConditionalStructure
from tractable.learning.conditional.networks.modules import log_potentials, normalised
from tractable.learning.growing import Priors
from tractable.learning.growing.store import NODES
from tractable.learning.growing.sweep import downward_lanes, upward_lanes
from tractable.learning.parameters.loss_augmented import FORBIDDEN
from tractable.learning.parameters.loss_augmented import Loss as LossName

# ---- sweeps over a grown circuit of targets whose parameters differ from row to row ---------------------


class TargetCircuit:
    """A circuit over targets that grows no more, evaluated for any logarithms of its parameters."""

    def __init__(self, structure: ConditionalStructure) -> None:
        self._store, self._order, self._nodes = structure.circuit.arrays()
        self.states = structure.states[: structure.targets]
        self.params = structure.circuit.params

    def evaluate(self, log_value: Floats) -> tuple[Floats, Floats]:
        """The log-partition function of each row, (rows,), and its derivatives, (params, rows).

        `log_value` is (params, rows); the parameters of single states come first. The derivative for one is
        the probability of its conditions.
        """
        value, taken_out = log_value.copy(), np.zeros(log_value.shape[1])
        take_out_maximum(value, self.states, taken_out)
        np.exp(value, out=value)
        share = np.empty_like(value)
        nodes = int(self._store.used[NODES])
        lanes = int(np.clip(CACHE // max(1, nodes), FEWEST_LANES, MOST_LANES))
        root = np.empty(value.shape[1])
        for first in range(0, value.shape[1], lanes):
            here = slice(first, min(first + lanes, value.shape[1]))
            root[here], share[:, here] = self._sweep(value[:, here], nodes)
        with np.errstate(divide="ignore"):
            return np.log(root) + taken_out, share

    def _sweep(self, value: Floats, nodes: int) -> tuple[Floats, Floats]:
        s, lanes = self._store, value.shape[1]
        x, flow = np.empty((nodes, lanes)), np.zeros((nodes, lanes))
        x[1 : int(self.states.sum()) + 1] = 1.0
        x[self._nodes] = value
        upward_lanes(self._order, s.kind, s.first, s.degree, s.child, x)
        downward_lanes(self._order, s.kind, s.first, s.degree, s.child, x, flow, np.empty(lanes))
        return x[self._order[-1]], flow[self._nodes]


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


# ---- The structured hinge loss of networks and circuit together: true targets shall beat all others by
#      a margin.
#
# The worst other targets of a row are found exactly, by a most probable completion in a circuit whose
# parameters all arrive with the row, the loss among them.


def hinge_loss(structure: ConditionalStructure, name: LossName, conditions: Tensor) -> Loss:
    """The structured hinge loss of each row; `conditions` are those of `condition_matrix`."""
    states = structure.states[: structure.targets]
    worst_of = WorstTargets(structure)

    def loss(member: Member, rows: Rows) -> Tensor:
        potentials = log_potentials(member.module, rows.inputs)
        params = potentials.new_zeros(len(potentials), len(conditions))
        params[:, : potentials.shape[1]] = potentials.detach()
        params += member.weights.detach()
        worst = worst_of(params.double().numpy(), rows.own.double().numpy(), name)
        other = torch.from_numpy(worst).to(rows.own.dtype)
        features = hold_features(other, conditions)
        difference = ((other - rows.own) * potentials).sum(dim=1)
        difference = difference + (features - rows.features) @ member.weights
        wrong = len(states) - (other * rows.own).sum(dim=1)
        cost = wrong if name == "hamming" else (wrong > 0).to(wrong.dtype)
        return torch.relu(difference + cost)

    return loss


class WorstTargets:
    """Finds the targets that beat the true ones most, in a circuit whose parameters arrive with the row."""

    def __init__(self, structure: ConditionalStructure) -> None:
        self._states: Ints = structure.states[: structure.targets]
        self._graph = potential_graph(structure)

    def __call__(self, log_params: Floats, own: Floats, loss: LossName) -> Floats:
        """One at the state of each worst target, (rows, states); for given parameters, (rows, params).

        `own` are the true states in the same form. For the zero-one loss the worst differ from the true ones.
        """
        if loss == "hamming":
            augmented = log_params.copy()
            augmented[:, : own.shape[1]] += 1.0 - own
            return self._best(augmented)[0]
        best, best_log = own.copy(), np.full(len(own), -np.inf)
        first = np.cumsum(self._states) - self._states
        for start, many in zip(first.tolist(), self._states.tolist(), strict=True):
            here = slice(start, start + many)
            forbidden = log_params.copy()
            forbidden[:, here] += FORBIDDEN * own[:, here]
            worst, logs = self._best(forbidden)
            better = (logs > best_log) & (worst[:, here] != own[:, here]).any(axis=1)
            best[better], best_log[better] = worst[better], logs[better]
        return best

    def _best(self, log_params: Floats) -> tuple[Floats, Floats]:
        """The most probable states in the same form, and their log-values."""
        free = np.full((len(log_params), self._states.size), np.nan)
        completed = completions(self._graph, np.concatenate([free, log_params], axis=1), None)
        targets = completed[:, : self._states.size].astype(np.int64)
        return one_hot_targets(targets, self._states), log_values(self._graph, completed)


def potential_graph(structure: ConditionalStructure) -> Graph:
    """The circuit over targets with a column for the logarithm of each of its parameters."""
    states = structure.states[: structure.targets]
    many, params = int(states.sum()), structure.circuit.params
    targets = tuple(Variable(f"y{i}", states=tuple(range(k))) for i, k in enumerate(states.tolist()))
    factors = tuple(Variable(f"p{i}", "real", role="potential") for i in range(params))
    schema = Schema((*targets, *factors))
    nodes = NodeList(many + params)
    root = target_circuit(structure, nodes, list(range(many, many + params)), many)
    column = len(targets) + np.arange(params)
    blocks = [
        *indicator_blocks(schema, schema.targets, states, [np.zeros(0)] * len(targets)),
        FactorBlock(FACTORS["potential"], many + np.arange(params), column, np.zeros((params, 0))),
    ]
    return assemble(schema, np.array(nodes.kind), nodes.edges, blocks, root)
