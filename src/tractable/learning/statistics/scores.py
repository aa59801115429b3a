"""How well a circuit does on rows, and what its parameters cost."""

from math import log

from tractable.circuit import Graph, parameter_count
from tractable.data import Table, collapse
from tractable.engine import log_values
from tractable.learning.statistics.encoding import Encoding


def mean_log_prob(graph: Graph, table: Table) -> float:
    """The mean log-likelihood of a table's rows under a normalised circuit."""
    distinct, _ = collapse(table)
    return float(log_values(graph, distinct.values) @ distinct.row_weights) / (table.total_weight or 1.0)


def bic_penalty(graph: Graph, encoding: Encoding) -> float:
    """The penalty of the Bayesian information criterion (BIC) a row, in nats."""
    return 0.5 * parameter_count(graph) * log(max(encoding.total, 1.0)) / encoding.rows
