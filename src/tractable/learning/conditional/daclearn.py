"""DACLearn (Rooshenas, «Learning Tractable Graphical Models», 2017, chapter IV)."""

from dataclasses import dataclass
from typing import ClassVar, Literal, final

import numpy as np

from tractable.base.progress import Watch
from tractable.base.settings import setting
from tractable.data import Table
from tractable.learning.conditional.field.freeze import freeze_conditional
from tractable.learning.conditional.field.learner import FieldLearner
from tractable.learning.conditional.field.rows import conditional_rows, input_cuts
from tractable.learning.learner import Learned
from tractable.learning.parameters import fit
from tractable.learning.parameters.max_margin import MaxMargin


@final
@dataclass(frozen=True, kw_only=True)
class DACLearnLearner(FieldLearner):
    """A conditional random field of conjunctive features that grows together with its circuit.

    The initial model has the most informative inputs of each target and a tree over the targets. Features are
    then split on targets or inputs as long as the gain in conditional likelihood outweighs the added edges.
    The circuit is smooth and decomposable over the targets only.
    """

    name: ClassVar[str] = "daclearn"
    title: ClassVar[str] = "Discriminative arithmetic circuit"

    loss: Literal["likelihood", "hamming", "zero-one"] = setting(
        "likelihood",
        "Objective of the final fit of the weights: the conditional likelihood, or a large-margin loss for"
        " predictions by most probable completions. The required margin is the number of wrong targets"
        " (hamming) or one if any target is wrong (zero-one). With a margin, predicted probabilities are not"
        " meaningful.",
    )

    def _learn_complete(
        self, table: Table, rng: np.random.Generator, held: Table | None, watch: Watch
    ) -> Learned:
        cuts = input_cuts(table, self.intervals)
        held_out = None if held is None else conditional_rows(held, cuts)
        objective = self.grow(conditional_rows(table, cuts), held_out, watch)
        graph = freeze_conditional(objective.structure, table.schema, objective.weights, cuts)
        if self.loss == "likelihood" or watch.should_stop() or not table.total_weight:
            return Learned(graph)
        margin = MaxMargin(loss=self.loss)
        return Learned(fit(graph, table, margin, rng, valid=held, watch=watch.part("margin")).graph)
