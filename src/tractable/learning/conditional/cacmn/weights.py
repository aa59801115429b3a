"""The weights of a Markov network's features, fitted to the conditional likelihood of its targets."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.circuit import FeatureTable, Graph, LeafBlock
from tractable.data import Table
from tractable.learning.conditional.cacmn.network import ConditionalNetwork, conditional_network
from tractable.learning.conditional.daclearn.priors import choose_priors
from tractable.learning.conditional.daclearn.rows import conditional_rows
from tractable.learning.conditional.daclearn.sample import Sample
from tractable.learning.growing import FeatureExpectations, FitEffort, Priors
from tractable.learning.growing.weights import FitTarget, WeightFitter

EFFORT = FitEffort(100, 1e-7)
MOST_FITS = 24  # under different priors


class NetworkScore(NamedTuple):
    """Weights, and how well they do."""

    weights: Floats
    score: float


class NetworkLikelihood:
    """The conditional log-likelihood of training rows under a network, less the cost of priors.

    The priors draw the weights to those that the network came with.
    """

    def __init__(
        self, network: ConditionalNetwork, start: Floats, rows: tuple[Table, Table | None], priors: Priors
    ) -> None:
        self._network = network
        train, valid = rows
        self._sample = self._read(train)
        self._valid = None if valid is None else self._read(valid)
        self._target = FitTarget(self._sample.frequency[network.item], start)
        self.change_priors(priors, start)

    def change_priors(self, priors: Priors, weights: Floats) -> None:
        """Take other priors, and weights. The fit starts afresh."""
        self.priors = priors
        self._fitter = WeightFitter(self._expectations, self._sample.total, priors)
        self.state = self._fitter.evaluate(weights, self._target)

    @property
    def weights(self) -> Floats:
        """The weights of the features that bear on targets."""
        return self.state.weight

    @property
    def score(self) -> float:
        """The mean conditional log-likelihood of the validation rows, or of the training rows without any."""
        if self._valid is not None:
            return self._valid.mean_log_likelihood(self._of_structure(self.weights))
        return float(self.weights @ self._target.frequency) - self.state.expectations.log_partition

    @property
    def has_validation_rows(self) -> bool:
        """Whether the score is that of validation rows."""
        return self._valid is not None

    def snapshot(self) -> NetworkScore:
        """The weights to return to."""
        return NetworkScore(self.weights, self.score)

    def fit(self, effort: FitEffort, watch: Watch) -> None:
        """Fit all weights."""
        self.state = self._fitter.fit(self.state, self._target, effort, watch)

    def _read(self, table: Table) -> Sample:
        cuts = [np.zeros(0)] * table.schema.inputs.size
        return Sample(self._network.structure, conditional_rows(table, cuts))

    def _of_structure(self, weights: Floats) -> Floats:
        """The weights of all features of the structure: those that the network lacks have none."""
        answer = np.zeros(self._network.structure.items)
        answer[self._network.item] = weights
        return answer

    def _expectations(self, weights: Floats) -> FeatureExpectations:
        evaluator, share = self._sample.evaluator, self._sample.rows.group_weight / self._sample.total
        found = evaluator.evaluate(self._of_structure(weights))
        expected = evaluator.sum_over_rows(found.expected * share)[self._network.item]
        return FeatureExpectations(float(share @ found.log_partition), expected)


def fit_network(graph: Graph, rows: tuple[Table, Table | None], priors: Priors, watch: Watch) -> Graph | None:
    """The circuit of a network with weights fitted to targets given inputs.

    `rows` are training rows, and validation rows if there are any. None if it cannot be fitted as a network:
    it has other parameters than weights of features, cells are missing, or its circuit over the targets would
    be larger than that over all columns.
    """
    features, schema = graph.features, graph.schema
    if features is None or not _are_parameters(graph, features) or _lack_cells(rows):
        return None
    roles = schema.targets, schema.inputs
    network = conditional_network(features, roles, schema.cardinalities, graph.edges)
    if network is None:
        return None
    start = features.log_weight[network.feature]
    objective = NetworkLikelihood(network, start, rows, priors)
    before = objective.snapshot()
    objective.fit(EFFORT, watch.part("weights"))
    if objective.has_validation_rows and objective.score <= before.score:
        objective.change_priors(priors, before.weights)
    choose_priors(objective, EFFORT, MOST_FITS, watch.part("priors"))
    weights = features.log_weight.copy()
    weights[network.feature] = objective.weights
    return _with_weights(graph, features, weights)


def _lack_cells(rows: tuple[Table, Table | None]) -> bool:
    return any(table is not None and bool(table.missing.any()) for table in rows)


def _are_parameters(graph: Graph, features: FeatureTable) -> bool:
    """Whether the constants of the circuit are the weights of its features, and there is nothing else."""
    constants = [block for block in graph.leaves if block.family.is_constant]
    indicators = all(block.family.name == "indicator" for block in graph.leaves if block not in constants)
    return bool(
        indicators
        and not graph.log_weight.any()
        and features.equals.all()
        and np.isfinite(features.log_weight).all()
        and np.unique(features.node).size == len(features)
        and features.node.min() >= 0
    )


def _with_weights(graph: Graph, features: FeatureTable, weights: Floats) -> Graph:
    """The circuit with other weights of its features."""
    value = np.zeros(graph.nodes)
    value[features.node] = weights
    leaves = tuple(
        LeafBlock(block.family, block.node, block.column, value[block.node][:, None])
        if block.family.is_constant
        else block
        for block in graph.leaves
    )
    changed = graph.with_parameters(graph.log_weight, leaves)
    return replace(changed, features=replace(features, log_weight=weights))
