"""Pseudo-counts of the sums of a selective tree.

Every edge of a sum has the same pseudo-count. A sum that was copied from another one for a part of its rows
has more of them, in proportion to the weights that the other sum had: it is shrunk towards those.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.compiled import inner
from tractable.learning.joint.selective.nodes import Arrays


class Smoothing(NamedTuple):
    """Several ways to smooth, among which validation rows choose."""

    even: Floats  # (ways,) pseudo-counts of each edge
    inherited: Floats  # (ways,) pseudo-counts of each sum in proportion to its prior mean

    @property
    def ways(self) -> int:
        """The number of ways."""
        return self.even.size

    def prior_mean(self, kept: Ints, model: Floats | None, states: int) -> Floats:
        """A prior mean over some states in proportion to a model; even if the model does not allow them all.

        Shape (ways, states).
        """
        share = np.ones((self.ways, kept.size))
        if model is not None and (model[:, kept] > 0).all():
            share = model[:, kept]
        answer = np.zeros((self.ways, states))
        answer[:, kept] = share / share.sum(axis=1, keepdims=True)
        return answer

    def weights(self, counts: Floats, prior: Floats, parts: Sequence[Ints]) -> Floats:
        """The weights of the edges of a sum, each of which has a part of the states. Shape (ways, edges)."""
        if all(part.size == 1 for part in parts):
            means = prior[:, [part[0] for part in parts]]
        else:
            means = np.stack([prior[:, part].sum(axis=1) for part in parts], axis=1)
        smoothed = counts + self.even[:, None] + self.inherited[:, None] * means
        answer: Floats = smoothed / smoothed.sum(axis=1, keepdims=True)
        return answer


def all_ways(even: Iterable[float], inherited: Iterable[float]) -> Smoothing:
    """Every amount of one kind with every amount of the other."""
    first, second = np.meshgrid(np.array(list(even)), np.array(list(inherited)), indexing="ij")
    return Smoothing(first.ravel(), second.ravel())


def log_likelihood(counts: Floats) -> float:
    """Of counts under their own relative frequencies."""
    seen = counts[counts > 0]
    return float(seen @ np.log(seen / seen.sum())) if seen.size else 0.0


@inner
def smooth(tree: Arrays, number: int, prior: Floats, smoothing: Smoothing, weights: Floats) -> None:
    """The weights of a sum in each way; shape (edges, ways). `prior` is that of the states of its column."""
    node, ways = tree.nodes[number], smoothing.even.size
    for e in range(node.edges):
        for way in range(ways):
            weights[e, way] = tree.counts[node.first_edge + e] + smoothing.even[way]
    for s in range(node.states):
        e = tree.branch[node.first_state + s]
        for way in range(ways if e >= 0 else 0):
            weights[e, way] += smoothing.inherited[way] * prior[s, way]
    for way in range(ways):
        total = 0.0
        for e in range(node.edges):
            total += weights[e, way]
        for e in range(node.edges):
            weights[e, way] /= total


@inner
def use_weights(tree: Arrays, number: int, weights: Floats, prior: Floats) -> None:
    """Turn a prior mean into smoothed weights of states, which share an edge as they did before."""
    node = tree.nodes[number]
    branch = tree.branch[node.first_state : node.first_state + node.states]
    for e in range(node.edges):
        states = 0
        for s in range(node.states):
            states += branch[s] == e
        for way in range(weights.shape[1]):
            mean = 0.0
            for s in range(node.states):
                mean += prior[s, way] if branch[s] == e else 0.0
            for s in range(node.states):
                if branch[s] == e:
                    share = prior[s, way] * weights[e, way] / mean if states > 1 else weights[e, way]
                    prior[s, way] = share


@inner
def restrict(tree: Arrays, number: int, model: Floats) -> None:
    """Make the prior mean of a sum from a model: in proportion, or even if that does not allow all states."""
    node, allowed = tree.nodes[number], True
    branch = tree.branch[node.first_state : node.first_state + node.states]
    prior = tree.prior[node.first_state : node.first_state + node.states]
    for s in range(node.states):
        for way in range(model.shape[1] if branch[s] >= 0 else 0):
            allowed = allowed and model[s, way] > 0.0
    for way in range(model.shape[1]):
        total = 0.0
        for s in range(node.states):
            prior[s, way] = 0.0
            if branch[s] >= 0:
                prior[s, way] = model[s, way] if allowed else 1.0
                total += prior[s, way]
        for s in range(node.states):
            prior[s, way] /= total
