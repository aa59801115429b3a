"""Gated sums of conditional random fields: ID-SPN's sums of circuits, for targets given inputs."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.base.progress import Watch
from tractable.base.settings import Between, redeclare, setting
from tractable.circuit.leaves.logistic import input_features
from tractable.data import Table
from tractable.learning.conditional.daclearn.field_learner import FieldLearner
from tractable.learning.conditional.daclearn.rows import input_cuts
from tractable.learning.conditional.mixture.fit import Sample
from tractable.learning.conditional.mixture.freeze import freeze_mixture
from tractable.learning.conditional.mixture.growth import Growth, grow_mixture
from tractable.learning.conditional.mixture.model import Component, FieldMixture, MixturePriors
from tractable.learning.conditional.mixture.rows import gated_rows
from tractable.learning.conditional.targets import complete_targets, require_categorical_targets
from tractable.learning.growing import Priors
from tractable.learning.learner import Learned


@final
@dataclass(frozen=True, kw_only=True)
class ConditionalMixtureLearner(FieldLearner):
    """A sum of conditional random fields, each with its circuit, whose weights depend on the inputs.

    It begins with the field that `daclearn` grows from all rows. A field is then divided into two, which are
    drawn to the field of all rows, gated by a regression on the inputs, and grown further with the rows that
    belong to them. All weights are fitted together to the conditional likelihood, with one partition function
    for the whole sum.
    """

    name: ClassVar[str] = "conditional-mixture"
    title: ClassVar[str] = "Mixture of conditional random fields"

    max_edges: int = redeclare(
        FieldLearner, "max_edges", 1_000_000, text="Maximum number of edges of the circuit of each field."
    )
    components: int = setting(
        4,
        "Maximum number of fields. One is added as long as that improves the score of the validation rows, or"
        " the Bayesian information criterion without validation rows.",
        at_least=1,
        search=Between(1, 5, whole=True),
    )
    min_rows: int = setting(
        200,
        "Least weight of the rows of a field that may be divided.",
        at_least=1,
        search=Between(50, 1000, whole=True, log=True),
    )
    strength: float = setting(
        1.0,
        "L1 penalty of the distance of a field's weights from those of the field of all rows, in multiples of"
        " the L1 penalty that suits the latter. A larger one draws fields with few rows closer to the whole.",
        at_least=0,
        search=Between(0.5, 5, log=True),
    )
    gate_l2: float = setting(
        2.0,
        "L2 penalty of the weights of gates.",
        at_least=1e-6,
        search=Between(0.5, 50, log=True),
    )
    component_patience: int = setting(
        50,
        "Early stopping: the search for splits of a field of a sum ends after this many splits without a"
        " better score on its share of the validation rows.",
        at_least=1,
    )
    iterations: int = setting(
        20,
        "Maximum number of rounds of ten quasi-Newton steps of all weights together. After each round the"
        " validation rows say whether to go on.",
        at_least=0,
    )

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        require_categorical_targets(table.schema, self.name)
        whole, held_table = complete_targets(table, valid, rng)
        cuts = input_cuts(whole, self.intervals)
        features = input_features(whole.schema, whole.schema.inputs, whole.values, whole.row_weights)
        rows = gated_rows(whole, cuts, features)
        held = None if held_table is None else gated_rows(held_table, cuts, features)
        with threadpool_limits(1, user_api="blas"):  # so that sums do not depend on the number of threads
            mixture = self._grow_mixture(Sample(rows, held), watch)
        return Learned(freeze_mixture(mixture, table.schema, features, cuts))

    def _grow_mixture(self, sample: Sample, watch: Watch) -> FieldMixture:
        """The field of all rows, and the sum that it becomes."""
        held = None if sample.held is None else sample.held.rows
        field = self.grow(sample.rows.rows, held, watch.part("whole"))
        one = Component(field.structure, field.weights, field.weights)
        mixture = FieldMixture((one,), np.zeros((1, sample.rows.x.shape[1])))
        if held is not None and not held.total:
            sample = Sample(sample.rows, None)
        return grow_mixture(mixture, sample, self._growth(field.priors), watch)

    def _growth(self, priors: Priors) -> Growth:
        """What the sum is allowed, under the priors of the field of all rows."""
        return Growth(
            self.components,
            self.min_rows,
            self.iterations,
            MixturePriors(priors.l1 * self.strength, priors.variance, self.gate_l2),
            self.costs,
            self.component_patience,
        )
