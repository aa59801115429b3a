"""The conditional likelihood of targets given inputs as the objective of features."""

from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import State, Watch
from tractable.learning.conditional.field.expectations import RowExpectations, Sample
from tractable.learning.conditional.field.gains import SplitsOnColumns, estimate_gains
from tractable.learning.conditional.field.rows import ConditionalRows
from tractable.learning.conditional.field.structure import ConditionalStructure
from tractable.learning.growing import FeatureExpectations, FitEffort, Objective, Priors, Snapshot
from tractable.learning.growing.quasi_newton import FitTarget, WeightFitter, WeightState

DEFAULT_EFFORT = FitEffort(2, 0.0)  # steps of the weights after each batch of splits
MOST_REFINED = 12  # columns of a feature whose gains are found exactly, best estimates first


@final
class ConditionalLikelihood(Objective):
    """The log-likelihood of the targets of all rows given their inputs, less the cost of priors.

    The priors draw the weights of single targets to the logarithms of their frequencies, and all others to
    zero.
    """

    structure: ConditionalStructure
    batch_size: ClassVar[int] = 24

    def __init__(
        self,
        structure: ConditionalStructure,
        train: ConditionalRows,
        valid: ConditionalRows | None,
        priors: Priors,
        *,
        smoothing: float = 1.0,
        effort: FitEffort = DEFAULT_EFFORT,
    ) -> None:
        super().__init__(structure)
        self._priors, self._effort = priors, effort
        self.sample = Sample(structure, train)
        self._valid = None if valid is None else Sample(structure, valid)
        states = [len(structure.new_states(column)) for column in range(structure.states.size)]
        self._owner = np.repeat(np.arange(len(states)), states)  # the columns of the states of new features
        self.prior_mean = _log_frequencies(self.sample, smoothing)
        self._start: dict[
            tuple[int, int], Floats
        ] = {}  # of features and columns: the best weights of a split
        self._last: tuple[Floats, RowExpectations] | None = None  # weights, and what they lead to expect
        self._target_splits: tuple[int, Floats, SplitsOnColumns] | None = None  # of a parameter under weights
        self._valid_score: tuple[Floats, float] | None = None
        self._fitter = self._new_fitter(self._priors)
        self.state: WeightState = self._fitter.evaluate(self.prior_mean, self._target)

    @property
    def weights(self) -> Floats:
        """The weights of all features."""
        return self.state.weight

    @property
    def score(self) -> float:
        """The mean conditional log-likelihood of the validation rows, or of the training rows without any."""
        if self._valid is None:
            own = float(self.weights @ self.sample.frequency) + self.sample.mean_potential
            return own - self.state.expectations.log_partition
        if self._valid_score is None or self._valid_score[0] is not self.weights:
            self._valid_score = (self.weights, self._valid.mean_log_likelihood(self.weights))
        return self._valid_score[1]

    @property
    def priors(self) -> Priors:
        """The priors of the weights."""
        return self._priors

    @property
    def has_validation_rows(self) -> bool:
        """Whether the score is that of validation rows."""
        return self._valid is not None

    def change_priors(self, priors: Priors, weights: Floats) -> None:
        """Take other priors, and weights. The fit starts afresh."""
        self._priors, self._fitter = priors, self._new_fitter(priors)
        self._start.clear()
        self.state = self._fitter.evaluate(weights, self._target)

    def improves_on(self, best: Snapshot) -> bool:
        """Whether the score is higher; without validation rows every split is an improvement."""
        return self._valid is None or super().improves_on(best)

    def support(self, items: Ints) -> Floats:
        """The part of the training rows in which each feature holds."""
        return self.sample.frequency[items]

    def gains(self, items: Ints, least: float) -> Floats:
        """What splitting each feature on each column gains, if all other weights stay as they are.

        The best gain of a feature is exact, others may be estimates.
        """
        estimates = np.zeros((items.size, self._owner.size))
        params = self.structure.params[items]
        for param in np.unique(params).tolist():
            which = np.flatnonzero(params == param)
            estimates[which] = self._estimates(param, items[which])
        lines = zip(items.tolist(), estimates, strict=True)
        return np.stack([self._gains(item, line, least) for item, line in lines])

    def add_split(self, item: int, column: int) -> None:
        """Follow a split of a feature on a column."""
        self._add_weights(self._start.get((item, column), np.zeros(len(self.structure.new_states(column)))))

    def add_planted(self) -> None:
        """Follow any number of splits of the structure; the new features start with weights of zero."""
        self._add_weights(np.zeros(self.structure.items - self.weights.size))

    def start_from(self, history: Ints, prior_mean: Floats, weights: Floats) -> None:
        """Make the splits of another structure, and take prior means and weights of its features."""
        self.structure.replay(history)
        self.prior_mean = prior_mean
        self.state = self._fitter.evaluate(weights, self._target)

    def fit(self, effort: FitEffort | None = None, watch: Watch | None = None) -> None:
        """Fit all weights together, with another effort than after a split if it is given.

        With a watch the fit ends when it must.
        """
        self._start.clear()
        state = self._fitter.evaluate(self.weights, self._target)
        self.state = self._fitter.fit(state, self._target, self._effort if effort is None else effort, watch)

    def memory(self) -> State:
        """What the fit remembers."""
        return self._fitter.method.memory

    def recall(self, memory: State) -> None:
        """Take what the fit remembers."""
        self._fitter.method.memory = memory

    def restore(self, weights: Floats) -> None:
        """Take weights of a snapshot. The fit starts afresh."""
        self._fitter = self._new_fitter(self._priors)
        self.sample.truncate()
        if self._valid is not None:
            self._valid.truncate()
        self.prior_mean = self.prior_mean[: self.structure.items]
        self._start.clear()
        self._last = None
        self.state = self._fitter.evaluate(weights, self._target)

    def expectations(self) -> RowExpectations:
        """What the model expects of each group of training rows under the present weights."""
        if self._last is None or self._last[0] is not self.weights:
            self._last = (self.weights, self.sample.evaluator.evaluate(self.weights))
        return self._last[1]

    @property
    def _target(self) -> FitTarget:
        return FitTarget(self.sample.frequency, self.prior_mean)

    def _add_weights(self, weight: Floats) -> None:
        self.prior_mean = np.concatenate([self.prior_mean, np.zeros(weight.size)])
        self.state = self.state._replace(weight=np.concatenate([self.weights, weight]))

    def _new_fitter(self, priors: Priors) -> WeightFitter:
        return WeightFitter(self._feature_expectations, self.sample.total, priors)

    def _feature_expectations(self, weights: Floats) -> FeatureExpectations:
        """The mean log-partition function over the rows, and how often each feature is expected to hold."""
        evaluation = self.sample.evaluator.evaluate(weights)
        self._last = (weights, evaluation)
        share = self.sample.rows.group_weight / self.sample.total
        expected = self.sample.evaluator.sum_over_rows(evaluation.expected * share)
        return FeatureExpectations(float(share @ evaluation.log_partition), expected)

    def _estimates(self, param: int, items: Ints) -> Floats:
        """Estimates of what new features of some features of one parameter gain. (items, new states)."""
        sample, states = self.sample, self._states_of_targets
        conjunctions = self.structure.feature_conjunctions[items]
        inputs, holds = sample.evaluator.single_products, sample.evaluator.indicator[conjunctions]
        model = self.expectations().expected[param]
        mass = sample.rows.group_weight * model
        slope = inputs.multiply_transposed(holds * (sample.counts[param] - mass))
        curvature = inputs.multiply_transposed(holds * (mass * (1 - model)))
        answer = np.zeros((items.size, self._owner.size))
        answer[:, states:] = estimate_gains(slope, curvature, self._priors)
        for line in np.flatnonzero(conjunctions == 0).tolist():
            answer[line, :states] = self._on_targets(param).estimates(self._priors)
        return answer

    def _gains(self, item: int, estimates: Floats, least: float) -> Floats:
        """The gain of a feature's split on each column: estimates, and exact values where these are best."""
        structure = self.structure
        gain: Floats = np.bincount(self._owner, estimates, structure.states.size).astype(np.float64)
        gain[(structure.states < 2) | (gain <= least)] = 0.0
        for column in np.flatnonzero(gain).tolist():
            if not structure.is_allowed(item, column):
                gain[column] = 0.0
        for _ in range(MOST_REFINED):
            column = int(gain.argmax())
            if gain[column] <= 0 or (item, column) in self._start:
                break
            gain[column] = self._exact_gain(item, column)
        return gain

    def _on_targets(self, param: int) -> SplitsOnColumns:
        """The splits on targets of the feature that is all of a parameter's conditions."""
        last = self._target_splits
        if last is None or last[0] != param or last[1] is not self.weights:
            sample = self.sample
            splits = SplitsOnColumns(
                sample.evaluator.target_states(self.weights, param),
                self.expectations().expected[param],
                sample.rows.group_weight,
                sample.state_counts(self.structure.target_conditions(param)),
            )
            self._target_splits = last = (param, self.weights, splits)
        return last[2]

    def _on_input(self, item: int, column: int) -> SplitsOnColumns:
        """The split of a feature on one input."""
        structure, sample = self.structure, self.sample
        param = structure.param_of(item)
        holds = sample.evaluator.indicator[structure.conjunction_of(item)]
        state = sample.evaluator.singles[self._owner[self._states_of_targets :] == column]
        weight, data = sample.rows.group_weight * holds, state @ (sample.counts[param] * holds)
        return SplitsOnColumns(state, self.expectations().expected[param], weight, data)

    def _exact_gain(self, item: int, column: int) -> float:
        """The gain of one split. The best weights of its new features are remembered."""
        if self.structure.is_input(column):
            splits, states = self._on_input(item, column), slice(None)
        else:
            splits = self._on_targets(self.structure.param_of(item))
            states = self.structure.states_of(column)
        gain, self._start[item, column] = splits.exact(states, self._priors)
        return max(gain, 0.0)

    @property
    def _states_of_targets(self) -> int:
        return int(self.sample.rows.target_states.sum())


def _log_frequencies(sample: Sample, smoothing: float) -> Floats:
    """The smoothed log-frequencies of the states of single targets, as prior means. Shape (features,).

    They are zero where given factors tell of single targets already.
    """
    if sample.rows.potentials is not None:
        return np.zeros(sample.structure.items)
    counts = sample.frequency * sample.total
    answer = []
    for column, states in enumerate(sample.rows.target_states.tolist()):
        own = counts[sample.structure.states_of(column)] + max(smoothing, 1e-9) / states
        answer.append(np.log(own / own.sum()))
    return np.concatenate(answer)
