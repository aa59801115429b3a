"""Models of every kind whose files are damaged: each is learned or drawn once."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from fuzz.circuits import random_circuit, random_schema
from tractable.base.arrays import Floats
from tractable.circuit import Builder, Graph
from tractable.circuit.blocks import ConstantBlock, network_block
from tractable.circuit.combine import mixture
from tractable.circuit.features import FeatureTable
from tractable.circuit.generalised import generalise, two_target_example
from tractable.circuit.leaves.logistic import InputFeatures, SoftmaxRegressions
from tractable.circuit.leaves.perceptron import Committee, Layer, Perceptron
from tractable.circuit.shapes import declare_shape
from tractable.data import Schema, Table, Variable, discrete_schema
from tractable.formats import Document, write_circuit
from tractable.formats.generalised import write_generalised
from tractable.learning.conditional import CONDITIONAL
from tractable.learning.joint import LEARNERS

RANDOM = 24  # circuits that are drawn

Make = Callable[[Path], None]


def plain_mixture() -> Graph:
    """Two components over a state, a number and a count."""
    schema = Schema((Variable("a", states=("x", "y")), Variable("n", "real"), Variable("k", "count")))
    builder = Builder(schema)
    parts = [
        builder.product(
            [
                builder.leaf("bernoulli", 0, [0.5 * i]),
                builder.leaf("gaussian", 1, [1.0 * i, 0.25]),
                builder.leaf("poisson", 2, [0.5]),
            ]
        )
        for i in (0, 1)
    ]
    builder.sum(parts, np.log([0.4, 0.6]))
    return builder.freeze()


def binary(features: bool = False) -> Graph:
    """An arithmetic circuit over two binary columns, with a feature table or without."""
    builder = Builder(discrete_schema([2, 2]))
    ones = [builder.constant(0.5 * i) for i in range(2)]
    parts = [
        builder.product([builder.indicator(0, i), builder.indicator(1, 1 - i), ones[i]]) for i in range(2)
    ]
    root = builder.sum(parts, [0.0, 0.0])
    table = FeatureTable(
        np.array(ones),
        np.array([0.0, 0.5]),
        np.array([0, 1, 2]),
        np.array([0, 1]),
        np.array([1, 0]),
        np.array([True, True]),
    )
    return builder.freeze(root, table if features else None)


@cache
def drawn(number: int) -> Graph:
    """A random circuit with leaves of any family."""
    rng = np.random.default_rng(number)
    return random_circuit(rng, random_schema(rng))


GIVEN = Schema(
    (
        Variable("i", states=("no", "yes"), role="input"),
        Variable("x", "real", role="input"),
        Variable("u", states=("a", "b")),
        Variable("v", states=("c", "d", "e")),
    )
)


def _rows(targets: int) -> Table:
    rng = np.random.default_rng(0)
    i, x = rng.integers(0, 2, 60), rng.normal(size=60)
    u = np.where(rng.random(60) < 0.1, 1 - i, i)
    v = np.where(rng.random(60) < 0.8, np.where(x > 0, 2, 0), 1)
    return Table(
        GIVEN.select(range(2 + targets)), np.column_stack([i, x, u, v])[:, : 2 + targets].astype(float)
    )


@cache
def conditional(name: str) -> Graph:
    """What a learner of conditional models makes of a small table."""
    made = CONDITIONAL[name]()
    return made.learn(_rows(1 if made.single_target else 2), np.random.default_rng(0))


def gated() -> Graph:
    """A sum whose weights are two gates, over fields of which one reads an interval."""
    features = InputFeatures(np.array([0, 1]), np.array([1, -1]), np.array([0.0, 0.5]), np.array([1.0, 2.0]))
    builder = Builder(GIVEN.select([0, 1, 2]))
    nodes = builder.gates(SoftmaxRegressions(features, np.array([[[0.5, -1.0, 0.25]]])))[0].tolist()
    parts = [builder.product([nodes[i], builder.leaf("bernoulli", 2, [i - 0.5])]) for i in range(2)]
    builder.sum(parts, [0.0, 0.0])
    return builder.freeze()


def above_network() -> Graph:
    """Two targets whose joint states are outputs of two perceptrons."""
    rng = np.random.default_rng(1)

    def perceptron() -> Perceptron:
        layers = (Layer(rng.normal(size=(3, 3)), rng.normal(size=3), "sigmoid"),)
        return Perceptron(
            ("i", "x"), (2, 0), (*layers, Layer(rng.normal(size=(2, 3)), np.zeros(2), "softplus"))
        )

    builder = Builder(GIVEN.select([0, 1, 2]))
    leaves = [builder.constant(0.0), builder.constant(1.0)]
    builder.sum([builder.product([leaves[k], builder.indicator(2, k)]) for k in (0, 1)], [0.0, 0.0])
    plain = builder.freeze()
    network = Committee((perceptron(), perceptron()))
    blocks = [
        network_block(network, plain.schema, b.node, np.arange(2)) if isinstance(b, ConstantBlock) else b
        for b in plain.blocks
    ]
    return replace(plain, blocks=tuple(blocks))


def mapped() -> Graph:
    """What a learner of joint leaves makes of numbers that are not normal."""
    rng = np.random.default_rng(2)
    z = rng.normal(size=(80, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])
    values = np.column_stack([np.exp(z), rng.integers(0, 2, 80)])
    schema = Schema((Variable("x", "real"), Variable("y", "real"), Variable("c", states=("a", "b"))))
    return LEARNERS["gaussian-mixture"]().learn(Table(schema, values), np.random.default_rng(0))


def one_shape() -> Graph:
    """Eight components of one shape, whose file has the shape once."""
    builder = Builder(discrete_schema([2, 3]))
    rng = np.random.default_rng(3)

    def shares() -> Floats:
        return np.log(rng.dirichlet(np.ones(3)))

    pairs = [
        [builder.leaf("bernoulli", 0, [rng.normal()]), builder.leaf("categorical", 1, shares())]
        for _ in range(9)
    ]
    builder.sum([builder.product(pair) for pair in pairs], np.log(np.full(9, 1 / 9)))
    return declare_shape(builder.freeze())


def by_members() -> Graph:
    """A mixture of a mixture of one shape and another circuit, whose file has members."""
    other = Builder(discrete_schema([2, 3]))
    other.product([other.leaf("bernoulli", 0, [0.1]), other.leaf("categorical", 1, np.log([0.2, 0.3, 0.5]))])
    return mixture([one_shape(), other.freeze()], [0.5, 0.5])


@cache
def graph(name: str) -> Graph:
    """A model by its name."""
    kind, _, which = name.partition(":")
    if kind == "drawn":
        return drawn(int(which))
    if kind == "conditional":
        return conditional(which)
    return MODELS[kind]()


MODELS: dict[str, Callable[[], Graph]] = {
    "mixture": plain_mixture,
    "binary": binary,
    "features": lambda: binary(features=True),
    "gated": gated,
    "network": above_network,
    "mapped": mapped,
    "shape": one_shape,
    "members": by_members,
}
LEARNED = ("daclearn", "mctbn", "conditional-spn", "dspn-svd")
EVERY = (*MODELS, *(f"conditional:{name}" for name in LEARNED), *(f"drawn:{i}" for i in range(RANDOM)))
READABLE = tuple(n for n in EVERY if n not in ("network", "conditional:dspn-svd"))
GENERALISED: dict[str, Callable[[], object]] = {
    "example": two_target_example,
    "network": lambda: generalise(above_network()),
    "features": lambda: generalise(binary(features=True)),
    "shape": lambda: generalise(one_shape()),
}


def save_model(name: str, path: Path) -> None:
    """The file of a model."""
    write_circuit(Document(graph(name), {"seed": 1}), path)


def save_generalised(name: str, path: Path) -> None:
    """The file of a generalised circuit."""
    made = GENERALISED[name]()
    write_generalised(made, {"seed": 1}, path)  # type: ignore[arg-type]
