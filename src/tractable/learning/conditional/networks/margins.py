"""The structured hinge loss of networks and circuit together: true targets shall beat all others by a margin.

The worst other targets of a row are found exactly, by a most probable completion in a circuit whose
parameters all arrive with the row, the loss among them.
"""

import numpy as np
import torch
from torch import Tensor

from tractable.base.arrays import Floats, Ints
from tractable.circuit import FactorBlock, Graph
from tractable.circuit.assemble import assemble
from tractable.circuit.leaves import FACTORS
from tractable.data import Schema, Variable
from tractable.engine import completions, log_values
from tractable.learning.conditional.field.freeze import NodeList, indicator_blocks, target_circuit
from tractable.learning.conditional.field.rows import one_hot_targets
from tractable.learning.conditional.field.structure import ConditionalStructure
from tractable.learning.conditional.networks.modules import log_potentials
from tractable.learning.conditional.networks.training import Loss, Member, Rows, hold_features
from tractable.learning.parameters.loss_augmented import FORBIDDEN
from tractable.learning.parameters.loss_augmented import Loss as LossName


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
