"""Training of a model or a network, with its provenance."""

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
    """A model, and the additional results of its learner by name."""

    circuit: Circuit
    extras: Mapping[str, Any]


def train(
    learner: Learner | ConditionalLearner,
    table: Table,
    valid: Table | None,
    about: Mapping[str, Any],
    watch: Watch | None = None,
) -> Trained:
    """The model that a learner learns from a table; `about` is its provenance, whose seed is used.

    The record of the model also states whether the learner finished, or was stopped by a time budget or
    Ctrl-C, and includes the additional results that the learner selects for it.
    """
    rng = np.random.default_rng(about["seed"])
    graph, extras = learner.learn_with_extras(table, rng, valid=valid, watch=watch)
    recorded = {name: extras[name] for name in learner.recorded if name in extras}
    return Trained(Circuit(graph, {**about, "finished": _is_finished(watch), **recorded}), extras)


def train_network(
    learner: NetworkLearner,
    table: Table,
    valid: Table | None,
    about: Mapping[str, Any],
    watch: Watch | None = None,
) -> NetworkDocument:
    """The network that a learner learns from a table, with its provenance."""
    network = learner.learn(table, np.random.default_rng(about["seed"]), valid=valid, watch=watch)
    return NetworkDocument(network, {**about, "finished": _is_finished(watch)})


def _is_finished(watch: Watch | None) -> bool:
    return watch is None or not watch.should_stop()
