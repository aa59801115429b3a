"""The networks of a model: each is stopped early on another part of the rows, and all vote together.

The rows are divided into as many parts as there are networks. A network never learns from its own part, so
that its potentials there are those of rows it has not seen: the circuit above is searched for with these.
"""

from copy import deepcopy
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import torch

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Form, Key, Watch
from tractable.circuit.blocks import Network
from tractable.circuit.leaves.perceptron import Committee, layers_of
from tractable.data import Table
from tractable.learning.conditional.field.rows import ConditionalRows, one_hot_targets
from tractable.learning.conditional.field.structure import ConditionalStructure
from tractable.learning.conditional.inputs import InputScale
from tractable.learning.conditional.networks.modules import (
    MakeNetwork,
    ModuleCommittee,
    reproducible,
    start_at_frequencies,
)
from tractable.learning.conditional.networks.training import (
    Effort,
    Loss,
    Member,
    Rows,
    TargetCircuit,
    circuit_loss,
    hinge_loss,
    hold_features,
    independent_loss,
    mean_loss,
    potentials_of,
    train_member,
)
from tractable.learning.growing import Priors
from tractable.learning.statistics.held_out import LEAST_ROWS, divide_at_random

Objective: TypeAlias = Literal["likelihood", "hamming", "zero-one"]
MEMBER = Key(__name__, "member", Member)
PARTS_OF_ONE = 5  # into which the rows of a single network are divided, to hold one out


@dataclass(frozen=True, eq=False)
class Training:
    """What all members are trained with."""

    scale: InputScale
    states: Ints  # (targets,)
    effort: Effort
    priors: Priors  # of the weights of features


class NetworkCommittee:
    """Networks in training."""

    def __init__(self, table: Table, held: Floats, make: MakeNetwork, training: Training, seed: int) -> None:
        self.table, self.how, self._seed = table, training, seed
        self._held = held  # (rows, members) the weight of each row that each network does not learn from
        self.rows = as_rows(table, training.scale, training.states)
        self._trained: set[tuple[str, int]] = set()  # stages of members
        shares = state_shares(self.rows)
        self.members: list[Member] = []
        with reproducible(seed):
            for _ in range(held.shape[1]):
                module = make(training.scale.kept.size, int(training.states.sum()))
                start_at_frequencies(module, shares)
                self.members.append(Member(module, torch.zeros(0)))

    def pretrain(self, watch: Watch, only: int | None = None) -> None:
        """Train the networks by themselves: targets are independent given the inputs."""
        self._train("network", independent_loss(self.how.states), watch, only)

    def first_loss(self) -> float:
        """The loss of the first network on the rows held out for it."""
        return mean_loss(self.members[0], self._split(0)[1], independent_loss(self.how.states))

    def train_jointly(
        self, structure: ConditionalStructure, weights: Floats, name: Objective, watch: Watch
    ) -> Floats:
        """Train networks and weights of features together, and answer with the mean weights."""
        conditions = condition_matrix(structure)
        self.rows = self.rows._replace(features=hold_features(self.rows.own, conditions))
        for i, member in enumerate(self.members):
            own = torch.tensor(weights, dtype=torch.float32, requires_grad=True)
            self.members[i] = Member(member.module, own)
        if name == "likelihood":
            loss = circuit_loss(TargetCircuit(structure))
        else:
            loss = hinge_loss(structure, name, conditions)
        self._train("circuit", loss, watch)
        return np.asarray(np.mean([m.weights.detach().double().numpy() for m in self.members], axis=0))

    def honest_rows(self) -> ConditionalRows:
        """The rows for the search, each with the potentials of the network that has not learned from it.

        A single network gives the potentials of all rows.
        """
        places, logs, weights = [], [], []
        shares = self._held if len(self.members) > 1 else self.table.row_weights[:, None]
        for i, member in enumerate(self.members):
            mine = np.flatnonzero(shares[:, i] > 0)
            places.append(mine)
            logs.append(potentials_of(member.module, self.rows.inputs[torch.from_numpy(mine)]))
            weights.append(shares[mine, i])
        rows = Table(self.table.schema, self.table.values[np.concatenate(places)], np.concatenate(weights))
        return conditional_rows_of(rows, self.how.states, np.concatenate(logs).T)

    def rows_of(self, table: Table) -> ConditionalRows:
        """Other rows for the search, with the potentials of all networks together."""
        potentials = self.network().log_outputs(table.values[:, table.schema.inputs]).T
        return conditional_rows_of(table, self.how.states, potentials)

    def network(self) -> Network:
        """The networks over the columns themselves: plain layers, if they are made of such."""
        modules = [member.module for member in self.members]
        try:
            layers = [layers_of(module) for module in modules]
        except (TypeError, ValueError):  # it is no sequence, or has layers of another kind
            return ModuleCommittee(self.how.scale, tuple(deepcopy(modules)))
        return Committee(tuple(self.how.scale.unscale(each) for each in layers))

    def _train(self, stage: str, loss: Loss, watch: Watch, only: int | None = None) -> None:
        for i in range(len(self.members)) if only is None else [only]:
            if watch.should_stop() or not self.table.total_weight:
                break
            if (stage, i) not in self._trained:
                self._train_one(i, loss, watch, stage)
                self._trained.add((stage, i))

    def _train_one(self, i: int, loss: Loss, watch: Watch, stage: str) -> None:
        member = self.members[i]

        def train(part: Watch) -> Member:
            with reproducible(self._seed + 1 + i):
                train_member(member, self._split(i), loss, self.how.effort, self.how.priors, part)
            return member

        watch.remember(MEMBER.at(stage, i), train, forms={Member: Form(Member.state, member.restore)})

    def _split(self, i: int) -> tuple[Rows, Rows]:
        """The rows that a network learns from and those held out for it; the same if they are few."""
        held = torch.from_numpy(self._held[:, i]).float()
        rest = self.rows.weight - held
        if not float(rest.sum()):
            rest = self.rows.weight
        return tuple(  # type: ignore[return-value]
            self.rows._replace(weight=w).take(torch.nonzero(w > 0)[:, 0]) for w in (rest, held)
        )


def hold_out_rows(table: Table, members: int, rng: np.random.Generator) -> Floats:
    """The weight of each row that is held out for each network, at random. Shape (rows, networks).

    The parts of several networks are all rows together; a single one has a fifth of them. Of few rows there
    is a single part with all of them.
    """
    weights = table.row_weights
    if weights.sum() < LEAST_ROWS:
        return weights[:, None].copy()
    parts = members if members > 1 else PARTS_OF_ONE
    divided = divide_at_random(weights, parts, rng)
    enough = (divided > 0).any(axis=1)
    return np.ascontiguousarray(divided[:members].T) if enough.all() else weights[:, None].copy()


def as_rows(table: Table, scale: InputScale, states: Ints) -> Rows:
    """The rows of a table as tensors, without features."""
    targets = table.values[:, table.schema.targets].astype(np.int64)
    arrays = (
        scale.show(table),
        one_hot_targets(targets, states),
        table.row_weights,
        np.zeros((len(table), 0)),
    )
    return Rows(*(torch.from_numpy(a).float() for a in arrays))


def state_shares(rows: Rows) -> Floats:
    """The share of the rows that have each state, a little smoothed. Shape (states of all targets,)."""
    weight = rows.weight.double()
    shares: Floats = ((weight @ rows.own.double() + 0.5) / (weight.sum() + 1.0)).numpy()
    return shares


def condition_matrix(structure: ConditionalStructure) -> torch.Tensor:
    """One at the states that each parameter of the circuit has as conditions. (params, states)."""
    first = np.cumsum(structure.states) - structure.states
    matrix = torch.zeros(structure.circuit.params, int(structure.states.sum()))
    for param in range(structure.circuit.params):
        for column, state in structure.target_conditions(param):
            matrix[param, int(first[column]) + state] = 1.0
    return matrix


def conditional_rows_of(table: Table, states: Ints, potentials: Floats) -> ConditionalRows:
    """Rows for the search: all are groups of their own, with potentials (states, rows) and no inputs."""
    rows = len(table)
    return ConditionalRows(
        target_states=states,
        input_states=np.zeros(0, dtype=np.int64),
        targets=table.values[:, table.schema.targets].astype(np.int64),
        weight=table.row_weights,
        group=np.arange(rows),
        inputs=np.zeros((rows, 0), dtype=np.int64),
        group_weight=table.row_weights,
        potentials=potentials,
    )
