"""The conditional likelihood of targets given inputs as the objective of features."""

from typing import final

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.conditional.daclearn.expectations import RowExpectations
from tractable.conditional.daclearn.gains import SplitsOnColumns
from tractable.conditional.daclearn.rows import ConditionalRows
from tractable.conditional.daclearn.sample import Sample
from tractable.conditional.daclearn.structure import ConditionalStructure
from tractable.growing import FeatureExpectations, FitEffort, Objective, Priors, Snapshot
from tractable.growing.weights import FitTarget, WeightFitter, WeightState
from tractable.progress import State

DEFAULT_EFFORT = FitEffort(1, 0.0)  # one step of the weights after each split
MOST_REFINED = 12  # columns of a feature whose gains are found exactly, best estimates first


@final
class ConditionalLikelihood(Objective):
    """The log-likelihood of the targets of all rows given their inputs, less the cost of priors.

    The priors draw the weights of single targets to the logarithms of their frequencies, and all others to
    zero.
    """

    structure: ConditionalStructure

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
        self.prior_mean = _log_frequencies(self.sample, smoothing)
        self._start: dict[
            tuple[int, int], Floats
        ] = {}  # of features and columns: the best weights of a split
        self._last: tuple[Floats, RowExpectations] | None = None  # weights, and what they lead to expect
        self._valid_score: tuple[Floats, float] | None = None
        self._fitter = self._new_fitter()
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
        return np.stack([self._gains(item, least) for item in items.tolist()])

    def add_split(self, item: int, column: int) -> None:
        """Follow a split of a feature on a column."""
        size = int(self.structure.states[column])
        weight = self._start.get((item, column), np.zeros(size))
        self._start.clear()
        self.prior_mean = np.concatenate([self.prior_mean, np.zeros(size)])
        self.state = self.state._replace(weight=np.concatenate([self.weights, weight]))

    def fit(self, effort: FitEffort | None = None) -> None:
        """Fit all weights together, with another effort than after a split if it is given."""
        state = self._fitter.evaluate(self.weights, self._target)
        self.state = self._fitter.fit(state, self._target, self._effort if effort is None else effort)

    def memory(self) -> State:
        """What the fit remembers."""
        return self._fitter.memory()

    def recall(self, memory: State) -> None:
        """Take what the fit remembers."""
        self._fitter.restore(memory)

    def restore(self, weights: Floats) -> None:
        """Take weights of a snapshot. The fit starts afresh."""
        self._fitter = self._new_fitter()
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

    def _new_fitter(self) -> WeightFitter:
        return WeightFitter(self._feature_expectations, self.sample.total, self._priors)

    def _feature_expectations(self, weights: Floats) -> FeatureExpectations:
        """The mean log-partition function over the rows, and how often each feature is expected to hold."""
        found = self.sample.evaluator.evaluate(weights)
        self._last = (weights, found)
        share = self.sample.rows.group_weight / self.sample.total
        expected = self.sample.evaluator.sum_over_rows(found.expected * share)
        return FeatureExpectations(float(share @ found.log_partition), expected)

    def _gains(self, item: int, least: float) -> Floats:
        """The gain of a feature's split on each column: estimates, and exact values where these are best."""
        structure = self.structure
        splits = self._splits(item)
        estimates = np.concatenate([part.estimates(self._priors) for part in splits])
        if len(splits) == 1:
            estimates = np.concatenate([np.zeros(self._states_of_targets), estimates])
        gain = np.add.reduceat(estimates, np.cumsum(structure.states) - structure.states)
        gain[(structure.states < 2) | (gain <= least)] = 0.0
        for column in np.flatnonzero(gain).tolist():
            if not structure.is_allowed(item, column):
                gain[column] = 0.0
        for _ in range(MOST_REFINED):
            column = int(gain.argmax())
            if gain[column] <= 0 or (item, column) in self._start:
                break
            gain[column] = self._exact_gain(item, column, splits)
        return gain

    def _splits(self, item: int) -> list[SplitsOnColumns]:
        """The splits of a feature on targets, if it has no conditions on inputs, and on inputs."""
        structure, sample = self.structure, self.sample
        param, conjunction = structure.param_of(item), structure.conjunction_of(item)
        holds = sample.evaluator.indicator[conjunction]
        model = self.expectations().expected[param]
        weight = sample.rows.group_weight * holds
        singles = sample.evaluator.singles
        on_inputs = SplitsOnColumns(singles, model, weight, singles @ (sample.counts[param] * holds))
        if conjunction:
            return [on_inputs]
        states = sample.evaluator.target_states(self.weights, param)
        data = sample.state_counts(structure.target_conditions(param))
        return [SplitsOnColumns(states, model, weight, data), on_inputs]

    def _exact_gain(self, item: int, column: int, splits: list[SplitsOnColumns]) -> float:
        """The gain of one split. The best weights of its new features are remembered."""
        states = self.structure.states_of(column)
        if self.structure.is_input(column):
            states = slice(states.start - self._states_of_targets, states.stop - self._states_of_targets)
        part = splits[-1] if self.structure.is_input(column) else splits[0]
        gain, self._start[item, column] = part.exact(states, self._priors)
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
