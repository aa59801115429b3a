"""DACLearn (Rooshenas, «Learning Tractable Graphical Models», 2017, chapter IV)."""

from dataclasses import dataclass
from typing import ClassVar, Literal, final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.base.progress import Watch
from tractable.base.settings import setting
from tractable.data import Table
from tractable.learning.conditional.daclearn.field_learner import FieldLearner
from tractable.learning.conditional.daclearn.freeze import freeze_conditional
from tractable.learning.conditional.daclearn.rows import conditional_rows, input_cuts
from tractable.learning.conditional.targets import complete_targets, require_categorical_targets
from tractable.learning.learner import Learned
from tractable.learning.parameters import fit
from tractable.learning.parameters.max_margin import MaxMargin


@final
@dataclass(frozen=True, kw_only=True)
class DACLearnLearner(FieldLearner):
    """A conditional random field of conjunctive features, grown together with its circuit.

    It begins with the inputs that tell most about each target and with a tree over the targets. Features are
    then split on targets or inputs while the conditional likelihood gained is worth the new edges of the
    circuit, which stays smooth and decomposable over the targets only.
    """

    name: ClassVar[str] = "daclearn"
    title: ClassVar[str] = "Discriminative arithmetic circuit"

    loss: Literal["likelihood", "hamming", "zero-one"] = setting(
        "likelihood",
        "What the weights are fitted to at last: the conditional likelihood, or a margin for predictions by"
        " most probable completions that is the number of wrong targets (hamming), or one if any is wrong"
        " (zero-one). With a margin, probabilities mean little.",
    )

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        require_categorical_targets(table.schema, self.name)
        whole, held = complete_targets(table, valid, rng)
        cuts = input_cuts(whole, self.intervals)
        rows = conditional_rows(whole, cuts)
        held_out = None if held is None else conditional_rows(held, cuts)
        with threadpool_limits(1, user_api="blas"):  # so that sums do not depend on the number of threads
            objective = self.grow(rows, held_out, watch)
        graph = freeze_conditional(objective.structure, table.schema, objective.weights, cuts)
        if self.loss == "likelihood" or watch.should_stop() or not whole.total_weight:
            return Learned(graph)
        judges = held if held is not None and held.total_weight else None
        how = MaxMargin(loss=self.loss)
        return Learned(fit(graph, whole, how, rng, valid=judges, watch=watch.part("margin")).graph)
