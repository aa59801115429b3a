"""EM for mixtures whose components have a multivariate Gaussian, categorical and count distributions.

Within a component, categorical and count columns are independent of each other and of the Gaussian. Numeric
columns are standardised. EM maximises the posterior: covariances are shrunk towards the pooled
within-component covariance.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Key, Watch
from tractable.circuit.leaves import NegativeBinomial
from tractable.circuit.leaves.dispersion import count_groups, preferred_counts
from tractable.learning.joint.gaussian_mixture.rows import MixedRows
from tractable.learning.joint.gaussian_mixture.sums import (
    Conditionals,
    Gaussians,
    Patterns,
    conditionals,
    expected_sums,
    log_densities,
    sort_patterns,
)

# ---- empirical Bayes estimates of pseudo-counts from groups of rows -------------------------------------


SHARES = 0.25 ** np.arange(4)  # of the largest number of pseudo-counts, to choose among


def preferred_pseudo_counts(counts: Floats, prior: Floats, most: float) -> float:
    """The pseudo-count, at most `most`, that maximises the likelihood of the groups' counts.

    `counts` is (groups, states), and `prior` (states,) is the distribution of one pseudo-count. The counts of
    a group are Dirichlet-multinomial. Groups with different states prefer small pseudo-counts, similar groups
    large ones.
    """
    shares = most * SHARES
    return float(shares[np.argmax([_log_evidence(counts, share * prior) for share in shares])])


def _log_evidence(counts: Floats, pseudo_counts: Floats) -> float:
    """The log-probability of the counts of all groups, without the multinomial coefficients."""
    states = gammaln(pseudo_counts + counts) - gammaln(pseudo_counts)
    totals = gammaln(pseudo_counts.sum()) - gammaln(pseudo_counts.sum() + counts.sum(axis=1))
    return float(states.sum() + totals.sum())


MEAN_COUNT = 0.1  # pseudo-rows at the overall mean, zero
LEAST_SMOOTHING = 1e-9  # pseudo-rows even where none are asked for, so that no state is impossible
LEAST_VARIANCE = 1e-6  # of a standardised column in a component whose rows are all alike
LEAST_RATE = 1e-300  # in place of zero, whose logarithm times zero is NaN


@dataclass(frozen=True, kw_only=True, slots=True)
class Prior:
    """The strengths of shrinkage."""

    strength: float = 20.0  # pseudo-rows with the pooled covariance
    floor: float = 1e-3  # added to every variance
    smoothing: float = (
        1.0  # pseudo-rows with the overall rates of counts, at most so many with those of states
    )
    unit_floor: Floats | None = None  # (numbers,) least variances of single columns, as of whole numbers


@dataclass(frozen=True, slots=True, eq=False)
class MixtureFit:
    """Parameters of a mixture."""

    log_weight: Floats  # (components,)
    gaussians: Gaussians
    log_state: Floats  # (components, states)
    rate: Floats  # (components, counts)
    log_r: Floats  # (components, counts) of negative binomial counts; infinite where they are Poisson

    def __len__(self) -> int:
        return self.log_weight.size


class Reached(NamedTuple):
    """How far EM has come."""

    steps: int
    log_likelihood: float  # mean over rows before the last step
    fit: MixtureFit


REACHED = Key(__name__, "reached", Reached)


@dataclass(frozen=True, slots=True, eq=False)
class EMRows:
    """Rows in the form of EM."""

    rows: MixedRows
    patterns: Patterns  # of the standardised numbers
    outside: Floats  # (rows,) log-density of a background with a fixed share; -inf when there is none
    overall_state: Floats  # (states,) smoothed frequencies
    overall_rate: Floats  # (counts,)


def em_rows(rows: MixedRows, numbers: Floats, outside: Floats) -> EMRows:
    """Rows with standardised numbers (rows, numbers) and the log-density of a background."""
    return EMRows(rows, sort_patterns(numbers, rows.seen), outside, *overall_frequencies(rows))


def overall_frequencies(rows: MixedRows) -> tuple[Floats, Floats]:
    """Frequencies of states with one pseudo-row spread evenly over the states, and mean counts."""
    total = rows.weights @ rows.indicators
    frequency = np.zeros(total.size)
    for part in rows.groups.slices():
        count = total[part] + 1.0 / max(1, part.stop - part.start)
        frequency[part] = count / count.sum()
    seen = rows.weights @ rows.counts_seen
    rate = np.where(seen > 0, rows.weights @ rows.counts, 1.0) / np.where(seen > 0, seen, 1.0)
    return frequency, np.maximum(rate, LEAST_RATE)


def log_components(data: EMRows, fit: MixtureFit, given: Conditionals | None = None) -> Floats:
    """The joint log-density of each row and each component. (rows, components)."""
    given = conditionals(data.patterns, fit.gaussians) if given is None else given
    logs = log_densities(data.patterns, given) + fit.log_weight
    if data.rows.indicators.size:
        logs += data.rows.indicators @ fit.log_state.T
    if data.rows.counts.size:
        logs += _log_counts(data.rows, fit)
    return logs


def _log_counts(rows: MixedRows, fit: MixtureFit) -> Floats:
    """The log-probability of the counts of each row in each component. Shape (rows, components)."""
    if np.isinf(fit.log_r).all():
        logs = rows.counts @ np.log(fit.rate).T - rows.counts_seen @ fit.rate.T
        return np.asarray(logs - rows.log_factorials[:, None])
    total = np.zeros((len(fit), len(rows)))
    for j, (x, seen) in enumerate(zip(rows.counts.T, rows.counts_seen.T, strict=True)):
        params = np.stack([np.log(fit.rate[:, j]), fit.log_r[:, j]], axis=1)
        total += np.where(seen > 0, NegativeBinomial().log_prob(params, x[None]), 0.0)
    return total.T


def widen_counts(data: EMRows, fit: MixtureFit, smoothing: float, background: float) -> MixtureFit:
    """The mixture with negative binomial counts if the rows prefer them, after another EM step."""
    if not data.rows.counts.size or not data.rows.weights.any():
        return fit
    share = responsibilities(data, fit, background)[0] * data.rows.weights[:, None]
    rate, log_r = fit.rate.copy(), fit.log_r.copy()
    for j, overall in enumerate(data.overall_rate.tolist()):
        x, seen = data.rows.counts[:, j], data.rows.counts_seen[:, j] > 0
        params = preferred_counts(
            count_groups(x[seen], share[seen].T), max(smoothing, LEAST_SMOOTHING), overall
        )
        if np.isfinite(params[:, 1]).any():
            rate[:, j], log_r[:, j] = np.maximum(np.exp(params[:, 0]), LEAST_RATE), params[:, 1]
    return replace(fit, rate=rate, log_r=log_r)


def log_mixture(data: EMRows, fit: MixtureFit) -> Floats:
    """The log-density of each row without the background. Shape (rows,)."""
    return log_sum(log_components(data, fit))


def log_sum(logs: Floats) -> Floats:
    """A fast log-sum-exp over the last axis, for numbers below infinity."""
    top = np.maximum(logs.max(axis=-1), -1e300)
    return top + np.log(np.exp(logs - top[..., None]).sum(axis=-1))


def add_background(log_mixture: Floats, outside: Floats, share: float) -> Floats:
    """The log-densities of a mixture with a given weight of the background."""
    log_share = np.log(share) if share > 0 else -np.inf
    return np.logaddexp(log_mixture + np.log1p(-share), outside + log_share)


def estimate(data: EMRows, share: Floats, given: Conditionals, prior: Prior) -> MixtureFit:
    """The most probable parameters given responsibilities, (rows, components).

    `given` are the conditional distributions of missing cells.
    """
    weighted = share * data.rows.weights[:, None]
    count = weighted.sum(axis=0)
    total, square = expected_sums(data.patterns, given, weighted)
    log_weight = np.log(count + 1.0 / count.size) - np.log(count.sum() + 1.0)
    smoothing = max(prior.smoothing, LEAST_SMOOTHING)
    log_state = _log_states(data, weighted.T @ data.rows.indicators, smoothing)
    seen = weighted.T @ data.rows.counts_seen + smoothing
    rate = (weighted.T @ data.rows.counts + smoothing * data.overall_rate) / seen
    fitted = _shrunk_gaussians(count, total, square, prior)
    rate = np.maximum(rate, LEAST_RATE)
    return MixtureFit(log_weight, fitted, log_state, rate, np.full(rate.shape, np.inf))


def _shrunk_gaussians(count: Floats, total: Floats, square: Floats, prior: Prior) -> Gaussians:
    """Means and covariances (scatter + strength * target) / (count + strength) + floor."""
    columns = total.shape[1]
    mean = total / (count + MEAN_COUNT)[:, None]
    outer = mean[:, :, None] * mean[:, None, :]
    cross = total[:, :, None] * mean[:, None, :]
    scatter = square - cross - cross.transpose(0, 2, 1) + count[:, None, None] * outer
    scatter = (scatter + scatter.transpose(0, 2, 1)) / 2
    whole = count.sum()
    pooled = scatter.sum(axis=0) / whole if whole > 0 else np.eye(columns)
    strength = max(prior.strength, 1e-6)
    target = _rescaled(pooled, scatter, count, strength)
    covariance = (scatter + strength * target) / (count + strength)[:, None, None]
    floor = np.full(columns, prior.floor)
    if prior.unit_floor is not None:
        floor = np.maximum(floor, prior.unit_floor)
    return Gaussians(mean, covariance + np.diag(floor))


def _rescaled(pooled: Floats, scatter: Floats, count: Floats, strength: float) -> Floats:
    """The pooled covariance rescaled to variances between those of a component and the pooled ones.

    The logarithms of variances are averaged, because arithmetic means would widen narrow components too much.
    Shape (components, numbers, numbers).
    """
    wide = np.maximum(np.diag(pooled), LEAST_VARIANCE)
    own = np.diagonal(scatter, axis1=1, axis2=2) / np.maximum(count, LEAST_RATE)[:, None]
    narrower = np.log(np.maximum(own, LEAST_VARIANCE) / wide) * (count / (count + strength))[:, None]
    ratio = np.exp(narrower / 2)
    return ratio[:, :, None] * pooled * ratio[:, None, :]


def _log_states(data: EMRows, counts: Floats, smoothing: float) -> Floats:
    """Smoothed log-probabilities of the states of each column. Shape (components, states)."""
    answer = np.zeros(counts.shape)
    for part in data.rows.groups.slices():
        prior = data.overall_state[part]
        smoothed = counts[:, part] + preferred_pseudo_counts(counts[:, part], prior, smoothing) * prior
        answer[:, part] = np.log(smoothed) - np.log(smoothed.sum(axis=1, keepdims=True))
    return answer


def start_from(data: EMRows, share: Floats, prior: Prior) -> MixtureFit:
    """Initial parameters from responsibilities; missing cells are standard normal."""
    columns = data.patterns.values.shape[1]
    size = share.shape[1]
    neutral = Gaussians(np.zeros((size, columns)), np.tile(np.eye(columns), (size, 1, 1)))
    return estimate(data, share, conditionals(data.patterns, neutral), prior)


def responsibilities(
    data: EMRows, fit: MixtureFit, background: float, given: Conditionals | None = None
) -> tuple[Floats, float]:
    """The responsibilities of components next to the background, and the mean log-likelihood of the rows."""
    logs = log_components(data, fit, given)
    total = add_background(log_sum(logs), data.outside, background)
    weight = data.rows.weights
    mean = float(weight @ np.where(weight > 0, total, 0.0)) / max(float(weight.sum()), 1e-300)
    return np.exp(logs - (total - np.log1p(-background))[:, None]), mean


def iterate_em(
    data: EMRows,
    fit: MixtureFit,
    prior: Prior,
    *,
    background: float,
    steps: int,
    tolerance: float,
    watch: Watch | None = None,
) -> MixtureFit:
    """The parameters after EM, which ends when a step gains less than `tolerance` nats per row.

    With a watch it can be stopped, and continues from the last step of an earlier run.
    """
    watch = watch or Watch()
    before, done = -np.inf, 0
    saved = watch.checkpoint(REACHED)
    if saved is not None:
        done, before, fit = saved
    for step in range(done, steps):
        given = conditionals(data.patterns, fit.gaussians)
        share, now = responsibilities(data, fit, background, given)
        if now - before < tolerance or watch.must_stop():
            break
        fit, before = estimate(data, share, given, prior), now
        watch.save_checkpoint(REACHED, partial(Reached, step + 1, before, fit))
    return fit


def labels_as_shares(label: Ints, size: int) -> Floats:
    """One-hot responsibilities from one label per row. Shape (rows, size)."""
    return (label[:, None] == np.arange(size)).astype(np.float64)
