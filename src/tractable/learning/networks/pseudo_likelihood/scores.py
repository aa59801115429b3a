"""Log pseudo-likelihoods, which score predictions of each cell from the others.

Unlike the log-likelihood of a Markov network, they need no partition function.
"""

import numpy as np

from tractable.base.arrays import Floats
from tractable.data import Table, collapse
from tractable.learning.networks.pseudo_likelihood.objective import PseudoLikelihood
from tractable.learning.networks.pseudo_likelihood.weights import log_weights
from tractable.networks import Network
from tractable.networks.features import IMPOSSIBLE, feature_factors


def mean_log_pseudo_likelihood(network: Network, table: Table) -> float:
    """The weighted mean over rows of the log pseudo-likelihood, in nats."""
    features = feature_factors(network)
    weights = log_weights(features)
    if np.isneginf(weights).any():  # a row may be impossible
        counted = table.row_weights > 0
        logs = log_pseudo_likelihoods(network, table)[counted]
        return float(np.average(logs, weights=table.row_weights[counted])) if counted.any() else 0.0
    return PseudoLikelihood(features, table).mean(weights)


def log_pseudo_likelihoods(network: Network, table: Table) -> Floats:
    """The log pseudo-likelihood of each row. Shape (rows,).

    It is the sum over the row's cells of log P(cell | all other cells of the row). Missing cells and factors
    that refer to them are ignored.
    """
    features = feature_factors(network)
    weights = log_weights(features)
    distinct, which = collapse(table)
    objective = PseudoLikelihood(features, Table(table.schema, distinct.values))
    logs = objective.by_row(np.maximum(weights, IMPOSSIBLE))
    if np.isneginf(weights).any():
        logs[logs < IMPOSSIBLE / 2] = -np.inf
    return logs[which]
