"""A Markov network over all columns as a conditional random field of its targets.

Given a row of inputs a feature either has no condition left but those on targets, or does not hold. So the
partition function of a row is that of a circuit over the targets alone, which is far smaller than the circuit
of the joint network, and features without a condition on targets cancel out.
"""

from dataclasses import dataclass

import numpy as np

from tractable.base.arrays import Ints
from tractable.circuit import FeatureTable
from tractable.learning.conditional.field.structure import ConditionalStructure
from tractable.learning.growing import Conditions


@dataclass(frozen=True, slots=True, eq=False)
class ConditionalNetwork:
    """The features of a Markov network as features of a conditional structure."""

    structure: ConditionalStructure
    feature: Ints  # (features that bear on targets,) their numbers in the network
    item: Ints  # (features that bear on targets,) their numbers in the structure


def conditional_network(
    features: FeatureTable, roles: tuple[Ints, Ints], states: Ints, max_edges: int
) -> ConditionalNetwork | None:
    """The network as a conditional structure; None if its circuit would have too many edges.

    `roles` are the columns of targets and of inputs, `states` the number of states of each column.
    """
    targets, inputs = roles
    place = np.zeros(states.size, dtype=np.int64)
    place[targets], place[inputs] = np.arange(targets.size), np.arange(inputs.size)
    is_target = np.zeros(states.size, dtype=np.bool_)
    is_target[targets] = True
    grower = _Grower(ConditionalStructure(states[targets], states[inputs]), max_edges)
    links: list[tuple[int, int]] = []
    for number in range(len(features)):
        some = slice(features.start[number], features.start[number + 1])
        column, state = features.column[some], features.state[some]
        mine = is_target[column]
        if not mine.any():
            continue
        above = tuple(zip(place[column[mine]].tolist(), state[mine].tolist(), strict=True))
        below = tuple(zip(place[column[~mine]].tolist(), state[~mine].tolist(), strict=True))
        item = grower.add(above, below)
        if item is None:
            return None
        links.append((number, item))
    numbers = np.array(links, dtype=np.int64).reshape(-1, 2)
    return ConditionalNetwork(grower.structure, numbers[:, 0], numbers[:, 1])


class _Grower:
    """Adds features to a structure, and the splits on targets that they need."""

    def __init__(self, structure: ConditionalStructure, max_edges: int) -> None:
        self.structure = structure
        self._max_edges = max_edges
        self._alone = {frozenset(c): i for i, c in enumerate(structure.conditions)}

    def add(self, targets: Conditions, inputs: Conditions) -> int | None:
        """The number of a feature, which is new or was made by a split; None if that costs too many edges."""
        for size in range(2, len(targets) + 1):
            if frozenset(targets[:size]) not in self._alone and not self._split(targets[:size]):
                return None
        alone = self._alone[frozenset(targets)]
        return self.structure.add_feature(self.structure.param_of(alone), inputs) if inputs else alone

    def _split(self, targets: Conditions) -> bool:
        """Make the parameter of conditions on targets by a split of all but the last."""
        item, column = self._alone[frozenset(targets[:-1])], targets[-1][0]
        limit = self._max_edges - self.structure.circuit.edges
        if limit < 0 or self.structure.edge_cost(item, column, limit) > limit:
            return False
        for new in self.structure.split(item, column):
            self._alone.setdefault(frozenset(self.structure.conditions[new]), new)
        return True
