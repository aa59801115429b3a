"""GACLearn (Rooshenas, «Learning Tractable Graphical Models», 2017, chapter V)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.base.arrays import Ints
from tractable.base.progress import Watch
from tractable.base.settings import Between, redeclare, setting
from tractable.circuit import Graph
from tractable.data import Table
from tractable.learning.conditional.field.freeze import freeze_generalised
from tractable.learning.conditional.field.learner import (
    FINAL_EFFORT,
    PLANTED_EFFORT,
    FieldLearner,
    plant_tree,
    residual_forest,
)
from tractable.learning.conditional.field.objective import ConditionalLikelihood
from tractable.learning.conditional.field.structure import ConditionalStructure
from tractable.learning.conditional.inputs import scale_inputs
from tractable.learning.conditional.learner import (
    ConditionalLearner,
    complete_targets,
    require_categorical_targets,
)
from tractable.learning.growing import Priors, SplitCosts
from tractable.learning.growing.search import search_splits
from tractable.learning.learner import Learned

if TYPE_CHECKING:
    from tractable.learning.conditional.networks.committee import NetworkCommittee
    from tractable.learning.conditional.networks.modules import MakeNetwork

MOST_WEIGHT = 1e20  # of all rows, and the inverse of the least: their squares are single-precision numbers
LEAST_WEIGHT = 1e-30  # of a row


@final
@dataclass(frozen=True, kw_only=True)
class GACLearnLearner(ConditionalLearner):
    """A circuit over the targets, with potentials that are outputs of neural networks over the inputs.

    The networks are first trained as if the targets were independent given the inputs. Then features over the
    targets are added with the potentials held fixed, and finally networks and weights are trained together.
    Learning requires PyTorch, using the learned models does not.
    """

    name: ClassVar[str] = "gaclearn"
    title: ClassVar[str] = "Generalised arithmetic circuit"

    hidden: int = setting(
        200,
        "Number of units in each hidden layer of a network.",
        at_least=1,
        search=Between(20, 500, log=True),
    )
    layers: int = setting(1, "Number of hidden layers of a network.", at_least=0, at_most=8)
    members: int = setting(
        5,
        "Number of networks in the ensemble, whose potentials are averaged geometrically. Each network is"
        " stopped early on a different fold of the rows; a single network uses one fifth of the rows for"
        " this.",
        at_least=1,
    )
    dropout: tuple[float, ...] = setting(
        (0.0, 0.5),
        "Dropout rates of the hidden units to try. The dropout rate of the inputs is half of that. The rate"
        " with the lowest loss on held-out rows is selected.",
        at_least=0,
        at_most=0.95,
    )
    learning_rate: float = setting(
        0.001, "Learning rate of the optimiser (AdamW).", at_least=1e-9, search=Between(1e-4, 1e-2, log=True)
    )
    weight_decay: float = setting(
        0.0001, "Weight decay of the optimiser (AdamW).", at_least=0, search=Between(1e-5, 1, log=True)
    )
    batch_size: int = setting(64, "Number of rows in a mini-batch.", at_least=1)
    epochs: int = setting(200, "Maximum number of passes over the rows.", at_least=0)
    network_patience: int = setting(
        10,
        "Early stopping: the training of a network ends after this many epochs without a lower loss on its"
        " held-out rows.",
        at_least=1,
    )
    loss: Literal["likelihood", "hamming", "zero-one"] = setting(
        "likelihood",
        "Objective of the joint training of networks and circuit: the conditional likelihood, or a"
        " large-margin loss for predictions by most probable completions. The required margin is the number"
        " of wrong targets (hamming) or one if any target is wrong (zero-one). With a margin, predicted"
        " probabilities are not meaningful.",
    )
    l1: float = redeclare(FieldLearner, "l1", 0.5)
    variance: float = redeclare(FieldLearner, "variance", 1.0)
    split_cost: float = redeclare(FieldLearner, "split_cost", 5.0)
    edge_cost: float = redeclare(FieldLearner, "edge_cost", 0.1)
    max_edges: int = redeclare(FieldLearner, "max_edges", 200_000)
    min_support: float = redeclare(FieldLearner, "min_support", 0.01)
    patience: int = redeclare(FieldLearner, "patience", 50)

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        require_torch()
        from tractable.learning.conditional.networks.modules import Architecture

        kinds = [Architecture(self.hidden, self.layers, share, share / 2) for share in self.dropout]
        return Learned(self.learn_with_networks(table, rng, kinds, valid=valid, watch=watch))

    def learn_with_networks(
        self,
        table: Table,
        rng: np.random.Generator,
        kinds: "Sequence[MakeNetwork]",
        *,
        valid: Table | None = None,
        watch: Watch | None = None,
    ) -> Graph:
        """A circuit above networks of other architectures, of which the one that suits best is taken.

        Each is called with the numbers of inputs and outputs and returns a `torch.nn.Module`, whose outputs
        are above zero: the potentials of all states of the first target, then of the second, and so on. The
        model can be saved if it is a `torch.nn.Sequential` of linear layers and known operators.

        Raises:
            ValueError: as `learn` does.
        """
        require_torch()
        require_categorical_targets(table.schema, self.name)
        watching = watch or Watch()
        whole, held = complete_targets(within_single_precision(table), valid, rng)
        states = table.schema.cardinalities[table.schema.targets]
        with threadpool_limits(1, user_api="blas"):  # so that sums do not depend on the number of threads
            committee = self._pretrain(whole, kinds, states, rng, watching)
            objective = self._search(committee, states, held, watching)
            structure, weights = objective.structure, objective.weights
            if not watching.should_stop():
                weights = committee.train_jointly(structure, weights, self.loss, watching)
        return freeze_generalised(structure, table.schema, weights, committee.network())

    def _pretrain(
        self,
        table: Table,
        kinds: "Sequence[MakeNetwork]",
        states: Ints,
        rng: np.random.Generator,
        watch: Watch,
    ) -> "NetworkCommittee":
        """Networks trained by themselves, of the kind whose first one does best on rows held out for it."""
        from tractable.learning.conditional.networks.committee import (
            NetworkCommittee,
            Training,
            hold_out_rows,
        )
        from tractable.learning.conditional.networks.training import Effort

        effort = Effort(
            self.learning_rate, self.weight_decay, self.batch_size, self.epochs, self.network_patience
        )
        training = Training(scale_inputs(table), states, effort, self._priors)
        held, seed = hold_out_rows(table, self.members, rng), int(rng.integers(2**31))
        tried = [NetworkCommittee(table, held, make, training, seed) for make in kinds]
        if len(tried) > 1:
            for number, one in enumerate(tried):
                one.pretrain(watch.part(f"kind {number}"), only=0)
        best = min(tried, key=lambda one: one.first_loss()) if table.total_weight else tried[0]
        best.pretrain(watch.part(f"kind {tried.index(best)}"))
        return best

    @property
    def _priors(self) -> Priors:
        return Priors(self.l1, self.variance)

    def _search(
        self, committee: "NetworkCommittee", states: Ints, valid: Table | None, watch: Watch
    ) -> ConditionalLikelihood:
        """The structure over targets above the networks as they are now."""
        rows = committee.honest_rows()
        held_out = None if valid is None else committee.rows_of(valid)
        structure = ConditionalStructure(states, np.zeros(0, dtype=np.int64))
        objective = ConditionalLikelihood(structure, rows, held_out, self._priors)
        if watch.should_stop():
            return objective
        plant_tree(objective, residual_forest(objective))
        objective.fit(PLANTED_EFFORT)
        costs = SplitCosts(
            split=self.split_cost, edge=self.edge_cost, max_edges=self.max_edges,
            least_support=self.min_support,
        )  # fmt: skip
        search_splits(objective, costs, self.patience, watch)
        objective.fit(FINAL_EFFORT)
        return objective


def require_torch() -> None:
    """Refuse to go on without PyTorch.

    Raises:
        ValueError: saying how it is installed.
    """
    try:
        import torch  # noqa: F401
    except ImportError:
        raise ValueError(
            "gaclearn requires PyTorch, which is installed by: pip install 'tractable[neural]'"
        ) from None


def within_single_precision(table: Table) -> Table:
    """The table with weights that networks can add up; rows whose share of them is lost are left out."""
    weights, total = table.row_weights, table.total_weight
    if not total:
        return table
    scaled = weights * (np.clip(total, 1 / MOST_WEIGHT, MOST_WEIGHT) / total)
    scaled[scaled < LEAST_WEIGHT] = 0.0
    if (scaled == weights).all():
        return table
    return table.reweight(scaled).take(scaled > 0)
