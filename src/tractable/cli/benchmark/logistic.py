"""Independent logistic regressions by scikit-learn, which learners of conditional circuits should beat."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Watch
from tractable.circuit import Graph
from tractable.circuit.builder import Builder
from tractable.circuit.leaves.logistic import InputFeatures, SoftmaxRegressions, input_features
from tractable.cli.benchmark.datasets import Tables

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression

NAME = "logistic"
STRENGTHS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # scikit-learn's C, the inverse of the L2 penalty


@dataclass(frozen=True)
class LogisticContestant:
    """A regression of each target on all inputs; its C is the best on the validation rows."""

    name: str = NAME

    @property
    def settings(self) -> dict[str, dict[str, Any]]:
        """The values of C that are tried."""
        return {NAME: {"C": list(STRENGTHS)}}

    def learn(self, tables: Tables, rng: np.random.Generator, watch: Watch) -> Graph:
        """The circuit in which all targets are independent given the inputs."""
        train = tables.train
        schema = train.schema
        features = input_features(schema, schema.inputs, train.values, train.row_weights)
        builder = Builder(schema)
        nodes = []
        for number, column in enumerate(schema.targets.tolist()):
            watch.report("regressions", number, schema.targets.size)
            weights = _weights(tables, features, column, watch)
            nodes.append(_target_node(builder, features, column, weights))
        builder.product(nodes)
        return builder.freeze()


def _target_node(builder: Builder, features: InputFeatures, column: int, weights: Floats) -> int:
    gates = builder.gates(SoftmaxRegressions(features, weights[None]))[0].tolist()
    terms = [builder.product([builder.indicator(column, k), gate]) for k, gate in enumerate(gates)]
    return builder.sum(terms, np.zeros(len(terms)))


def _weights(tables: Tables, features: InputFeatures, column: int, watch: Watch) -> Floats:
    """The weights of the regression of one target. Shape (states - 1, features + 1)."""
    states = tables.train.schema[column].cardinality
    y = tables.train.values[:, column].astype(np.int64)
    counts = np.bincount(y, tables.train.row_weights, states) + 0.5
    alone = np.zeros((states - 1, len(features) + 1))
    alone[:, -1] = np.log(counts[1:] / counts[0])
    if np.unique(y).size < states or not len(features):  # some state was never seen: the inputs tell nothing
        return alone
    held = features.encode(tables.valid.values), tables.valid.values[:, column].astype(np.int64)
    x = features.encode(tables.train.values)[:, :-1]
    candidates = [(_score(alone, held), alone)]
    for model in _regressions(x, y, tables.train.row_weights):
        weights = _as_weights(model)
        candidates.append((_score(weights, held), weights))
        if watch.should_stop():
            break
    return max(candidates, key=lambda one: one[0])[1]


def _regressions(x: Floats, y: Ints, weight: Floats) -> Iterator["LogisticRegression"]:
    """A regression fitted with decreasing penalties, each starting from the previous fit."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=300, tol=1e-3, warm_start=True)
    for strength in STRENGTHS:
        yield model.set_params(C=strength).fit(x, y, sample_weight=weight)


def _as_weights(model: "LogisticRegression") -> Floats:
    both = np.concatenate([model.coef_, model.intercept_[:, None]], axis=1)
    return both if len(model.classes_) == 2 else both[1:] - both[:1]


def _score(weights: Floats, held: tuple[Floats, Ints]) -> float:
    """The mean log-likelihood of held-out rows."""
    x, y = held
    scores = np.concatenate([np.zeros((len(x), 1)), x @ weights.T], axis=1)
    logs = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
    return float(logs[np.arange(len(y)), y].mean())
