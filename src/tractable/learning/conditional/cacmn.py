"""Rooshenas, «Learning Tractable Graphical Models», 2017, section 4.4.2: CACMN."""

from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.base.arrays import Floats
from tractable.base.progress import Key, Watch
from tractable.base.settings import Between, redeclare, setting
from tractable.circuit import ConstantBlock, FeatureTable, Graph
from tractable.circuit.states import graph_forms
from tractable.data import Table
from tractable.learning.conditional.field.expectations import Sample
from tractable.learning.conditional.field.gains import choose_priors
from tractable.learning.conditional.field.rows import (
    ConditionalNetwork,
    conditional_network,
    conditional_rows,
)
from tractable.learning.conditional.learner import ConditionalLearner, as_joint_table, with_roles
from tractable.learning.growing import FeatureExpectations, FitEffort, Priors, Snapshot
from tractable.learning.growing.quasi_newton import FitTarget, WeightFitter
from tractable.learning.joint.markov import EACMNLearner
from tractable.learning.learner import Learned
from tractable.learning.parameters import fit
from tractable.learning.parameters.discriminative import Discriminative

JOINT = Key(__name__, "joint", Graph)


@final
@dataclass(frozen=True, kw_only=True)
class CACMNLearner(ConditionalLearner):
    """A Markov network learned by `eacmn`, with weights fitted to the targets given the inputs.

    The circuit covers all columns, so it is as large as that of a joint model. The weights are fitted on a
    circuit over the targets alone, unless that would be even larger: given the inputs, features are
    conditions on targets. Numeric columns are discretised into intervals whose densities are not changed by
    this fit.
    """

    name: ClassVar[str] = "cacmn"
    title: ClassVar[str] = "Markov network with conditional weights"

    l1: float = setting(
        1.0,
        "Strength of the L1 penalty of the conditional fit, in nats per unit of a weight's distance from its"
        " value in the joint network. With validation rows, other strengths are tried as well if each fit is"
        " fast.",
        at_least=0,
        search=Between(0.01, 5, log=True),
    )
    deviation: float = setting(
        0.5,
        "Standard deviation of the Gaussian prior of each weight, centred on its value in the joint network.",
        at_least=1e-6,
        search=Between(0.05, 5, log=True),
    )
    iterations: int = redeclare(Discriminative, "iterations", 30)
    joint_l1: float = redeclare(EACMNLearner, "l1", 2.0)
    joint_variance: float = redeclare(EACMNLearner, "variance", 2.0)
    split_cost: float = redeclare(EACMNLearner, "split_cost", 3.0)
    edge_cost: float = redeclare(EACMNLearner, "edge_cost", 0.1)
    max_edges: int = redeclare(EACMNLearner, "max_edges", 1_000_000)
    smoothing: float = redeclare(EACMNLearner, "smoothing", 1.0)
    min_support: float = redeclare(EACMNLearner, "min_support", 1e-4)
    patience: int = redeclare(EACMNLearner, "patience", 100)

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        def learn_joint(part: Watch) -> Graph:
            held_out = None if valid is None else as_joint_table(valid)
            return self.structure_learner().learn(as_joint_table(table), rng, valid=held_out, watch=part)

        joint = watch.remember(JOINT, learn_joint, rng, graph_forms(as_joint_table(table).schema))
        return Learned(self.fit_weights(joint, table, rng, valid, watch))

    def structure_learner(self) -> EACMNLearner:
        """The learner of the joint network."""
        return EACMNLearner(
            l1=self.joint_l1,
            variance=self.joint_variance,
            split_cost=self.split_cost,
            edge_cost=self.edge_cost,
            max_edges=self.max_edges,
            smoothing=self.smoothing,
            min_support=self.min_support,
            patience=self.patience,
        )

    def fit_weights(
        self, joint: Graph, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch
    ) -> Graph:
        """The circuit of the joint network with weights fitted to the targets of a table given its inputs."""
        graph = with_roles(joint, table.schema)
        if watch.should_stop() or not table.total_weight:
            return graph
        held_out = valid if valid is not None and valid.total_weight else None
        priors = Priors(self.l1, self.deviation**2)
        with threadpool_limits(1, user_api="blas"):  # so that sums do not depend on the number of threads
            fitted = fit_network(graph, (table, held_out), priors, watch.part("network"))
        if fitted is not None:
            return fitted
        method = Discriminative(l1=self.l1, deviation=self.deviation, iterations=self.iterations)
        return fit(graph, table, method, rng, valid=held_out, watch=watch.part("weights")).graph


EFFORT = FitEffort(100, 1e-7)
MOST_FITS = 24  # under different priors


class NetworkLikelihood:
    """The penalised conditional log-likelihood of training rows under a network.

    The prior means are the weights of the given network.
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
        """Set other priors and weights. The fit starts afresh."""
        self.priors = priors
        self._fitter = WeightFitter(self._expectations, self._sample.total, priors)
        self.state = self._fitter.evaluate(weights, self._target)

    @property
    def weights(self) -> Floats:
        """The weights of the features that involve targets."""
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

    def snapshot(self) -> Snapshot:
        """The weights to return to."""
        return Snapshot(0, self.weights, self.score)

    def fit(self, effort: FitEffort, watch: Watch) -> None:
        """Fit all weights."""
        self.state = self._fitter.fit(self.state, self._target, effort, watch)

    def _read(self, table: Table) -> Sample:
        cuts = [np.zeros(0)] * table.schema.inputs.size
        return Sample(self._network.structure, conditional_rows(table, cuts))

    def _of_structure(self, weights: Floats) -> Floats:
        """The weights of all features of the structure, zero for those that the network lacks."""
        answer = np.zeros(self._network.structure.items)
        answer[self._network.item] = weights
        return answer

    def _expectations(self, weights: Floats) -> FeatureExpectations:
        evaluator, share = self._sample.evaluator, self._sample.rows.group_weight / self._sample.total
        evaluation = evaluator.evaluate(self._of_structure(weights))
        expected = evaluator.sum_over_rows(evaluation.expected * share)[self._network.item]
        return FeatureExpectations(float(share @ evaluation.log_partition), expected)


def fit_network(graph: Graph, rows: tuple[Table, Table | None], priors: Priors, watch: Watch) -> Graph | None:
    """The circuit of a network with weights fitted to the targets given the inputs, or None.

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
    """Whether the constants of the circuit are exactly the weights of its features."""
    return bool(
        all(block.name in ("constant", "indicator") for block in graph.blocks)
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
    blocks = tuple(
        replace(block, log_value=value[block.node]) if isinstance(block, ConstantBlock) else block
        for block in graph.blocks
    )
    changed = graph.with_parameters(graph.log_weight, blocks)
    return replace(changed, features=replace(features, log_weight=weights))
