"""Circuits over features for each class: the class-conditional densities."""

from dataclasses import dataclass
from math import log
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.base.progress import Key, Watch
from tractable.circuit import PRODUCT, SUM, Block, Builder, Graph, LeafBlock
from tractable.circuit.assemble import Edges, assemble
from tractable.circuit.blocks import network_block
from tractable.circuit.graph import LEAF
from tractable.circuit.leaves import Gaussian, Indicator
from tractable.circuit.leaves.perceptron import COS, Layer
from tractable.circuit.states import graph_forms
from tractable.data import Schema, Table
from tractable.engine.feature_circuits import FeatureCircuits, feature_schema, log_sums
from tractable.learning.conditional.dspn_svd.hsic import FeatureSettings, FourierMap, Projection
from tractable.learning.joint.gaussian_mixture.learner import GaussianMixtureLearner
from tractable.learning.joint.gaussian_mixture.map_fits import centre_and_scale
from tractable.learning.joint.rank_one.learner import SPNSVDLearner
from tractable.learning.learner import Learner

DENSITY = Key(__name__, "density", Graph)

UNSEEN = 0.5  # rows for which a class without any counts
SPREAD = 1.5  # the standard deviations of the background are so many times those of the features

Density: TypeAlias = Literal["blocks", "gaussian-mixture"]


class LabelledRows(NamedTuple):
    """Numeric rows with their classes."""

    x: Floats  # (rows, numbers)
    codes: Ints  # (rows,)
    weights: Floats  # (rows,) above zero
    classes: int

    def take(self, places: Ints) -> "LabelledRows":
        """A subset of the rows."""
        return LabelledRows(self.x[places], self.codes[places], self.weights[places], self.classes)

    @property
    def totals(self) -> Floats:
        """The weight of each class. Shape (classes,)."""
        return np.bincount(self.codes, self.weights, self.classes).astype(np.float64)


class Choice(NamedTuple):
    """The settings that are selected on held-out rows."""

    n_features: int
    gamma: float  # of `spn-svd`


@dataclass(frozen=True)
class Design:
    """The settings that all choices share."""

    features: FeatureSettings
    density: Density
    background: float  # share of the density of all rows in that of each class
    seed: int

    def learner(self, gamma: float) -> Learner:
        """The learner of the circuit of a class.

        Raises:
            ValueError: if there is no such density.
        """
        if self.density not in get_args(Density):
            raise ValueError(f"density must be 'blocks' or 'gaussian-mixture', not {self.density!r}")
        if self.density == "gaussian-mixture":
            return GaussianMixtureLearner()
        return SPNSVDLearner(gamma=(gamma,), leaf="instances")


@dataclass(frozen=True, eq=False)
class ClassModel:
    """Features, circuits over them, and the joint density of features and class as sums of the circuits."""

    choice: Choice
    projection: Projection
    graphs: tuple[Graph, ...]
    weights: Floats  # (classes, circuits)

    def log_joint(self, x: Floats) -> Floats:
        """The log of the joint density of features and each class, up to a number for each row."""
        return self.log_joint_at(self.projection(x))

    def log_joint_at(self, z: Floats) -> Floats:
        """The joint log-density for features, including unused ones. Both (rows, classes)."""
        return log_sums(self.graphs, self.weights, z[:, : self.projection.directions.shape[1]])


def learn_model(
    rows: LabelledRows,
    features: tuple[Projection, Floats],
    choice: Choice,
    design: Design,
    watch: Watch,
) -> ClassModel:
    """A circuit over the features of the rows of each class; `features` are all features and their values.

    A class without rows has the density of all rows and a small weight; so have all classes if the features
    are constant.
    """
    projection, z = features[0].first(choice.n_features), features[1][:, : choice.n_features]
    table = Table(feature_schema(z.shape[1]), z, rows.weights)
    part = watch.part(f"{choice.n_features} features, gamma {choice.gamma!r}")
    learner, forms = design.learner(choice.gamma), graph_forms(table.schema)
    has_own = (rows.totals > 0) & bool(len(z) and np.ptp(z, axis=0).any())
    graphs: list[Graph] = []
    for code in np.flatnonzero(has_own).tolist():
        own = table.take(rows.codes == code)

        def work(inner: Watch, own: Table = own) -> Graph:
            return learner.learn(own, np.random.default_rng(design.seed), watch=inner)

        graphs.append(part.remember(DENSITY.at(code), work, forms=forms))
    weights = class_weights(rows.totals, has_own, design.background)
    if weights.shape[1] > len(graphs):
        graphs.append(background_circuit(table))
    return ClassModel(choice, projection, tuple(graphs), weights)


def class_weights(totals: Floats, has_own: Bools, background: float) -> Floats:
    """The weights of the circuits in the density of each class with its share. Shape (classes, circuits).

    There is a circuit for each class that has one of its own, and then one of all rows, if any class needs
    it.
    """
    shares = np.where(totals > 0, totals, UNSEEN)
    shares = shares / shares.sum()
    own = np.flatnonzero(has_own)
    weights = np.zeros((totals.size, own.size + 1))
    weights[own, np.arange(own.size)] = 1.0 - background
    weights[:, -1] = np.where(has_own, background, 1.0)
    return shares[:, None] * weights[:, : None if weights[:, -1].any() else -1]


def background_circuit(table: Table) -> Graph:
    """Independent features with the means of all rows and more than their spread."""
    builder = Builder(table.schema)
    leaves = []
    for column in range(len(table.schema)):
        mean, sd = centre_and_scale(table.values[:, column], table.row_weights)
        leaves.append(builder.leaf(Gaussian.name, column, (mean, log(SPREAD * sd))))
    builder.product(leaves)
    return builder.freeze()


def input_layers(projection: Projection) -> tuple[Layer, ...]:
    """The features as layers of a perceptron."""
    directions = np.ascontiguousarray(projection.directions.T)
    none = np.zeros(len(directions))
    if not isinstance(projection.mapped, FourierMap):
        return (Layer(directions, none),)
    cosines = projection.mapped
    first = Layer(np.ascontiguousarray(cosines.frequencies.T), cosines.phases, COS)
    return (first, Layer(cosines.scale * directions, none))


def freeze_classes(network: FeatureCircuits, schema: Schema) -> Graph:
    """The sum over the classes of the target of an indicator times the network's output of its number."""
    target, classes = int(schema.targets[0]), network.outputs
    number = np.arange(classes)
    indicators, outputs, products, root = number, classes + number, 2 * classes + number, 3 * classes
    kind = np.concatenate([np.full(2 * classes, LEAF), np.full(classes, PRODUCT), [SUM]])
    parent = np.concatenate([products, products, np.full(classes, root)])
    child = np.concatenate([indicators, outputs, products])
    states = number.astype(np.float64)[:, None]
    blocks: list[Block] = [
        LeafBlock(Indicator(), indicators, np.full(classes, target), states),
        network_block(network, schema, outputs, number),
    ]
    return assemble(schema, kind, Edges(parent, child, np.zeros(parent.size)), blocks)
