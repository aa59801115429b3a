"""The one way from a learner and tables to a model, or a network, that knows where it comes from."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tractable.base.progress import Watch
from tractable.data import Table
from tractable.formats.network_files import NetworkDocument
from tractable.learning.conditional import ConditionalLearner
from tractable.learning.joint import Learner
from tractable.learning.networks import NetworkLearner
from tractable.model import Circuit


class Trained(NamedTuple):
    """A model, and by name what else its learner found."""

    circuit: Circuit
    extras: Mapping[str, Any]


def train(
    learner: Learner | ConditionalLearner,
    table: Table,
    valid: Table | None,
    about: Mapping[str, Any],
    watch: Watch | None = None,
) -> Trained:
    """The model that a learner makes of a table; `about` is its provenance, whose seed is used.

    The model's record says in addition whether the learner finished: it did not if a time budget or Ctrl-C
    stopped it with the best model so far. It also keeps those extras that the learner wants to be recorded.
    """
    rng = np.random.default_rng(about["seed"])
    graph, extras = learner.learn_with_extras(table, rng, valid=valid, watch=watch)
    found = {name: extras[name] for name in learner.recorded if name in extras}
    return Trained(Circuit(graph, {**about, "finished": _is_finished(watch), **found}), extras)


def train_network(
    learner: NetworkLearner,
    table: Table,
    valid: Table | None,
    about: Mapping[str, Any],
    watch: Watch | None = None,
) -> NetworkDocument:
    """The network that a learner makes of a table, recorded as `train` records a model."""
    network = learner.learn(table, np.random.default_rng(about["seed"]), valid=valid, watch=watch)
    return NetworkDocument(network, {**about, "finished": _is_finished(watch)})


def _is_finished(watch: Watch | None) -> bool:
    return watch is None or not watch.should_stop()
