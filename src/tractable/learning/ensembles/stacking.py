"""Several circuits as one whose weights suit validation rows best (stacking: Wolpert, 1992)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tractable import queries
from tractable.base.arrays import Floats
from tractable.circuit import Graph, mixture
from tractable.data import Table, collapse
from tractable.learning.statistics.stack_weights import StackWeights, choose_weights
from tractable.model import Circuit, rows_table


def stack(
    circuits: Sequence[Circuit],
    valid: Any,
    *,
    train: Any = None,
    pseudo_count: float = 1.0,
    max_edges: int | None = None,
) -> Circuit:
    """The mixture of circuits whose weights make validation rows most likely, found by EM.

    `pseudo_count` rows are spread evenly over the members, so that no weight is decided by a few rows.
    Members are left out while the mixture has more than `max_edges` edges, those first that are missed least.
    With the rows of `train`, validation rows that occur there do not count: a member that remembers training
    rows is not preferred for it. The circuit's record lists the weights.

    Raises:
        ValueError: if the circuits are not over the same columns, if no row is left that counts or all are
            impossible, or if each member alone has too many edges.
    """
    if not circuits:
        raise ValueError("a stack is of at least one circuit")
    rows = _counting_rows(circuits[0], valid, train)
    logs = member_logs([circuit.graph for circuit in circuits], rows)
    edges = np.array([circuit.graph.edges for circuit in circuits])
    found = choose_weights(logs, rows.row_weights, edges, pseudo_count, max_edges)
    kept = np.flatnonzero(found.weights > 0).tolist()
    graph = circuits[kept[0]].graph
    if len(kept) > 1:
        graph = mixture([circuits[i].graph for i in kept], found.weights[kept])
    return Circuit(graph, _record(circuits, found))


def member_logs(graphs: Sequence[Graph], rows: Table) -> Floats:
    """The log-likelihood of each row under each circuit. Shape (rows, members).

    Raises:
        ValueError: if the circuits are not over the same columns, or a row is impossible under all.
    """
    logs = []
    for graph in graphs:
        if set(graph.schema) != set(rows.schema):
            names = sorted(v.name for v in set(graph.schema) ^ set(rows.schema))
            raise ValueError(
                f"a stack is over the same columns: '{names[0]}' is not the same in all circuits"
            )
        order = rows.schema.columns(graph.schema.names)
        logs.append(queries.log_prob(graph, rows.values[:, order]))
    answer = np.stack(logs, axis=1)
    if np.isneginf(answer).all(axis=1).any():
        row = int(np.isneginf(answer).all(axis=1).argmax())
        raise ValueError(f"validation row {row} is impossible under every circuit")
    return answer


def _counting_rows(circuit: Circuit, valid: Any, train: Any) -> Table:
    """The distinct validation rows, without those of the training rows."""
    rows = collapse(rows_table(valid, circuit.schema, "missing"))[0]
    if train is not None:
        seen = rows_table(train, circuit.schema, "missing")
        both = Table(rows.schema, np.concatenate([seen.values, rows.values]))
        place = collapse(both)[1]
        rows = rows.take(~np.isin(place[len(seen) :], place[: len(seen)]))
    rows = rows.take(rows.row_weights > 0)
    if not len(rows):
        raise ValueError("there is no validation row that counts, by which to choose the weights")
    return rows


def _record(circuits: Sequence[Circuit], found: StackWeights) -> dict[str, Any]:
    """The record of a stack: what it is made of, and what states that no row had are worth."""
    members = [
        {"learner": c.about.get("learner"), "weight": float(w), "edges": c.graph.edges}
        for c, w in zip(circuits, found.weights.tolist(), strict=True)
    ]
    shares = [c.unseen_share for c in circuits]
    unseen = None if any(s is None for s in shares) else float(np.mean(np.array(shares, dtype=np.float64)))
    about = {"learner": "stack", "members": members, "valid_ll": found.score, "unseen": unseen}
    return about | {key: circuits[0].about[key] for key in ("frame",) if key in circuits[0].about}
