"""How well a circuit does on rows."""

from tractable.circuit import Graph
from tractable.data import Table, collapse
from tractable.engine import log_values


def mean_log_prob(graph: Graph, table: Table) -> float:
    """The mean log-likelihood of a table's rows under a normalised circuit."""
    distinct, _ = collapse(table)
    return float(log_values(graph, distinct.values) @ distinct.row_weights) / (table.total_weight or 1.0)
