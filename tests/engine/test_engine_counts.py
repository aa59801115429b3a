"""Expected numbers of rows: the derivatives of the log-likelihood by the log weights."""

from dataclasses import replace

import numpy as np
import pytest
from closeness import close
from random_circuits import random_graph

from tractable.base.arrays import Floats
from tractable.circuit.graph import PRODUCT, Graph
from tractable.engine import backward, log_values
from tractable.engine.expectations import Expecter


def _rows() -> Floats:
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 3, (150, 5)).astype(float)
    return np.where(rng.random(rows.shape) < 0.3, np.nan, rows)


def _graph() -> Graph:
    return random_graph(np.random.default_rng(0), 5, 150, states=3)


def test_an_edge_is_expected_to_be_used_as_often_as_the_derivative_says() -> None:
    graph, rows, weights = _graph(), _rows(), np.random.default_rng(2).random(150)
    counts = Expecter(graph).expectations(graph, rows, weights).edge
    step = 1e-5
    for edge in range(0, graph.edges, 7):
        if graph.kind[graph.parent[edge]] == PRODUCT:
            assert counts[edge] == 0
            continue
        ends = []
        for sign in (-1, 1):
            moved = graph.log_weight.copy()
            moved[edge] += sign * step
            ends.append(float(weights @ log_values(replace(graph, log_weight=moved), rows)))
        assert close(counts[edge], (ends[1] - ends[0]) / (2 * step), 1e-6)


@pytest.mark.parametrize("stretch", [1, 5, 40])
def test_counts_do_not_depend_on_where_a_program_is_cut(
    stretch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, rows, weights = _graph(), _rows(), np.ones(150)
    whole = Expecter(graph).expectations(graph, rows, weights)
    monkeypatch.setattr(backward, "WHOLE", 0)
    monkeypatch.setattr(backward, "STRETCH", stretch)
    cut = Expecter(graph).expectations(graph, rows, weights)
    assert close(cut.log_value, whole.log_value, 1e-13)
    assert close(cut.edge, whole.edge, 1e-12)
    for a, b in zip(cut.blocks, whole.blocks, strict=True):
        assert close(a.states, b.states, 1e-12)
