"""The choice between Markov networks and mixtures of Gaussians for the leaves."""

from functools import partial

import numpy as np

from tractable.base.progress import Key, Watch
from tractable.circuit import Graph
from tractable.circuit.codec import graph_forms
from tractable.data import Table, collapse
from tractable.learning.joint.gaussian_mixture.learner import GaussianMixtureLearner
from tractable.learning.learner import Learner
from tractable.learning.statistics.held_out import shuffled_folds
from tractable.learning.statistics.scores import mean_log_prob

LEARNED = Key(__name__, "learned", Graph)

FOLDS = 5  # the rows of the first one are held out to choose, where there are no validation rows
MOST_ROWS = 2000  # that the choice is made by


def has_numbers(table: Table) -> bool:
    """Whether a table has numeric columns other than counts."""
    return any(v.is_numeric and v.kind != "count" for v in table.schema)


def prefers_gaussians(
    network: Learner, table: Table, valid: Table | None, rng: np.random.Generator, watch: Watch
) -> bool:
    """Whether a mixture of Gaussians has a better score on held-out rows than a Markov network.

    Both are learned from a subset of the rows and scored on the validation rows or on other rows of the
    table.
    """
    table, _ = collapse(table)  # so that a row of weight two is the same as two rows
    if len(table) < FOLDS:
        return False
    train, held = next(shuffled_folds(len(table), FOLDS, rng, most=MOST_ROWS))
    judge = table.take(held) if valid is None else valid
    some = table.take(np.sort(train))
    scores = []
    for learner in (network, GaussianMixtureLearner()):
        work = partial(_learn, learner, some, valid)
        graph = watch.remember(LEARNED.at(learner.name), work, forms=graph_forms(some.schema))
        scores.append(mean_log_prob(graph, judge))
        if watch.should_stop():
            return False
    return scores[1] > scores[0]


def _learn(learner: Learner, table: Table, valid: Table | None, watch: Watch) -> Graph:
    return learner.learn(table, np.random.default_rng(0), valid=valid, watch=watch)
