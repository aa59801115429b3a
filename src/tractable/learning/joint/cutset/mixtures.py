"""Mixtures of cutset networks: random, bagged and boosted ones, and EM over their parameters."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from tractable.base.arrays import Floats, Int32s
from tractable.base.progress import Watch
from tractable.learning.joint.cutset.network import CutsetTree
from tractable.learning.joint.cutset.rows import CountedRows
from tractable.learning.joint.cutset.splits import Growth, grow_network

Kind = Literal["random", "extremely-random", "bagged", "boosted"]

LEAST_STEP = 1e-6  # boosting ends when the next network's weight in the mixture is smaller
MOST_DRAWS = 2**53  # of rows; where there are more, a draw stands for several
HALVINGS = 60  # of the interval in which that weight is searched


class CutsetMixture(NamedTuple):
    """Cutset networks and their mixture weights."""

    networks: list[CutsetTree]
    weights: Floats  # (networks,)

    def joint_logs(self, codes: Int32s) -> Floats:
        """The joint log-probability of each row and each network. Shape (networks, rows)."""
        logs = Parallel(prefer="threads")(delayed(n.log_probs)(codes) for n in self.networks)
        return np.stack(logs) + np.log(self.weights)[:, None]

    def log_probs(self, codes: Int32s) -> Floats:
        """The log-probability of each row."""
        return np.logaddexp.reduce(self.joint_logs(codes), axis=0)


@dataclass(frozen=True, eq=False)
class Member:
    """The settings of one network of a mixture."""

    how: Growth
    seed: np.random.SeedSequence
    is_bagged: bool

    def grow(self, data: CountedRows, watch: Watch) -> CutsetTree | None:
        """The network, or None if there is no time for it."""
        if watch.should_stop():
            return None
        rng = np.random.default_rng(self.seed)
        if self.is_bagged:
            data = data.with_weights(draw_weights(data.weights, rng))
        return grow_network(data, self.how, rng, watch)


def draw_weights(weights: Floats, rng: np.random.Generator) -> Floats:
    """The bootstrap frequencies of rows."""
    total = weights.sum()
    if not total:
        return weights
    draws = int(np.clip(np.rint(total), 1, MOST_DRAWS))
    return rng.multinomial(draws, weights / total) * (total / draws)


def grow_members(data: CountedRows, members: Sequence[Member], watch: Watch) -> list[CutsetTree]:
    """The networks of all members for which there is time, learned in parallel; at least one."""
    done = 0

    def grow(member: Member) -> CutsetTree | None:
        nonlocal done
        network = member.grow(data, watch)
        done += 1
        watch.report("cutset networks", min(done, len(members)), len(members))
        return network

    grown = Parallel(prefer="threads")(delayed(grow)(member) for member in members)
    networks = [network for network in grown if network is not None]
    if not networks:  # there is no time for any: a single leaf
        rng = np.random.default_rng(members[0].seed)
        networks = [grow_network(data, members[0].how, rng, watch)]
    return networks


def mix_evenly(networks: list[CutsetTree]) -> CutsetMixture:
    """A mixture with equal weights."""
    return CutsetMixture(networks, np.full(len(networks), 1 / len(networks)))


def boost(data: CountedRows, members: Sequence[Member], watch: Watch) -> CutsetMixture:
    """A mixture to which networks are added one by one (Rosset and Segal, 2002; Rahman and Gogate, 2016).

    A network is learned from rows whose weights are divided by their probability under the mixture so far.
    Its mixture weight maximises the likelihood, which never decreases.
    """
    networks = [grow_network(data, members[0].how, np.random.default_rng(members[0].seed), watch)]
    weights, logs = np.ones(1), networks[0].log_probs(data.codes)
    for done, member in enumerate(members[1:], start=1):
        watch.report("boosted networks", done, len(members), _mean(data, logs))
        if watch.should_stop():
            break
        rng = np.random.default_rng(member.seed)
        rows = data.with_weights(boosting_weights(data.weights, logs))
        network = grow_network(rows, member.how, rng, watch)
        new = network.log_probs(data.codes)
        step = best_step(logs, new, data.weights)
        if step < LEAST_STEP:
            break
        networks.append(network)
        weights = np.append(weights * (1 - step), step)
        logs = np.logaddexp(logs + np.log1p(-step), new + np.log(step))
    return CutsetMixture(networks, weights)


def boosting_weights(weights: Floats, logs: Floats) -> Floats:
    """The weights of rows divided by their probability, rescaled to the original sum."""
    log_weight = np.where(weights > 0, -logs, -np.inf)
    shifted = weights * np.exp(log_weight - log_weight.max(initial=-1e300))
    return shifted * (weights.sum() / (shifted.sum() or 1.0))


def best_step(logs: Floats, new: Floats, weights: Floats) -> float:
    """The weight of a new component that maximises the likelihood of rows, by bisection of its derivative.

    `logs` and `new` are the log-probabilities of the rows under the mixture so far and the component.
    """
    top = np.maximum(logs, new)
    old, own = np.exp(logs - top), np.exp(new - top)

    def slope(step: float) -> float:
        return float(weights @ ((own - old) / ((1 - step) * old + step * own)))

    low, high = 0.0, 0.999
    if slope(low) <= 0:
        return 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return low


def _mean(data: CountedRows, logs: Floats) -> float:
    return float(data.weights @ logs) / (float(data.weights.sum()) or 1.0)


def iterate_em(data: CountedRows, mixture: CutsetMixture, shrinkage: float) -> Iterator[CutsetMixture]:
    """The mixture after each EM iteration over all parameters, with fixed splits and trees.

    A row with missing cells counts for the pairs of columns that are known.
    """
    while True:
        joint = mixture.joint_logs(data.codes)
        share = np.exp(joint - np.logaddexp.reduce(joint, axis=0)) * data.weights
        networks = Parallel(prefer="threads")(
            delayed(network.refit)(data.codes, line, shrinkage)
            for network, line in zip(mixture.networks, share, strict=True)
        )
        weights = share.sum(axis=1) + 1.0
        mixture = CutsetMixture(list(networks), weights / weights.sum())
        yield mixture
