"""The conditional likelihood of a gated mixture of fields, its gradient, and the fit of all weights.

The gradient of the log-likelihood is a difference of expected counts: given inputs and targets, where each
component has a posterior probability, and given the inputs alone, where it has another one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import NamedTuple, final

import numpy as np
from scipy.special import logsumexp

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Watch
from tractable.circuit.leaves.logistic import InputFeatures
from tractable.data import Table
from tractable.learning.conditional.conditional_mixture.model import FieldMixture, MixturePriors
from tractable.learning.conditional.field.expectations import RowEvaluator
from tractable.learning.conditional.field.rows import ConditionalRows, conditional_rows
from tractable.learning.conditional.field.structure import ConditionalStructure
from tractable.learning.conditional.parts.growth import Scored, Stopping, best_iterate
from tractable.learning.growing import FitEffort
from tractable.learning.growing.quasi_newton import L1Prior, QuasiNewton

LEAST_SHARE = 1e-3  # of a row that is looked at in a component


@dataclass(frozen=True, slots=True, eq=False)
class GatedRows:
    """Coded rows, and the features of each group's inputs. Rows of one group have the same numbers, too."""

    rows: ConditionalRows
    x: Floats  # (groups, features + 1) the last is always one

    def part(self, share: Floats) -> ConditionalRows:
        """The rows of a component, by the share of each row, (rows,); tiny shares are left out."""
        rows, some = self.rows, share >= LEAST_SHARE
        used, group = np.unique(rows.group[some], return_inverse=True)
        weight = rows.weight[some] * share[some]
        return replace(
            rows,
            targets=rows.targets[some],
            weight=weight,
            group=group,
            inputs=rows.inputs[used],
            group_weight=np.bincount(group, weight, used.size).astype(np.float64),
        )


def gated_rows(table: Table, cuts: Sequence[Floats], features: InputFeatures) -> GatedRows:
    """The rows of a table without missing cells. `cuts` are those of `conditional_rows`."""
    kept = table.take(table.row_weights > 0)
    rows = conditional_rows(kept, cuts)
    cells = kept.values[:, table.schema.inputs]
    _, first, group = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    weight = np.bincount(group, rows.weight, first.size).astype(np.float64)
    coded = rows.inputs[rows.group[first]]
    finer = replace(rows, group=group, inputs=coded, group_weight=weight)
    return GatedRows(finer, features.encode(kept.values[first]))


class FieldValues(NamedTuple):
    """The values of a field for rows and groups of rows."""

    log_value: Floats  # (rows,) the logarithm of the unnormalised value of each row
    log_partition: Floats  # (groups,)
    expected: Floats  # (params, groups) the probability of each parameter's conditions on targets


@final
class FieldOnRows:
    """A fixed structure evaluated on rows."""

    def __init__(self, structure: ConditionalStructure, rows: ConditionalRows) -> None:
        self._evaluator = RowEvaluator(structure, rows)
        self._param, self._row = _holding(structure, rows)
        self._group = rows.group[self._row]
        self._size = (structure.circuit.params, len(rows.inputs))
        self._rows = len(rows.targets)

    def evaluate(self, weights: Floats) -> FieldValues:
        """The values of all rows under weights of all features."""
        own = self._evaluator.log_parameters(weights)[self._param, self._group]
        log_value = np.bincount(self._row, own, self._rows).astype(np.float64)
        evaluation = self._evaluator.evaluate(weights)
        return FieldValues(log_value, evaluation.log_partition, evaluation.expected)

    def counts(self, weight: Floats) -> Floats:
        """The total weight of the rows in which each feature holds, given row weights, (rows,)."""
        params, groups = self._size
        flat = np.bincount(self._param * groups + self._group, weight[self._row], params * groups)
        return self._evaluator.sum_over_rows(flat.astype(np.float64).reshape(self._size))

    def expected_counts(self, values: FieldValues, weight: Floats) -> Floats:
        """The expected weight with which each feature holds, given group weights, (groups,)."""
        return self._evaluator.sum_over_rows(values.expected * weight)


def _holding(structure: ConditionalStructure, rows: ConditionalRows) -> tuple[Ints, Ints]:
    """All pairs of a parameter and a row in which its conditions on targets hold."""
    conditions = (structure.target_conditions(param) for param in range(structure.circuit.params))
    positions = [np.flatnonzero(rows.holding(each)) for each in conditions]
    params = np.repeat(np.arange(len(positions)), [some.size for some in positions])
    return params, np.concatenate([np.zeros(0, dtype=np.int64), *positions])


class MixturePoint(NamedTuple):
    """The weights of a mixture, and the loss at them."""

    weight: Floats  # (weights,)
    loss: float  # the negative log-likelihood of all rows, and the cost of the priors
    slope: Floats  # (weights,) the gradient of the smooth part of the loss
    curvature: Floats  # (weights,) about its second derivatives, as if components were known


class _Values(NamedTuple):
    fields: list[FieldValues]
    of_rows: Floats  # (components, rows) logarithms of g_k C_k
    of_groups: Floats  # (components, groups) logarithms of g_k Z_k


@final
class MixtureLikelihood:
    """The conditional likelihood of mixtures with fixed structures on rows."""

    def __init__(self, mixture: FieldMixture, some: GatedRows) -> None:
        made = {id(c.structure): FieldOnRows(c.structure, some.rows) for c in mixture.components}
        self._fields = [made[id(c.structure)] for c in mixture.components]
        self._rows, self._x = some.rows, some.x

    def score(self, mixture: FieldMixture) -> float:
        """The mean log-likelihood of the targets given the inputs; zero where there are no rows."""
        return self._log_likelihood(self._values(mixture)) / max(self._rows.total, 1e-9)

    def responsibilities(self, mixture: FieldMixture) -> Floats:
        """P(component | inputs and targets). Shape (components, rows)."""
        return _shares(self._values(mixture).of_rows)

    def target_states(self, mixture: FieldMixture) -> Floats:
        """The probability of each state of each target given the inputs. Shape (states, groups)."""
        values, states = self._values(mixture), int(self._rows.target_states.sum())
        lines = zip(_shares(values.of_groups), values.fields, strict=True)
        return sum((share * field.expected[:states] for share, field in lines), np.zeros(()))

    def point(
        self, mixture: FieldMixture, priors: MixturePriors, shares: Floats | None = None
    ) -> MixturePoint:
        """The loss and its derivatives.

        With `shares`, (components, rows), it is known how much of each row belongs to each component, and the
        loss is that of targets and components together.
        """
        values, rows = self._values(mixture), self._rows
        if shares is None:
            likelihood, shares = self._log_likelihood(values), _shares(values.of_rows)
        else:
            together = float(((shares * values.of_rows) @ rows.weight).sum())
            likelihood = together - self._log_partition(values)
        slope, curvature = self._derivatives(values, shares * rows.weight)
        vector, mean, precision = mixture.vector, priors.mean(mixture), priors.precision(mixture)
        away = vector - mean
        cost = float(priors.price(mixture) @ np.abs(away) + 0.5 * precision @ (away * away))
        return MixturePoint(vector, cost - likelihood, slope + precision * away, curvature + precision)

    def _values(self, mixture: FieldMixture) -> _Values:
        gate = mixture.gate @ self._x.T
        lines = zip(self._fields, mixture.components, strict=True)
        fields = [field.evaluate(c.weights) for field, c in lines]
        of_rows = np.stack([f.log_value for f in fields]) + gate[:, self._rows.group]
        return _Values(fields, of_rows, np.stack([f.log_partition for f in fields]) + gate)

    def _log_likelihood(self, values: _Values) -> float:
        return float(self._rows.weight @ logsumexp(values.of_rows, axis=0)) - self._log_partition(values)

    def _log_partition(self, values: _Values) -> float:
        return float(self._rows.group_weight @ logsumexp(values.of_groups, axis=0))

    def _derivatives(self, values: _Values, share: Floats) -> tuple[Floats, Floats]:
        """The gradient of the negative log-likelihood, and about its second derivatives.

        `share` is the weight of each row that belongs to each component, (components, rows).
        """
        rows, total = self._rows, max(self._rows.total, 1e-9)
        part = _shares(values.of_groups)
        slopes, curvatures = [], []
        for k, field in enumerate(self._fields):
            expected = field.expected_counts(values.fields[k], part[k] * rows.group_weight)
            slopes.append(expected - field.counts(share[k]))
            curvatures.append(expected * (1 - np.minimum(expected / total, 1.0)))
        have = np.stack([np.bincount(rows.group, line, len(self._x)) for line in share])
        slopes.append(((part * rows.group_weight - have) @ self._x).ravel())
        curvatures.append(((part * (1 - part) * rows.group_weight) @ self._x**2).ravel())
        return np.concatenate(slopes), np.concatenate(curvatures)


def _shares(logs: Floats) -> Floats:
    """Logarithms of what each component weighs, as parts of their sum. Shape (components, ...)."""
    return np.asarray(np.exp(logs - logsumexp(logs, axis=0)))


ROUND = FitEffort(10, 1e-7)  # between two looks at the validation rows
LEAST_PROGRESS = 1e-5  # part of the loss that a round must gain
PATIENCE = 3  # rounds without a better score


class Sample(NamedTuple):
    """Training rows, and validation rows if there are any."""

    rows: GatedRows
    held: GatedRows | None

    @property
    def judge(self) -> GatedRows:
        """The rows on which models are compared."""
        return self.rows if self.held is None else self.held


@final
class MixtureFit:
    """Fits mixtures of one structure."""

    def __init__(self, mixture: FieldMixture, sample: Sample, priors: MixturePriors) -> None:
        self._own = MixtureLikelihood(mixture, sample.rows)
        self._held = None if sample.held is None else MixtureLikelihood(mixture, sample.held)
        self._priors = priors

    def judge(self, mixture: FieldMixture) -> Scored[FieldMixture]:
        """A mixture with its score."""
        return Scored(mixture, (self._held or self._own).score(mixture))

    def fit_to_shares(self, mixture: FieldMixture, shares: Floats, steps: int, watch: Watch) -> FieldMixture:
        """The mixture after some steps on rows with given responsibilities.

        `shares` is (components, rows).
        """
        point = self._own.point(mixture, self._priors, shares)
        effort = FitEffort(steps, ROUND.tolerance)
        return mixture.at(self._descend(QuasiNewton(), mixture, point, effort, watch, shares).weight)

    def improve(self, mixture: FieldMixture, rounds: int, watch: Watch) -> Scored[FieldMixture]:
        """The best mixture on the way to the maximum of the conditional likelihood."""
        stopping = Stopping(rounds, PATIENCE)
        return best_iterate(
            self.judge(mixture), self._rounds(mixture, watch), stopping, "weights of the sum", watch
        )

    def _rounds(self, mixture: FieldMixture, watch: Watch) -> Iterator[Scored[FieldMixture]]:
        """The mixture after each round of steps, until a round hardly lowers the loss."""
        method, point = QuasiNewton(), self._own.point(mixture, self._priors)
        for number in count():
            before = point.loss
            point = self._descend(method, mixture, point, ROUND, watch.part(f"round {number}"))
            yield self.judge(mixture.at(point.weight))
            if before - point.loss < LEAST_PROGRESS * abs(point.loss):
                return

    def _descend(
        self,
        method: QuasiNewton,
        mixture: FieldMixture,
        point: MixturePoint,
        effort: FitEffort,
        watch: Watch,
        shares: Floats | None = None,
    ) -> MixturePoint:
        prior = L1Prior(self._priors.mean(mixture), self._priors.price(mixture))
        evaluate = partial(self._evaluate, mixture, shares)
        return method.descend(point, evaluate, prior, effort, watch)

    def _evaluate(self, mixture: FieldMixture, shares: Floats | None, vector: Floats) -> MixturePoint:
        return self._own.point(mixture.at(vector), self._priors, shares)
