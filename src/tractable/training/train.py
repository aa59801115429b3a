"""The one way from a learner and tables to a model that knows where it comes from."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tractable.data import Table
from tractable.learners import Learner
from tractable.model import Circuit
from tractable.progress import Watch


class Trained(NamedTuple):
    """A model, and by name what else its learner found."""

    circuit: Circuit
    extras: Mapping[str, Any]


def train(
    learner: Learner,
    table: Table,
    valid: Table | None,
    about: Mapping[str, Any],
    watch: Watch | None = None,
) -> Trained:
    """The model that a learner makes of a table; `about` is its provenance, whose seed is used.

    The model's record says in addition whether the learner finished: it did not if a time budget or Ctrl-C
    stopped it with the best model so far.
    """
    rng = np.random.default_rng(about["seed"])
    graph, extras = learner.learn_with_extras(table, rng, valid=valid, watch=watch)
    finished = watch is None or not watch.should_stop()
    return Trained(Circuit(graph, {**about, "finished": finished}), extras)
