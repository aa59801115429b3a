"""The members of a mixture: the components of each network, trained by themselves.

Trained together, networks would divide the rows among them, and each would know its own rows only: where rows
are few, unseen ones become less likely. Trained apart, they are several opinions of all rows. Where rows are
many, all components from one network may be better than a few from each.
"""

import time
from collections.abc import Sequence
from functools import partial

import numpy as np

from tractable.base.arrays import AnyArray, Floats
from tractable.base.processes import side_by_side
from tractable.base.progress import Key, Watch
from tractable.learning.joint.continuous.components import Components
from tractable.learning.joint.continuous.joint_training import ComponentTrainer, Found
from tractable.learning.joint.continuous.likelihood import mean_score, row_logs
from tractable.learning.joint.continuous.training import Trained
from tractable.learning.joint.continuous.trees import Trees
from tractable.learning.statistics.stack_weights import fit_weights

COMPONENTS = Key(__name__, "components", Found)

PSEUDO_COUNT = 1.0  # of the weights of members, so that few held-out rows leave none out
TO_SPARE = 3  # times the seconds that several members took that one with all components may take


def best_members(
    trainer: ComponentTrainer, networks: Sequence[Trained], count: int, seed: int, watch: Watch
) -> list[Components]:
    """Members with `count` components together, from all networks or, if it is better, from one of them."""
    begin = time.monotonic()
    several = train_members(trainer, networks, count, seed, watch)
    too_long = TO_SPARE * (time.monotonic() - begin)
    if len(networks) == 1 or trainer.data.has_few_rows or watch.should_stop():
        return several
    if watch.left is not None and watch.left < too_long:
        return several
    best = max(networks, key=lambda trained: trained.score)
    one = train_members(trainer, [best], count, seed, watch)
    rows = trainer.data.held_out
    return max(several, one, key=lambda members: mean_score(*mixed_trees(members, trainer), rows))


def train_members(
    trainer: ComponentTrainer, networks: Sequence[Trained], count: int, seed: int, watch: Watch
) -> list[Components]:
    """About as many components from each network, `count` of them together."""
    sizes = [len(part) for part in np.array_split(np.arange(count), len(networks))]
    seeds = np.random.default_rng(seed).integers(2**63, size=len(networks)).tolist()

    def train(place: int, watch: Watch) -> Found:
        start = Components.begin(networks[place].decoder, sizes[place])
        work = partial(trainer.run, start, seeds[place])
        return watch.remember(COMPONENTS.at(place, "of", len(networks)), work)

    found = side_by_side([partial(train, place) for place in range(len(networks))], watch)
    return [each.components for each in found]


def mixed_trees(members: Sequence[Components], trainer: ComponentTrainer) -> tuple[Trees, AnyArray]:
    """The trees of all members, and their log-weights; the held-out rows tell the weight of each member."""
    shape, rows = trainer.data.shape, trainer.data.held_out
    output = np.concatenate([member.exact_outputs() for member in members], axis=1)
    weights: Floats = np.ones(1)
    if len(members) > 1:
        logs = [row_logs(member.trees(shape), member.log_shares, rows) for member in members]
        weights = fit_weights(np.column_stack(logs), rows.weights, PSEUDO_COUNT).weights
    shares = [member.log_shares + np.log(w) for member, w in zip(members, weights, strict=True)]
    return Trees.from_outputs(shape, output), np.concatenate(shares)
