"""DACLearn (Rooshenas, «Learning Tractable Graphical Models», 2017, chapter IV)."""

from dataclasses import dataclass
from typing import ClassVar, Literal, final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.arrays import Ints
from tractable.conditional.daclearn.freeze import freeze_conditional
from tractable.conditional.daclearn.initial import (
    chosen_inputs,
    mutual_information,
    plant_inputs,
    plant_tree,
    residual_forest,
)
from tractable.conditional.daclearn.objective import ConditionalLikelihood
from tractable.conditional.daclearn.rows import ConditionalRows, conditional_rows, input_cuts
from tractable.conditional.daclearn.structure import ConditionalStructure
from tractable.conditional.learner import ConditionalLearner
from tractable.conditional.roles import as_joint_table
from tractable.data import Schema, Table
from tractable.growing import FitEffort, Priors, SplitCosts
from tractable.growing.search import search_splits
from tractable.learners.learner import Learned
from tractable.learners.selective.completion import complete
from tractable.parameters import fit
from tractable.parameters.max_margin import MaxMargin
from tractable.progress import Watch
from tractable.settings import Between, setting

PLANTED_EFFORT = FitEffort(60, 1e-6)  # of the weights of the initial structure
FINAL_EFFORT = FitEffort(300, 1e-8)  # of the last fit of all weights


@final
@dataclass(frozen=True, kw_only=True)
class DACLearnLearner(ConditionalLearner):
    """A conditional random field of conjunctive features, grown together with its circuit.

    It begins with the inputs that tell most about each target and with a tree over the targets. Features are
    then split on targets or inputs while the conditional likelihood gained is worth the new edges of the
    circuit, which stays smooth and decomposable over the targets only.
    """

    name: ClassVar[str] = "daclearn"
    title: ClassVar[str] = "Discriminative arithmetic circuit"

    initial_inputs: tuple[int, ...] = setting(
        (10, 40),
        "Maximum numbers of inputs, those of highest mutual information, that each target depends on at"
        " first. The number that suits the validation rows best is taken, the last without validation rows.",
        at_least=0,
    )
    intervals: int = setting(
        8,
        "Maximum number of intervals, with about equally many rows, through which a numeric input is seen.",
        at_least=2,
    )
    l1: float = setting(
        1.0,
        "L1 penalty: the price in nats of a unit of a feature weight's distance from its prior mean.",
        at_least=0,
        search=Between(0.1, 5, log=True),
    )
    variance: float = setting(
        0.25,
        "Variance of the Gaussian prior of a feature weight.",
        at_least=1e-9,
        search=Between(0.05, 5, log=True),
    )
    split_cost: float = setting(
        5.0,
        "Conditional log-likelihood in nats, over all rows, that a split must gain.",
        at_least=0,
        search=Between(1, 10),
    )
    edge_cost: float = setting(
        0.1,
        "Conditional log-likelihood in nats that each edge added to the circuit must gain. It is halved"
        " whenever no split is worth its edges.",
        at_least=1e-9,
    )
    max_edges: int = setting(1_000_000, "Maximum number of edges of the circuit.", at_least=0)
    min_support: float = setting(
        0.01, "Smallest part of the rows in which a feature must hold to be split.", at_least=0, at_most=1
    )
    smoothing: float = setting(
        1.0, "Pseudo-counts of the distribution of each target by itself, the prior mean.", at_least=0
    )
    loss: Literal["likelihood", "hamming", "zero-one"] = setting(
        "likelihood",
        "What the weights are fitted to at last: the conditional likelihood, or a margin for predictions by"
        " most probable completions that is the number of wrong targets (hamming), or one if any is wrong"
        " (zero-one). With a margin, probabilities mean little.",
    )
    patience: int = setting(
        50,
        "Early stopping: the search ends after this many splits without a better score on the validation"
        " rows.",
        at_least=1,
    )

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        require_categorical_targets(table.schema)
        whole, held = complete_targets(table, valid, rng)
        cuts = input_cuts(whole, self.intervals)
        rows = conditional_rows(whole, cuts)
        held_out = None if held is None else conditional_rows(held, cuts)
        with threadpool_limits(1, user_api="blas"):  # so that sums do not depend on the number of threads
            objective = self._best_planted(rows, held_out, watch)
            costs = SplitCosts(
                split=self.split_cost, edge=self.edge_cost, max_edges=self.max_edges,
                least_support=self.min_support,
            )  # fmt: skip
            search_splits(objective, costs, self.patience, watch)
            objective.fit(FINAL_EFFORT)
        graph = freeze_conditional(objective.structure, table.schema, objective.weights, cuts)
        if self.loss == "likelihood" or watch.should_stop() or not whole.total_weight:
            return Learned(graph)
        judges = held if held is not None and held.total_weight else None
        how = MaxMargin(loss=self.loss)
        return Learned(fit(graph, whole, how, rng, valid=judges, watch=watch.part("margin")).graph)

    def _best_planted(
        self, rows: ConditionalRows, valid: ConditionalRows | None, watch: Watch
    ) -> ConditionalLikelihood:
        """The initial structure with the number of inputs that suits the validation rows best."""
        information = mutual_information(rows)
        best: ConditionalLikelihood | None = None
        for many in self.initial_inputs if valid is not None else self.initial_inputs[-1:]:
            planted = self._plant(rows, valid, chosen_inputs(information, many))
            if best is None or planted.score > best.score:
                best = planted
            if watch.should_stop():
                break
        assert best is not None
        return best

    def _plant(
        self, rows: ConditionalRows, valid: ConditionalRows | None, inputs: list[Ints]
    ) -> ConditionalLikelihood:
        """The objective of an initial structure, with fitted weights."""
        structure = ConditionalStructure(rows.target_states, rows.input_states)
        priors = Priors(self.l1, self.variance)
        objective = ConditionalLikelihood(structure, rows, valid, priors, smoothing=self.smoothing)
        plant_inputs(objective, inputs)
        objective.fit(PLANTED_EFFORT)
        plant_tree(objective, residual_forest(objective))
        objective.fit(PLANTED_EFFORT)
        return objective


def require_categorical_targets(schema: Schema) -> None:
    """Refuse targets that are numbers.

    Raises:
        ValueError: naming the first of them.
    """
    for column in schema.targets.tolist():
        if schema[column].is_numeric:
            raise ValueError(
                f"column '{schema[column].name}' is {schema[column].kind}: daclearn learns categorical"
                " targets; cacmn and joint learners take numbers"
            )


def complete_targets(
    table: Table, valid: Table | None, rng: np.random.Generator
) -> tuple[Table, Table | None]:
    """The tables without missing targets: some weighted rows, drawn from a tree, stand for a row with any."""
    tables = complete(as_joint_table(table), None if valid is None else as_joint_table(valid), rng)
    whole, held = (None if t is None else Table(table.schema, t.values, t.row_weights) for t in tables)
    assert whole is not None
    return whole, held
