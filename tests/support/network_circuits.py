"""Circuits below which a neural network stands."""

from itertools import product

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit import Graph
from tractable.circuit.leaves.perceptron import Committee, Layer, Perceptron
from tractable.data import Schema, Variable
from tractable.learning.conditional.field.freeze import freeze_generalised
from tractable.learning.conditional.field.structure import ConditionalStructure

STATES = np.array([2, 3, 2])


SCHEMA = Schema(
    (
        Variable("a", "real", role="input"),
        Variable("b", states=("x", "y", "z"), role="input"),
        *(Variable(f"y{i}", states=tuple(range(k))) for i, k in enumerate(STATES.tolist())),
    )
)


def grown(seed: int, splits: int = 4) -> ConditionalStructure:
    """A structure after random splits."""
    rng = np.random.default_rng(seed)
    structure = ConditionalStructure(STATES, np.zeros(0, dtype=np.int64))
    for _ in range(splits):
        item, column = int(rng.integers(structure.items)), int(rng.integers(3))
        if structure.is_allowed(item, column):
            structure.split(item, column)
    return structure


def every_target() -> Floats:
    return np.array(list(product(*(range(k) for k in STATES))), dtype=np.float64)


def committee(seed: int, members: int = 2) -> Committee:
    rng = np.random.default_rng(seed)
    return Committee(
        tuple(
            Perceptron(
                ("a", "b"),
                (0, 3),
                (
                    Layer(rng.normal(size=(5, 4)), rng.normal(size=5), "softplus"),
                    Layer(rng.normal(size=(7, 5)), rng.normal(size=7), "biased-sigmoid"),
                ),
            )
            for _ in range(members)
        )
    )


def network_graph(seed: int) -> tuple[Graph, ConditionalStructure, Floats, Committee]:
    structure, network = grown(seed), committee(seed)
    weights = np.random.default_rng(seed).normal(size=structure.items)
    return freeze_generalised(structure, SCHEMA, weights, network), structure, weights, network


def some_inputs(seed: int, rows: int) -> Floats:
    rng = np.random.default_rng(seed)
    return np.stack([rng.normal(size=rows), rng.integers(0, 3, rows).astype(np.float64)], axis=1)
