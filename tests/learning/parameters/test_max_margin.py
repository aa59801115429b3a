"""Max-margin training: loss-augmented completions against enumeration, and what training does."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network_circuits import SCHEMA as NETWORK_SCHEMA
from network_circuits import network_graph, some_inputs

import tractable as tr
from tractable.base.arrays import Floats, Ints
from tractable.circuit import Graph
from tractable.circuit.properties import is_deterministic
from tractable.data import Schema, Table, Variable, discrete_schema
from tractable.engine import log_values
from tractable.learning.conditional import CONDITIONAL
from tractable.learning.parameters.loss_augmented import Loss, augment
from tractable.learning.parameters.max_margin import hinges
from tractable.queries import most_probable


def labels(rows: int, seed: int) -> Table:
    """Three inputs and three targets: copies, and an exclusive or that a tree of pairs does not know."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, (rows, 3))
    y = np.stack([x[:, 0], x[:, 0] ^ x[:, 1], x[:, 1] & x[:, 2]], axis=1)
    y ^= rng.random((rows, 3)) < 0.15
    return Table(discrete_schema([2] * 6), np.concatenate([x, y], axis=1).astype(np.float64))


def deterministic_circuit(seed: int) -> tr.Circuit:
    """A selective circuit whose columns 3 to 5 are targets given the others."""
    circuit = tr.SelectiveSPN(random_state=seed).fit(labels(150, seed)).circuit_
    return circuit.conditional_on(["x0", "x1", "x2"])


def slow_worst(graph: Graph, row: Floats, targets: Ints, loss: Loss) -> float:
    """The hinge loss of one row by enumeration."""
    own = log_values(graph, row[None])[0]
    most = 0.0
    for states in product(*(range(graph.schema[t].cardinality) for t in targets.tolist())):
        other = row.copy()
        other[targets] = states
        wrong = int((other != row).sum())
        cost = wrong if loss == "hamming" else float(wrong > 0)
        if wrong:
            most = max(most, cost + log_values(graph, other[None])[0] - own)
    return most


@pytest.mark.parametrize("loss", ["hamming", "zero-one"])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 500))
def test_the_worst_targets_are_those_of_enumeration_in_circuits_with_networks(loss: Loss, seed: int) -> None:
    graph, *_ = network_graph(seed)
    rng = np.random.default_rng(seed)
    own = np.stack([rng.integers(0, k, 4) for k in (2, 3, 2)], axis=1).astype(np.float64)
    rows = np.concatenate([some_inputs(seed, 4), own], axis=1)
    targets = NETWORK_SCHEMA.targets
    found = hinges(graph, rows, targets, loss)
    expected = [slow_worst(graph, row, targets, loss) for row in rows]
    np.testing.assert_allclose(found.violation, expected, atol=1e-9)


@pytest.mark.parametrize("loss", ["hamming", "zero-one"])
def test_the_worst_targets_are_those_of_enumeration_in_selective_circuits(loss: Loss) -> None:
    graph = deterministic_circuit(0).graph
    rows = labels(12, 3).values
    targets = graph.schema.targets
    found = hinges(graph, rows, targets, loss)
    expected = [slow_worst(graph, row, targets, loss) for row in rows]
    np.testing.assert_allclose(found.violation, expected, atol=1e-9)
    if loss == "zero-one":
        assert (found.worst != rows).any(axis=1).all()


@pytest.mark.parametrize("loss", ["hamming", "zero-one"])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 500))
def test_the_hinge_loss_of_networks_is_that_of_the_frozen_circuit(loss: Loss, seed: int) -> None:
    torch = pytest.importorskip("torch")
    from tractable.learning.conditional.networks.committee import condition_matrix
    from tractable.learning.conditional.networks.training import Member, Rows, hinge_loss, hold_features

    graph, structure, weights, network = network_graph(seed)
    rng = np.random.default_rng(seed)
    own = np.stack([rng.integers(0, k, 5) for k in (2, 3, 2)], axis=1).astype(np.int64)
    inputs = some_inputs(seed, 5)
    states = np.zeros((5, 7))
    np.put_along_axis(states, own + np.array([0, 2, 5]), 1.0, axis=1)
    outputs, conditions = np.exp(network.log_outputs(inputs)), condition_matrix(structure).double()
    one = torch.from_numpy(states)
    rows = Rows(torch.from_numpy(outputs), one, torch.ones(5), hold_features(one, conditions))
    member = Member(torch.nn.Identity(), torch.tensor(weights, requires_grad=True))
    found = hinge_loss(structure, loss, conditions)(member, rows)
    cells = np.concatenate([inputs, own], axis=1).astype(np.float64)
    expected = hinges(graph, cells, NETWORK_SCHEMA.targets, loss).violation
    np.testing.assert_allclose(found.detach(), expected, atol=1e-9)
    found.sum().backward()
    assert member.weights.grad is not None


def test_factors_of_one_leave_the_circuit_as_it_is() -> None:
    graph = deterministic_circuit(1).graph
    found = augment(graph, graph.schema.targets)
    rows = labels(20, 5).values
    padded = np.concatenate([rows, np.zeros((20, 6))], axis=1)
    np.testing.assert_allclose(log_values(found.graph, padded), log_values(graph, rows), rtol=1e-12)


@pytest.mark.parametrize("loss", ["hamming", "zero-one"])
def test_training_lowers_the_hinge_loss(loss: Loss) -> None:
    circuit, train = deterministic_circuit(2), labels(150, 2)
    table = Table(circuit.schema, train.values)
    options: Any = {"loss": loss, "iterations": 25}
    better = tr.fit_parameters(circuit, table, "max-margin", random_state=0, **options)
    best = tr.fit_parameters(circuit, table, "max-margin", random_state=0, valid=table, **options)

    def mean_loss(some: tr.Circuit) -> float:
        return float(hinges(some.graph, train.values, circuit.schema.targets, loss).violation.mean())

    assert mean_loss(better) < 0.95 * mean_loss(circuit)
    assert mean_loss(best) <= mean_loss(better)
    assert "loss" in better.about["parameters"]["fitted"]


def test_circuits_and_rows_without_margins_are_refused() -> None:
    table = labels(60, 0)
    mixture = tr.NaiveBayesMixture(random_state=0).fit(table).circuit_.conditional_on(["x0", "x1", "x2"])
    with pytest.raises(ValueError, match="not deterministic"):
        tr.fit_parameters(mixture, Table(mixture.schema, table.values), "max-margin")
    circuit = deterministic_circuit(0)
    values = table.values.copy()
    values[3, 4] = np.nan
    with pytest.raises(ValueError, match="column 'x4' has missing cells"):
        tr.fit_parameters(circuit, Table(circuit.schema, values), "max-margin")


@pytest.mark.parametrize("name", ["daclearn", "gaclearn"])
@pytest.mark.parametrize("loss", ["hamming", "zero-one"])
def test_conditional_learners_train_for_margins(name: str, loss: Loss) -> None:
    table = labels(200, 4)
    some = Table(table.schema.with_targets([3, 4, 5]), table.values)
    more = {"members": 2, "epochs": 30, "learning_rate": 0.02, "dropout": 0.0} if name == "gaclearn" else {}
    likely, margin = (
        CONDITIONAL[name](loss=each, **more).learn(some, np.random.default_rng(0))  # type: ignore[call-arg]
        for each in ("likelihood", loss)
    )
    before, after = (
        hinges(g, some.values, some.schema.targets, loss).violation.mean() for g in (likely, margin)
    )
    assert after < before


def test_intervals_of_numeric_inputs_keep_a_circuit_deterministic() -> None:
    table = labels(300, 5)
    values = table.values.copy()
    values[:, :3] += np.random.default_rng(0).normal(0, 0.2, (300, 3))
    columns = tuple(Variable(v.name, "real", (), "input") if i < 3 else v for i, v in enumerate(table.schema))
    some = Table(Schema(columns), values)
    graph = CONDITIONAL["daclearn"](loss="hamming").learn(some, np.random.default_rng(0))  # type: ignore[call-arg]
    assert any(block.name == "within" for block in graph.blocks)
    assert is_deterministic(graph)
    free = values.copy()
    free[:, 3:] = np.nan
    found = most_probable(graph, free)
    assert found.exact.all()
    for i in range(0, 300, 30):
        rows = np.array([[*values[i, :3], *each] for each in product([0.0, 1.0], repeat=3)])
        assert log_values(graph, found.rows[i : i + 1])[0] == pytest.approx(log_values(graph, rows).max())
