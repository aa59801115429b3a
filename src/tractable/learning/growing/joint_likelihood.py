"""The joint likelihood of all columns as the objective of a Markov network's features."""

from typing import final

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import State, Watch
from tractable.data import Table
from tractable.learning.growing.bit_rows import BitRows, RowBits
from tractable.learning.growing.gains import Priors, split_gains
from tractable.learning.growing.objective import Objective, Snapshot
from tractable.learning.growing.quasi_newton import FitEffort, FitTarget, WeightFitter, WeightState
from tractable.learning.growing.structure import FeatureStructure
from tractable.learning.growing.sweep import Evaluator

LEAST_SMOOTHING = 1e-9  # the least pseudo-count of a column, so that no state has probability zero
DEFAULT_EFFORT = FitEffort(10, 1e-5)  # of the fit after each split


@final
class JointLikelihood(Objective):
    """The penalised log-likelihood of all training rows under the features of a structure.

    The log-likelihood depends on the rows only through the frequencies of the features, which are smoothed by
    a pseudo-count for each column. The initial weights, the logarithms of the marginal distributions, are the
    prior means; those of features that a split adds have the prior mean zero.
    """

    structure: FeatureStructure

    def __init__(
        self,
        structure: FeatureStructure,
        train: Table,
        valid: Table | None,
        priors: Priors,
        *,
        smoothing: float = 1.0,
        effort: FitEffort = DEFAULT_EFFORT,
    ) -> None:
        super().__init__(structure)
        self._priors = priors
        self._effort = effort
        self.frequencies = FeatureFrequencies(train, max(smoothing, LEAST_SMOOTHING))
        self._valid = None if valid is None else FeatureFrequencies(valid, LEAST_SMOOTHING)
        self.total = max(self.frequencies.total, 1e-9)  # the weight of the training rows, to divide by
        self.prior_mean = np.log(self.frequencies.values)
        self._start: dict[
            int, Floats
        ] = {}  # of features: the best weights of the new ones, by column and state
        self._evaluator, self._fitter = self._new_fitter()
        self.state: WeightState = self._fitter.evaluate(self.prior_mean, self._target)

    @property
    def weights(self) -> Floats:
        """The weights of all features."""
        return self.state.weight

    @property
    def log_partition(self) -> float:
        """The logarithm of the partition function, as of the last fit."""
        return self.state.expectations.log_partition

    @property
    def score(self) -> float:
        """The mean log-likelihood of the validation rows, or without these of the training rows."""
        frequencies = self.frequencies if self._valid is None else self._valid
        return float(self.weights @ frequencies.values) - self.log_partition

    def improves_on(self, best: Snapshot) -> bool:
        """Whether the score is higher; without validation rows every split is an improvement."""
        return self._valid is None or super().improves_on(best)

    def support(self, items: Ints) -> Floats:
        """The part of the training rows in which each feature holds."""
        return self.frequencies.values[items]

    def gains(self, items: Ints, least: float) -> Floats:
        """The gain of splitting each feature on each column with all other weights fixed."""
        states = self.structure.states
        probability = self._evaluator.state_probabilities(self.weights, self._evidence(items)).T
        model = self.state.expectations.expected[items, None] * probability
        shares = np.stack([self.frequencies.state_shares(feature) for feature in items.tolist()])
        data = self.frequencies.values[items, None] * shares
        gain, start = np.zeros((items.size, states.size)), np.zeros(probability.shape)
        for line, feature in enumerate(items.tolist()):
            limit = np.where(states < 2, np.inf, least)
            limit[[column for column, _ in self.structure.conditions[feature]]] = np.inf
            split_gains(
                self.total, model[line], data[line], states, self._priors, limit, gain[line], start[line]
            )
        self._start.update(zip(items.tolist(), start, strict=True))
        return gain

    def add_split(
        self, item: int, column: int, weight: Floats | None = None, prior_mean: Floats | None = None
    ) -> None:
        """Add the features of a split that was made in the structure.

        The new features start with `weight`, (states,), if it is given, and are drawn to `prior_mean`. The
        model is evaluated with them when it is fitted next.
        """
        states = self.structure.states_of(column)
        zeros = np.zeros(states.stop - states.start)
        if weight is None:
            weight = self._start[item][states] if item in self._start else zeros
        self._start.clear()
        self.frequencies.add_split(item, column)
        if self._valid is not None:
            self._valid.add_split(item, column)
        self.prior_mean = np.concatenate([self.prior_mean, zeros if prior_mean is None else prior_mean])
        self.state = self.state._replace(weight=np.concatenate([self.weights, weight]))

    def fit(self, effort: FitEffort | None = None, watch: Watch | None = None) -> None:
        """Fit all weights jointly, with the given effort or that after a split.

        With a watch the fit ends when it must, and has checkpoints.
        """
        state = self._fitter.evaluate(self.weights, self._target)
        if not np.isfinite(state.loss):  # the new features start too far out; at zero they change nothing
            fitted = np.arange(self.weights.size) < self.state.expectations.expected.size
            state = self._fitter.evaluate(np.where(fitted, self.weights, 0.0), self._target)
        self.state = self._fitter.fit(state, self._target, self._effort if effort is None else effort, watch)

    def memory(self) -> State:
        """The feature frequencies and the state of the fit, for checkpoints."""
        held_out = None if self._valid is None else self._valid.values
        return {"frequencies": [self.frequencies.values, held_out], "fit": self._fitter.method.memory}

    def recall(self, memory: State) -> None:
        """Restore the feature frequencies and the state of the fit."""
        self.frequencies.values, held_out = memory["frequencies"]
        if self._valid is not None:
            self._valid.values = held_out
        self._fitter.method.memory = memory["fit"]
        self.state = self._fitter.evaluate(self.weights, self._target)

    def restore(self, weights: Floats) -> None:
        """Restore the weights of a snapshot. The fit starts afresh if splits were undone."""
        if self._evaluator.circuit is not self.structure.circuit:
            self._evaluator, self._fitter = self._new_fitter()
        features = self.structure.items
        self.frequencies.truncate(features)
        if self._valid is not None:
            self._valid.truncate(features)
        self.prior_mean = self.prior_mean[:features]
        self._start.clear()
        self.state = self._fitter.evaluate(weights, self._target)

    @property
    def _target(self) -> FitTarget:
        return FitTarget(self.frequencies.values, self.prior_mean)

    def _new_fitter(self) -> tuple[Evaluator, WeightFitter]:
        """An evaluator of the structure's present circuit, and a fitter that uses it."""
        evaluator = Evaluator(self.structure.circuit)
        return evaluator, WeightFitter(evaluator.feature_expectations, self.total, self._priors)

    def _evidence(self, features: Ints) -> Floats:
        """Which states are possible where each feature holds. Shape (states of all columns, features)."""
        allowed = np.ones((int(self.structure.states.sum()), features.size))
        for lane, feature in enumerate(features.tolist()):
            for column, state in self.structure.conditions[feature]:
                states = self.structure.states_of(column)
                allowed[states, lane] = 0.0
                allowed[states.start + state, lane] = 1.0
        return allowed


class FeatureFrequencies:
    """The frequencies of features in the rows of a table, updated with the splits of a structure.

    A feature that was split on a column divides its frequency among the new features as the column divides
    those of its rows in which the column is not missing.
    """

    def __init__(self, table: Table, smoothing: float) -> None:
        self._rows = BitRows(table)
        self._bits: list[RowBits] = list(self._rows.literals)  # the rows in which each feature holds
        self._shares: dict[int, Floats] = {}
        states = self._rows.states
        counts = self._rows.count_states(self._rows.all_rows) + smoothing / np.repeat(states, states)
        first = np.cumsum(states) - states
        self.values: Floats = counts / np.repeat(np.add.reduceat(counts, first), states)  # (features,)

    @property
    def total(self) -> float:
        """The total weight of the rows."""
        return self._rows.total

    def state_shares(self, feature: int) -> Floats:
        """The share of a feature's rows that has each state of each column. (states of all columns,)."""
        if feature not in self._shares:
            self._shares[feature] = self._rows.state_shares(self._bits[feature])
        return self._shares[feature]

    def add_split(self, feature: int, column: int) -> None:
        """Follow a split of a feature on a column."""
        bits, states = self._bits[feature], self._rows.states_of(column)
        known = self._shares.get(feature)
        shares = self._rows.column_shares(bits, column) if known is None else known[states]
        self.values = np.concatenate([self.values, self.values[feature] * shares])
        self._bits.extend(self._rows.literals[states] & bits)

    def truncate(self, features: int) -> None:
        """Drop all features after a number of them."""
        del self._bits[features:]
        self._shares = {feature: shares for feature, shares in self._shares.items() if feature < features}
        self.values = self.values[:features]
