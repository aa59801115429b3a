"""The conditional likelihood of a gated sum of fields, and its gradient.

The gradient of the log-likelihood is a difference of expected counts: given inputs and targets, where each
component has a posterior probability, and given the inputs alone, where it has another one.
"""

from typing import NamedTuple, final

import numpy as np
from scipy.special import logsumexp

from tractable.base.arrays import Floats
from tractable.learning.conditional.mixture.field import FieldOnRows, FieldValues
from tractable.learning.conditional.mixture.model import FieldMixture, MixturePriors
from tractable.learning.conditional.mixture.rows import GatedRows


class MixturePoint(NamedTuple):
    """All weights of a mixture, and what is known of the loss there."""

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
    """A mixture's components on some rows; their weights and gates may change."""

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
