"""Circuits as functions of torch, against enumeration in torch."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network_circuits import every_target, grown

import tractable as tr

torch: Any = pytest.importorskip("torch")


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000))
def test_values_and_gradients_are_those_of_enumeration(seed: int) -> None:
    from tractable.learning.conditional.networks.training import potential_graph
    from tractable.model.neural import log_values

    structure, rng = grown(seed), np.random.default_rng(seed)
    circuit = tr.Circuit(potential_graph(structure))
    params = structure.circuit.params
    cells = rng.normal(size=(3, params))
    mine, theirs = (torch.tensor(cells, requires_grad=True) for _ in range(2))
    targets = torch.full((3, 3), torch.nan, dtype=torch.float64)
    targets[0, 1] = 2.0  # the first row has a known target
    slopes = torch.tensor(rng.normal(size=3))
    found = log_values(circuit, torch.cat([targets, mine], dim=1))
    rows = []
    for row in range(3):
        terms = []
        for y in every_target().astype(int):
            if row or y[1] == 2:
                holds = [
                    float(all(y[c] == s for c, s in structure.target_conditions(p))) for p in range(params)
                ]
                terms.append(torch.tensor(holds, dtype=torch.float64) @ theirs[row])
        rows.append(torch.logsumexp(torch.stack(terms), dim=0))
    expected = torch.stack(rows)
    np.testing.assert_allclose(found.detach(), expected.detach(), rtol=1e-9)
    (found * slopes).sum().backward()
    (expected * slopes).sum().backward()
    np.testing.assert_allclose(mine.grad, theirs.grad, rtol=1e-9, atol=1e-9)


def test_a_network_learns_through_a_circuit() -> None:
    from tractable.learning.conditional.networks.training import potential_graph
    from tractable.model.neural import log_values

    torch.manual_seed(0)
    structure = grown(3)
    circuit = tr.Circuit(potential_graph(structure))
    params = structure.circuit.params
    x = torch.randn(60, 2, dtype=torch.float64)
    y = torch.stack([x[:, 0] > 0, x[:, 1] > 0, x[:, 0] > x[:, 1]], dim=1).double()
    network = torch.nn.Linear(2, params).double()
    optimiser = torch.optim.Adam(network.parameters(), lr=0.1)
    losses = []
    for _ in range(40):
        potentials = network(x)
        known = log_values(circuit, torch.cat([y, potentials], dim=1))
        free = log_values(circuit, torch.cat([torch.full_like(y, torch.nan), potentials], dim=1))
        loss = (free - known).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.6 * losses[0]
    assert losses[-1] > 0
