"""Networks below circuits: potentials, gradients, files, and what `gaclearn` finds."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network_circuits import SCHEMA, STATES, committee, every_target, grown, network_graph, some_inputs

import tractable as tr
from tractable.base.arrays import Floats
from tractable.base.progress.codec import state_from_bytes, state_to_bytes
from tractable.circuit import is_deterministic, is_valid_over
from tractable.circuit.blocks import NetworkBlock
from tractable.circuit.leaves.perceptron import Committee, Layer, evaluate_layers
from tractable.circuit.states import graph_from_state, graph_state
from tractable.data import Schema, Table, Variable
from tractable.formats import FORMATS
from tractable.learning.conditional import CONDITIONAL
from tractable.learning.conditional.field.freeze import freeze_generalised
from tractable.learning.conditional.field.objective import ConditionalLikelihood
from tractable.learning.conditional.field.rows import ConditionalRows
from tractable.learning.conditional.field.structure import ConditionalStructure
from tractable.learning.conditional.gaclearn import GACLearnLearner
from tractable.learning.conditional.inputs import scale_inputs
from tractable.learning.conditional.networks.training import TargetCircuit
from tractable.learning.growing import Priors
from tractable.queries import log_prob, marginals

QUICK: dict[str, Any] = {"members": 2, "epochs": 40, "learning_rate": 0.01, "hidden": 30, "dropout": 0.0}


def slow_scores(structure: ConditionalStructure, potentials: Floats, weights: Floats) -> Floats:
    """The logarithm of each combination of states for one row of potentials (states,). Shape (12,)."""
    first = np.cumsum(STATES) - STATES
    answer = []
    for y in every_target().astype(int):
        total = potentials[first + y].sum()
        for param in range(structure.circuit.params):
            holds = all(y[c] == s for c, s in structure.target_conditions(param))
            total += weights[param] * holds
        answer.append(total)
    return np.array(answer)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000))
def test_a_frozen_circuit_is_its_formula(seed: int) -> None:
    graph, structure, weights, network = network_graph(seed)
    assert is_valid_over(graph, SCHEMA.targets)
    assert is_deterministic(graph)
    inputs = some_inputs(seed, 2)
    for cells in inputs:
        scores = slow_scores(structure, network.log_outputs(cells[None])[0], weights)
        expected = np.exp(scores - scores.max())
        expected /= expected.sum()
        rows = np.concatenate([np.repeat(cells[None], 12, axis=0), every_target()], axis=1)
        np.testing.assert_allclose(np.exp(log_prob(graph, rows)), expected, rtol=1e-9)
        free = rows[:1].copy()
        free[:, 2:] = np.nan
        found = marginals(graph, free)
        for target, states in enumerate(STATES.tolist()):
            for state in range(states):
                share = expected[every_target()[:, target] == state].sum()
                assert found[2 + target][0, state] == pytest.approx(share, rel=1e-9)
        best = tr.Circuit(graph).mpe(rows=Table(SCHEMA, free))
        assert best.exact.all()
        assert best.log_prob[0] == pytest.approx(np.log(expected.max()))


def test_files_keep_networks_and_no_answer_needs_torch(tmp_path: Path) -> None:
    graph, *_ = network_graph(3)
    circuit = tr.Circuit(graph)
    circuit.save(tmp_path / "m.tract")
    table = Table(SCHEMA, np.concatenate([some_inputs(0, 12), every_target()], axis=1))
    again = tr.load(tmp_path / "m.tract")
    np.testing.assert_array_equal(again.log_prob(table), circuit.log_prob(table))
    again.save(tmp_path / "n.tract")
    assert (tmp_path / "m.tract").read_bytes() == (tmp_path / "n.tract").read_bytes()
    for suffix in set(FORMATS) - {".tract", ".dot", ".svg", ".bif", ".bn"}:
        with pytest.raises(ValueError, match="holds no neural networks"):
            circuit.save(tmp_path / f"m{suffix}")
    code = (
        "import sys, tractable as tr\n"
        f"m = tr.load({str(tmp_path / 'm.tract')!r})\n"
        "m.prob({'y0': 1}, given={'a': 0.5, 'b': 'x'})\nassert 'torch' not in sys.modules\n"
        "from tractable.learning.conditional import CONDITIONAL\nCONDITIONAL['gaclearn']()\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_checkpoints_keep_networks() -> None:
    graph, *_ = network_graph(4)
    state = state_from_bytes(state_to_bytes(graph_state(graph)))
    again = graph_from_state(state, SCHEMA)
    rows = np.concatenate([some_inputs(0, 12), every_target()], axis=1)
    np.testing.assert_array_equal(log_prob(again, rows), log_prob(graph, rows))


def test_damaged_networks_are_refused(tmp_path: Path) -> None:
    graph, *_ = network_graph(3)
    tr.Circuit(graph).save(tmp_path / "m.tract")
    data = (tmp_path / "m.tract").read_bytes()
    for old, new in (
        (b'biased-sigmoid\\"', b'biased-sigmoie\\"'),
        (b'\\"members\\": 2', b'\\"members\\": 3'),
    ):
        assert old in data
        (tmp_path / "bad.tract").write_bytes(data.replace(old, new))
        with pytest.raises(ValueError, match=r"bad\.tract"):
            tr.load(tmp_path / "bad.tract")


def test_a_network_needs_its_inputs() -> None:
    graph, *_ = network_graph(1)
    circuit = tr.Circuit(graph)
    with pytest.raises(ValueError, match="column 'b' is an input"):
        circuit.prob({"y0": 1}, given={"a": 0.5})
    with pytest.raises(ValueError, match="column 'b' has no value: either all inputs of a network"):
        circuit.condition({"a": 0.5})
    rest = circuit.condition({"a": 0.5, "b": "y"})
    given_all = {"a": 0.5, "b": "y"}
    assert rest.prob({"y1": 2}) == pytest.approx(circuit.prob({"y1": 2}, given=given_all))
    wrong = Schema(
        tuple(v if v.name != "b" else Variable("b", states=("x", "y"), role="input") for v in SCHEMA)
    )
    structure = grown(1)
    with pytest.raises(ValueError, match="reads column 'b' as an input of 3 states"):
        freeze_generalised(structure, wrong, np.zeros(structure.items), committee(1))


def test_generalised_circuits_unroll_networks() -> None:
    graph, *_ = network_graph(5)
    model = tr.GeneralisedCircuit.from_circuit(graph)
    assert model.intractable_targets == ()
    rows = Table(SCHEMA, np.concatenate([some_inputs(0, 12), every_target()], axis=1))
    np.testing.assert_allclose(model.log_prob(rows), tr.Circuit(graph).log_prob(rows), rtol=1e-9)


def test_the_scale_of_inputs_is_taken_back() -> None:
    values = np.concatenate([some_inputs(2, 50) * [100.0, 1.0], np.zeros((50, 3))], axis=1)
    table = Table(SCHEMA, values)
    scale = scale_inputs(table)
    shown = scale.show(table)
    np.testing.assert_allclose(shown.mean(axis=0), 0.0, atol=1e-9)
    rng = np.random.default_rng(0)
    layers = (Layer(rng.normal(size=(2, shown.shape[1])), rng.normal(size=2), "softplus"),)
    np.testing.assert_allclose(
        scale.unscale(layers)(values[:, :2]), evaluate_layers(layers, shown), rtol=1e-9
    )


def rows_with_potentials(seed: int, rows: int) -> ConditionalRows:
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, rows).astype(np.float64)
    return ConditionalRows(
        STATES, np.zeros(0, np.int64), rng.integers(0, STATES, (rows, 3)), weight, np.arange(rows),
        np.zeros((rows, 0), np.int64), weight, rng.normal(size=(7, rows)),
    )  # fmt: skip


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000))
def test_the_search_sees_potentials(seed: int) -> None:
    rows, structure = rows_with_potentials(seed, 9), grown(seed)
    objective = ConditionalLikelihood(structure, rows, None, Priors(0.0, 1e6))
    weights = np.random.default_rng(seed).normal(size=structure.items)
    objective.restore(np.concatenate([weights]))
    total = 0.0
    for i in range(9):
        assert rows.potentials is not None
        scores = slow_scores(structure, rows.potentials[:, i], weights)
        own = next(k for k, y in enumerate(every_target().astype(int)) if (y == rows.targets[i]).all())
        total += rows.weight[i] * (scores[own] - np.logaddexp.reduce(scores))
    assert objective.score == pytest.approx(total / rows.total, rel=1e-9)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000))
def test_gradients_through_the_circuit_are_those_of_torch(seed: int) -> None:
    torch = pytest.importorskip("torch")
    from tractable.learning.conditional.networks.training import log_partition

    structure, rng = grown(seed), np.random.default_rng(seed)
    arrays = rng.normal(size=(4, 7)), rng.normal(size=structure.items)
    slopes = torch.from_numpy(rng.normal(size=4))
    mine = [torch.tensor(a, requires_grad=True) for a in arrays]
    theirs = [torch.tensor(a, requires_grad=True) for a in arrays]
    found = log_partition(mine[0], mine[1], TargetCircuit(structure))
    expected = slow_log_partition(torch, structure, *theirs)
    np.testing.assert_allclose(found.detach(), expected.detach(), rtol=1e-9)
    (found * slopes).sum().backward()
    (expected * slopes).sum().backward()
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(one.grad, other.grad, rtol=1e-9, atol=1e-9)


def slow_log_partition(torch: Any, structure: ConditionalStructure, potentials: Any, weights: Any) -> Any:
    """The same by enumeration, in torch."""
    first = np.cumsum(STATES) - STATES
    scores = []
    for y in every_target().astype(int):
        holds = [
            float(all(y[c] == s for c, s in structure.target_conditions(p)))
            for p in range(structure.circuit.params)
        ]
        scores.append(
            potentials[:, first + y].sum(dim=1) + torch.tensor(holds, dtype=torch.float64) @ weights
        )
    return torch.logsumexp(torch.stack(scores), dim=0)


def linked_table(rows: int, seed: int) -> Table:
    """y0 follows the sign of a, y1 the input b, and y2 is mostly y0: a link beyond the inputs."""
    rng = np.random.default_rng(seed)
    inputs = some_inputs(seed, rows)
    y0 = ((inputs[:, 0] > 0) ^ (rng.random(rows) < 0.25)).astype(float)
    y1 = np.where(rng.random(rows) < 0.8, inputs[:, 1], rng.integers(0, 3, rows))
    y2 = np.where(rng.random(rows) < 0.1, 1 - y0, y0)
    return Table(SCHEMA, np.column_stack([inputs, y0, y1, y2]))


def test_it_finds_links_between_targets_above_the_network() -> None:
    pytest.importorskip("torch")
    train, test = linked_table(600, 0), linked_table(400, 1)
    graph = GACLearnLearner(**QUICK).learn(train, np.random.default_rng(0))
    alone = GACLearnLearner(**QUICK, split_cost=1e9, l1=1e9).learn(train, np.random.default_rng(0))
    linked, single = (float(log_prob(g, test.values).mean()) for g in (graph, alone))
    assert linked > single + 0.25
    best = -0.5623 - 0.6 - 0.3251  # about the entropy of the rows
    assert linked > best - 0.25


def test_networks_of_another_architecture_may_be_given() -> None:
    torch = pytest.importorskip("torch")

    def make(inputs: int, outputs: int) -> Any:
        nn = torch.nn
        return nn.Sequential(nn.Linear(inputs, 8), nn.Tanh(), nn.Linear(8, outputs), nn.Softplus())

    how = GACLearnLearner(**QUICK)
    graph = how.learn_with_networks(linked_table(200, 0), np.random.default_rng(0), [make])
    (network,) = (block.network for block in graph.blocks_of(NetworkBlock))
    assert isinstance(network, Committee)
    operators = {layer.operator for layer in network.members[0].layers}
    assert operators == {"tanh", "softplus"}


def test_networks_of_any_kind_answer_but_cannot_be_saved(tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch")
    module: Any = torch.nn.Module

    class Odd(module):  # type: ignore[misc]
        def __init__(self, inputs: int, outputs: int) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(inputs, outputs)

        def forward(self, x: Any) -> Any:
            return torch.exp(torch.sin(self.inner(x)))

    how, table = GACLearnLearner(**QUICK), linked_table(150, 0)
    graph = how.learn_with_networks(table, np.random.default_rng(0), [Odd])
    free = table.values.copy()
    free[:, 2:] = np.nan
    np.testing.assert_allclose(marginals(graph, free)[2].sum(axis=1), 1.0)
    assert np.isfinite(log_prob(graph, table.values)).all()
    with pytest.raises(ValueError, match="cannot be converted to plain layers"):
        tr.Circuit(graph).save(tmp_path / "m.tract")


def test_without_torch_the_learner_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ValueError, match=r"pip install 'tractable\[neural\]'"):
        CONDITIONAL["gaclearn"]().learn(linked_table(30, 0), np.random.default_rng(0))
