"""Rooshenas, «Learning Tractable Graphical Models», 2017, section 4.4.2: CACMN."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.base.progress import Watch
from tractable.base.settings import Between, redeclare, setting
from tractable.circuit import Graph
from tractable.circuit.states import graph_form
from tractable.data import Table
from tractable.learning.conditional.cacmn.weights import fit_network
from tractable.learning.conditional.learner import ConditionalLearner
from tractable.learning.conditional.roles import as_joint_table, with_roles
from tractable.learning.growing import Priors
from tractable.learning.joint.markov.eacmn import EACMNLearner
from tractable.learning.learner import Learned
from tractable.learning.parameters import fit
from tractable.learning.parameters.discriminative import Discriminative


@final
@dataclass(frozen=True, kw_only=True)
class CACMNLearner(ConditionalLearner):
    """The Markov network that `eacmn` learns over all columns, its weights fitted to targets given inputs.

    The circuit stays valid over all columns, so it is as large as that of a joint model. The weights are
    fitted on a circuit over the targets alone, unless that would be even larger: given the inputs, features
    are conditions on targets. Numeric columns take part through pieces, whose densities stay as they are.
    """

    name: ClassVar[str] = "cacmn"
    title: ClassVar[str] = "Markov network with conditional weights"

    l1: float = setting(
        1.0,
        "L1 penalty of the conditional fit: the price in nats of a unit of a weight's distance from that of"
        " the joint network. With validation rows, priors that suit these better are taken where each fit is"
        " quick.",
        at_least=0,
        search=Between(0.01, 5, log=True),
    )
    deviation: float = setting(
        0.5,
        "Standard deviation of the Gaussian prior of a weight around that of the joint network.",
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

        joint = watch.remember("joint", learn_joint, graph_form(as_joint_table(table).schema), rng)
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
        how = Discriminative(l1=self.l1, deviation=self.deviation, iterations=self.iterations)
        return fit(graph, table, how, rng, valid=held_out, watch=watch.part("weights")).graph
