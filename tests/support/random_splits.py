"""Growing circuits split at random."""

import itertools

import numpy as np

from tractable.base.arrays import Ints
from tractable.learning.growing import Conditions, GrowingCircuit


def singles(states: Ints) -> list[Conditions]:
    return [((column, state),) for column, many in enumerate(states.tolist()) for state in range(many)]


def random_splits(
    circuit: GrowingCircuit, rng: np.random.Generator, many: int
) -> "itertools.chain[list[Conditions]]":
    """Split at random; after each split the features there are."""
    features = singles(circuit.states)

    def one() -> list[list[Conditions]]:
        at = int(rng.integers(len(features)))
        free = set(range(circuit.states.size)) - {column for column, _ in features[at]}
        if not free:
            return []
        column = int(rng.choice(sorted(free)))
        expected, before = circuit.edge_cost(np.array([at]), column), circuit.edges
        new = circuit.split(np.array([at]), column)
        assert circuit.edges - before == expected
        assert new.ravel().tolist() == list(range(len(features), len(features) + circuit.states[column]))
        features.extend((*features[at], (column, state)) for state in range(circuit.states[column]))
        return [features]

    return itertools.chain.from_iterable(one() for _ in range(many))
