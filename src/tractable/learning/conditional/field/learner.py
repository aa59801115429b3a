"""Settings, initial structure and search of learners of conditional random fields."""

from dataclasses import dataclass

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Watch
from tractable.base.settings import Between, redeclare, setting
from tractable.learning.conditional.field.gains import choose_priors
from tractable.learning.conditional.field.objective import ConditionalLikelihood
from tractable.learning.conditional.field.rows import ConditionalRows
from tractable.learning.conditional.field.structure import ConditionalStructure
from tractable.learning.conditional.learner import CompleteTargetsLearner
from tractable.learning.growing import FitEffort, Priors, SplitCosts
from tractable.learning.growing.search import search_splits
from tractable.learning.joint.markov import MarkovLearner
from tractable.learning.statistics.forests import Forest, best_forest

LEAST_GAIN = 2.0  # nats over all rows that a link of the tree must be worth


def mutual_information(rows: ConditionalRows) -> Floats:
    """The mutual information of each target with each input, times the number of rows. (targets, inputs)."""
    singles = rows.all_indicators()
    total = max(rows.total, 1e-9)
    of_inputs = singles @ rows.group_weight
    answer = np.zeros((rows.target_states.size, rows.input_states.size))
    starts = np.cumsum(rows.input_states) - rows.input_states
    for target, states in enumerate(rows.target_states.tolist()):
        for state in range(states):
            counts = rows.counts([(target, state)])
            both, alone = singles @ counts, counts.sum()
            ratio = np.where(both > 0, both * total / np.maximum(alone * of_inputs, 1e-300), 1.0)
            if starts.size:
                answer[target] += np.add.reduceat(both * np.log(ratio), starts)
    return answer


def chosen_inputs(information: Floats, most: int, least: float = LEAST_GAIN) -> list[Ints]:
    """Up to `most` inputs with the highest mutual information above `least` for each target, best first."""
    order = np.argsort(-information, axis=1, kind="stable")[:, :most]
    return [line[information[target, line] > least].astype(np.int64) for target, line in enumerate(order)]


def plant_inputs(objective: ConditionalLikelihood, inputs: list[Ints]) -> None:
    """Split states of each target on its inputs: every state, or the rarer one of two."""
    structure = objective.structure
    for target, chosen in enumerate(inputs):
        for feature in _split_states(objective, target):
            for column in (structure.targets + chosen).tolist():
                structure.split(feature, column)
    objective.add_planted()


def _split_states(objective: ConditionalLikelihood, target: int) -> list[int]:
    """The features of a target's states that are split: with two states, one tells about the other."""
    states = objective.structure.states_of(target)
    features = list(range(states.start, states.stop))
    rarest = states.start + int(objective.sample.frequency[states].argmin())
    return [rarest] if len(features) == 2 else features


def plant_tree(objective: ConditionalLikelihood, forest: Forest) -> None:
    """Split states of each target, as for inputs, on its parent in a tree, far from the root first."""
    structure = objective.structure
    for target in forest.order[::-1].tolist():
        parent = int(forest.parent[target])
        if parent >= 0:
            for feature in _split_states(objective, target):
                structure.split(feature, parent)
    objective.add_planted()


def residual_forest(objective: ConditionalLikelihood) -> Forest:
    """The forest over targets with the highest gains beyond the current model.

    A link gains about half the chi-square statistic of what two targets' states have in common beyond their
    probabilities given the inputs. Without inputs this is much like the mutual information of Chow and Liu.
    """
    rows = objective.sample.rows
    states = int(rows.target_states.sum())
    expected = objective.expectations().expected[:states]
    weight = rows.group_weight
    together = _pair_counts(rows)
    apart = together - (expected * weight) @ expected.T
    variance = expected * (1 - expected)
    spread = (variance * weight) @ variance.T
    gain = apart**2 / (2 * np.maximum(spread, 1.0))
    owner = np.repeat(np.arange(rows.target_states.size), rows.target_states)
    pairs = np.zeros((rows.target_states.size, rows.target_states.size))
    np.add.at(pairs, (owner[:, None], owner[None, :]), gain)
    freedom = np.maximum(np.outer(rows.target_states, rows.target_states), 1.0)
    pairs = pairs / freedom - LEAST_GAIN
    np.fill_diagonal(pairs, 0.0)
    return best_forest(pairs, np.ones(rows.target_states.size, dtype=np.bool_))


def _pair_counts(rows: ConditionalRows) -> Floats:
    """The weight of the rows that have two states of targets. Shape (states, states)."""
    states = rows.target_indicators
    return np.asarray((states * rows.weight[:, None]).T @ states)


PLANTED_EFFORT, PLANTED_FITS = FitEffort(40, 1e-5), 12  # of the initial structure, under different priors
FINAL_EFFORT = FitEffort(200, 1e-6)  # of the last fit of all weights
LAST_EFFORT, LAST_FITS = FitEffort(20, 1e-5), 4  # of all weights under other priors
LEAST_PART = 0.1  # of the first cost of an edge, below which edges do not become cheaper


@dataclass(frozen=True, kw_only=True)
class FieldLearner(CompleteTargetsLearner):
    """A learner that grows a conditional random field of conjunctive features from an initial structure."""

    initial_inputs: int = setting(
        150,
        "Maximum number of inputs that the initial model of each target uses, in order of mutual"
        " information.",
        at_least=0,
    )
    initial_gain: tuple[float, ...] = setting(
        (20.0, 6.0, 2.0),
        "Minimum mutual information, in nats over all rows, of an input in the initial model. The threshold"
        " with the best score on the validation rows is selected; without validation rows, the last one.",
        at_least=0,
    )
    intervals: int = setting(
        8,
        "Maximum number of intervals into which a numeric input is discretised. The intervals hold about"
        " equally many rows.",
        at_least=2,
    )
    l1: float = setting(
        2.0,
        "Strength of the L1 penalty, in nats per unit of a feature weight's distance from its prior mean."
        " With validation rows, it is the starting value of a search for the priors with the best score on"
        " them.",
        at_least=0,
        search=Between(0.1, 5, log=True),
    )
    variance: float = setting(
        2.0,
        "Variance of the Gaussian prior of the feature weights. With validation rows, it is the starting"
        " value of a search.",
        at_least=1e-9,
        search=Between(0.05, 5, log=True),
    )
    split_cost: float = setting(
        1.0,
        "Minimum gain in conditional log-likelihood that a split must bring, in nats over all rows.",
        at_least=0,
        search=Between(0.5, 10),
    )
    edge_cost: float = setting(
        0.1,
        "Minimum gain in conditional log-likelihood, in nats, for each edge that a split adds to the"
        " circuit. It is halved whenever no remaining split meets it.",
        at_least=1e-9,
    )
    max_edges: int = setting(1_000_000, "Maximum number of edges in the circuit.", at_least=0)
    min_support: float = setting(
        0.001,
        "Minimum fraction of the rows in which a feature must hold to be considered for a split.",
        at_least=0,
        at_most=1,
    )
    smoothing: float = setting(
        1.0,
        "Pseudo-count of the marginal distribution of each target, which serves as the prior mean.",
        at_least=0,
    )
    batch: int = setting(
        24,
        "Maximum number of splits between two fits of the weights. The splits of a batch are on"
        " different targets.",
        at_least=1,
    )
    patience: int = redeclare(MarkovLearner, "patience", 100)

    def grow(
        self, rows: ConditionalRows, valid: ConditionalRows | None, watch: Watch
    ) -> ConditionalLikelihood:
        """The field with the best score on the validation rows, or on all rows without them."""
        objective = self._best_planted(rows, valid, watch)
        search_splits(objective, self.costs, self.patience, watch)
        finish_weights(objective, watch)
        return objective

    @property
    def costs(self) -> SplitCosts:
        """The minimum gains of splits."""
        return SplitCosts(
            split=self.split_cost, edge=self.edge_cost, max_edges=self.max_edges,
            least_support=self.min_support, least_edge=LEAST_PART * self.edge_cost, batch=self.batch,
        )  # fmt: skip

    def _best_planted(
        self, rows: ConditionalRows, valid: ConditionalRows | None, watch: Watch
    ) -> ConditionalLikelihood:
        """The initial structure and priors with the best score on the validation rows."""
        information = mutual_information(rows)
        best: ConditionalLikelihood | None = None
        for least in self.initial_gain if valid is not None else self.initial_gain[-1:]:
            inputs = chosen_inputs(information, self.initial_inputs, least)
            planted = self._plant(rows, valid, inputs, watch.part(f"inputs {least}"))
            if best is None or planted.score > best.score:
                best = planted
            if watch.should_stop():
                break
        assert best is not None
        choose_priors(best, PLANTED_EFFORT, PLANTED_FITS, watch.part("planted"))
        return best

    def _plant(
        self, rows: ConditionalRows, valid: ConditionalRows | None, inputs: list[Ints], watch: Watch
    ) -> ConditionalLikelihood:
        """The objective of an initial structure with fitted weights."""
        structure = ConditionalStructure(rows.target_states, rows.input_states, rows.most_frequent_inputs())
        priors = Priors(self.l1, self.variance)
        objective = ConditionalLikelihood(structure, rows, valid, priors, smoothing=self.smoothing)
        plant_inputs(objective, inputs)
        objective.fit(PLANTED_EFFORT, watch.part("inputs"))
        plant_tree(objective, residual_forest(objective))
        objective.fit(PLANTED_EFFORT, watch.part("tree"))
        return objective


def finish_weights(objective: ConditionalLikelihood, watch: Watch) -> None:
    """Fit all weights to convergence, and with other priors if the validation score improves."""
    before, priors = objective.snapshot(), objective.priors
    objective.fit(FINAL_EFFORT, watch.part("weights"))
    if not objective.improves_on(before):
        objective.change_priors(priors, before.weights)
    choose_priors(objective, LAST_EFFORT, LAST_FITS, watch.part("last"))
