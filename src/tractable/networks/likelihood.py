"""Log-probabilities of complete rows under a network, without compilation."""

import numpy as np

from tractable.base.arrays import Floats, Int32s
from tractable.data.table import Table
from tractable.networks.flat import flatten_factors
from tractable.networks.network import Network


def log_prob_of_rows(network: Network, rows: Floats) -> Floats:
    """The logarithm of the product of all factors for each complete row. Shape (rows,).

    In a Bayesian network it is the log-probability of the row; in a Markov network it exceeds that by log Z.

    Raises:
        ValueError: naming a cell that is missing or invalid.
    """
    from tractable.networks.kernels import add_log_values

    answer = np.zeros(len(rows))
    add_log_values(*flatten_factors(network), complete_codes(network, rows), answer)
    return answer


def complete_codes(network: Network, rows: Floats) -> Int32s:
    """The states of complete rows. Shape (rows, columns)."""
    missing = Table(network.schema, rows).missing
    if missing.any():
        row, column = np.argwhere(missing)[0].tolist()
        raise ValueError(f"row {row} has no value in column '{network.schema[column].name}'")
    return np.ascontiguousarray(rows.astype(np.int32))
