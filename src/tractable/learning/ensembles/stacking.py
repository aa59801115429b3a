"""Stacking: a mixture of circuits with weights fitted to validation rows (Wolpert, 1992)."""

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
    """The mixture of circuits whose weights maximise the likelihood of the validation rows, fitted by EM.

    `pseudo_count` is the pseudo-count of the weights, in rows, spread evenly over the members. While the
    mixture has more than `max_edges` edges, the member that contributes least is removed. With `train`,
    validation rows that occur in it are ignored, so that memorising training rows gains nothing. The
    provenance of the circuit lists the weights.

    Raises:
        ValueError: if the columns of the circuits differ, no usable row is left or all are impossible, or
            each member alone has too many edges.
    """
    if not circuits:
        raise ValueError("a stack needs at least one circuit")
    rows = _counting_rows(circuits[0], valid, train)
    logs = member_logs([circuit.graph for circuit in circuits], rows)
    edges = np.array([circuit.graph.edges for circuit in circuits])
    chosen = choose_weights(logs, rows.row_weights, edges, pseudo_count, max_edges)
    kept = np.flatnonzero(chosen.weights > 0).tolist()
    graph = circuits[kept[0]].graph
    if len(kept) > 1:
        graph = mixture([circuits[i].graph for i in kept], chosen.weights[kept])
    return Circuit(graph, _record(circuits, chosen))


def member_logs(graphs: Sequence[Graph], rows: Table) -> Floats:
    """The log-likelihood of each row under each circuit. Shape (rows, members).

    Raises:
        ValueError: if the columns of the circuits differ, or a row is impossible under all of them.
    """
    logs = []
    for graph in graphs:
        if set(graph.schema) != set(rows.schema):
            names = sorted(v.name for v in set(graph.schema) ^ set(rows.schema))
            raise ValueError(
                f"the circuits of a stack must have the same columns: '{names[0]}' differs between them"
            )
        order = rows.schema.columns(graph.schema.names)
        logs.append(queries.log_prob(graph, rows.values[:, order]))
    answer = np.stack(logs, axis=1)
    if np.isneginf(answer).all(axis=1).any():
        row = int(np.isneginf(answer).all(axis=1).argmax())
        raise ValueError(f"validation row {row} is impossible under every circuit")
    return answer


def _counting_rows(circuit: Circuit, valid: Any, train: Any) -> Table:
    """The distinct validation rows that are not training rows."""
    rows = collapse(rows_table(valid, circuit.schema, "missing"))[0]
    if train is not None:
        seen = rows_table(train, circuit.schema, "missing")
        both = Table(rows.schema, np.concatenate([seen.values, rows.values]))
        place = collapse(both)[1]
        rows = rows.take(~np.isin(place[len(seen) :], place[: len(seen)]))
    rows = rows.take(rows.row_weights > 0)
    if not len(rows):
        raise ValueError("there is no validation row with a positive weight that is not also a training row")
    return rows


def _record(circuits: Sequence[Circuit], chosen: StackWeights) -> dict[str, Any]:
    """The provenance of a stack: its members, and the probability reserved for unseen states."""
    members = [
        {"learner": c.about.get("learner"), "weight": float(w), "edges": c.graph.edges}
        for c, w in zip(circuits, chosen.weights.tolist(), strict=True)
    ]
    shares = [c.unseen_share for c in circuits]
    unseen = None if any(s is None for s in shares) else float(np.mean(np.array(shares, dtype=np.float64)))
    about = {"learner": "stack", "members": members, "valid_ll": chosen.score, "unseen": unseen}
    return about | {key: circuits[0].about[key] for key in ("frame",) if key in circuits[0].about}
