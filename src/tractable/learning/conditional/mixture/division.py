"""How a component of a mixture becomes two: rows are divided along what varies most among them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from tractable.base.arrays import Floats
from tractable.learning.conditional.daclearn.rows import ConditionalRows
from tractable.learning.conditional.mixture.likelihood import MixtureLikelihood
from tractable.learning.conditional.mixture.model import FieldMixture
from tractable.learning.conditional.mixture.rows import GatedRows
from tractable.learning.conditional.trees.regression import Effort, Penalty, fit_regression

SHARPNESS = 2.0  # of the first shares of the rows that the two components have
GATE = Effort(10, 1e-6)
MOST = 5.0  # standard deviations of a residual that count


class Division(NamedTuple):
    """A mixture with one more component, and how much of each row belongs to each of its components."""

    mixture: FieldMixture
    shares: Floats  # (components, rows)


def divisions(mixture: FieldMixture, some: GatedRows, which: int, gate_l2: float) -> Iterator[Division]:
    """The ways in which a component may be divided.

    What the mixture does not explain shows in residuals of targets that vary together. What it explains
    differently for different inputs shows in the inputs. Rows on both sides of the first principal component
    of the residuals, or of the inputs, become two components. Both have the weights of the old one.
    """
    likelihood = MixtureLikelihood(mixture, some)
    old = likelihood.responsibilities(mixture)
    weight = some.rows.weight * old[which]
    residuals = _residuals(likelihood.target_states(mixture), some.rows)
    for matrix in (residuals, some.x[some.rows.group, :-1]):
        second = expit(SHARPNESS * _principal_component(matrix, weight))
        shares = np.concatenate([old, [old[which] * second]])
        shares[which] *= 1 - second
        apart = _gate(some, second, weight, gate_l2)
        yield Division(_divide(mixture, which, apart), shares)


def _divide(mixture: FieldMixture, which: int, apart: Floats) -> FieldMixture:
    """The mixture in which a component stands twice; `apart` is how much their gates differ."""
    gate = np.concatenate([mixture.gate, mixture.gate[which : which + 1] + 0.5 * apart])
    gate[which] -= 0.5 * apart
    gate[[which, -1], -1] -= np.log(2.0)
    return replace(mixture, components=(*mixture.components, mixture.components[which]), gate=gate)


def _gate(some: GatedRows, second: Floats, weight: Floats, l2: float) -> Floats:
    """The logistic regression on the inputs of which side rows are on. Shape (features,)."""
    groups, width = some.x.shape
    total = np.bincount(some.rows.group, weight, groups).astype(np.float64)
    share = np.bincount(some.rows.group, weight * second, groups) / np.maximum(total, 1e-300)
    start = np.zeros((1, width))
    sides = np.stack([1 - share, share], axis=1)
    return fit_regression(some.x, sides, total, Penalty(l2, start), start, GATE)[0]


def _principal_component(matrix: Floats, weight: Floats) -> Floats:
    """Where each row is along the first principal component, in standard deviations. Shape (rows,)."""
    centred = matrix - np.average(matrix, axis=0, weights=weight)
    if not centred.shape[1]:
        return np.zeros(len(centred))
    direction = np.linalg.eigh((centred * weight[:, None]).T @ centred)[1][:, -1]
    direction = direction * (1.0 if direction[np.abs(direction).argmax()] > 0 else -1.0)
    along = centred @ direction
    size = np.sqrt(float(np.average(along**2, weights=weight)))
    return np.asarray(along / (size if size > 0 else 1.0))


def _residuals(probability: Floats, rows: ConditionalRows) -> Floats:
    """How far each state is from its probability, in standard deviations. Shape (rows, states).

    `probability` is (states of all targets, groups).
    """
    sizes = rows.target_states
    own = np.zeros((len(rows.targets), int(sizes.sum())))
    np.put_along_axis(own, rows.targets + np.cumsum(sizes) - sizes, 1.0, axis=1)
    p = np.clip(probability.T[rows.group], 0.0, 1.0)
    return np.clip((own - p) / np.sqrt(np.maximum(p * (1 - p), 1e-12)), -MOST, MOST)
