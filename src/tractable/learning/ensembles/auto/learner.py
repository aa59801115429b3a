"""A stack of models of several learners (Wolpert, 1992), with successive halving of the learners."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from tractable.base.progress import InnerWatch, MemoryCheckpoints, Watch, seconds_in
from tractable.base.settings import Between, setting
from tractable.circuit import Graph
from tractable.data import Table
from tractable.learning.ensembles.auto.candidates import Candidate, describe
from tractable.learning.ensembles.auto.members import make_folds
from tractable.learning.ensembles.auto.mixing import MixingSettings
from tractable.learning.ensembles.auto.search import MemberSearch
from tractable.learning.joint.chow_liu import ChowLiuLearner
from tractable.learning.learner import Learned, Learner, PoolingLearner


@final
@dataclass(frozen=True, kw_only=True)
class AutoLearner(PoolingLearner):
    """A mixture of models of several learners, selected for the table and weighted on held-out rows.

    The learners to try are selected by the kinds of the columns, the size of the table and the dependence
    between neighbouring columns. Each first gets a small share of the time budget. Those that contribute most
    to the mixture then get larger shares and are run with further settings and seeds. The weights of all
    models are fitted by EM to the validation rows; without them, one eighth of the rows is held out, and
    small tables are cross-validated. One model per thread is learned in parallel. The result depends only on
    the seed if no member exceeds its time; otherwise it also depends on the speed of the machine.
    """

    name: ClassVar[str] = "auto"
    title: ClassVar[str] = "mixture of the best models"
    extra_texts: ClassVar[Mapping[str, str]] = {
        "tried": (
            "What was tried, as a list of dictionaries: learner, settings, seconds, edges, mean"
            " log-likelihood of the held-out rows, weight in the mixture, what the mixture would lose"
            " without the model, and why it was left out."
        )
    }
    recorded: ClassVar[tuple[str, ...]] = ("tried",)

    budget: str = setting(
        "10m",
        "Time budget of learning, such as 90s, 10m or 1h. It applies when the call itself has no time"
        " budget.",
    )
    max_edges: int = setting(
        10_000_000,
        "Maximum number of edges in the circuit. Members are removed until it is met, starting with those"
        " that contribute least.",
        at_least=1,
    )
    least_weight: float = setting(
        0.02, "Minimum mixture weight. Members with a lower weight are removed.", at_least=0, at_most=0.5
    )
    smoothing: float = setting(
        1.0,
        "Pseudo-count of the mixture weights, in rows, spread evenly over the members.",
        at_least=0,
        search=Between(0.1, 10, log=True),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        seconds_in(str(self.budget))

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        seed = int(rng.integers(2**63))
        folds = make_folds(table, valid, np.random.default_rng(seed))
        if not folds:
            return Learned(_single_model(table, rng, watch), {"tried": []})
        seconds = seconds_in(str(self.budget)) if watch.left is None else None
        facts = describe(table)
        memory = MemoryCheckpoints() if watch.place.saved is None and not facts.is_tiny else None
        search = MemberSearch(folds, facts, self._mixing(), self._make_learner, seed)
        search.run(InnerWatch(watch, seconds=seconds, checkpoints=memory))
        mixed = search.mix().pruned()
        return Learned(mixed.circuit(), {"tried": mixed.table(search.faults)})

    def _make_learner(self, candidate: Candidate) -> Learner:
        from tractable.learning.joint import LEARNERS

        settings: dict[str, Any] = dict(candidate.settings)
        pools = issubclass(LEARNERS[candidate.learner], PoolingLearner)
        if pools and self.max_states != AutoLearner.max_states:  # else each learner has what suits it
            settings["max_states"] = self.max_states
        return LEARNERS.make_with(candidate.learner, settings)

    def _mixing(self) -> MixingSettings:
        return MixingSettings(
            pseudo_count=self.smoothing, max_edges=self.max_edges, least_weight=self.least_weight
        )


def _single_model(table: Table, rng: np.random.Generator, watch: Watch) -> Graph:
    """The model for a table that is too small for a comparison."""
    return ChowLiuLearner().learn(table, rng, watch=watch)
