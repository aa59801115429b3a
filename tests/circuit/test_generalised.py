"""Generalised circuits: properties, sums, marginals and gradients against enumeration."""

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tractable as tr
from tractable.base.arrays import Floats
from tractable.circuit.generalised import (
    GeneralisedBuilder,
    GeneralisedGraph,
    Layer,
    Perceptron,
    conditional_bernoullis,
    enumeration_size,
    explain_tractable,
    generalise,
    intractable_targets,
    log_partition,
    log_prob,
    marginals,
    perceptron_graph,
    scopes,
    tractable_targets,
    two_target_example,
)
from tractable.circuit.generalised.graph import INDICATOR, INPUT, OPERATOR, PARAMETER, SUM
from tractable.circuit.generalised.queries import node_slopes, node_values
from tractable.circuit.leaves.perceptron import OPERATORS
from tractable.data import Schema, Variable

FUNCTIONS = {
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "exp": math.exp,
    "softplus": lambda x: math.log1p(math.exp(x)),
    "relu": lambda x: max(x, 0.0),
    "tanh": math.tanh,
    "log": math.log,
}
SCHEMA = Schema(
    (
        *(Variable(f"y{i}", states=tuple(range(k))) for i, k in enumerate((2, 3, 2))),
        Variable("u", "real", role="input"),
        Variable("c", states=("a", "b"), role="input"),
    )
)


def slow_value(graph: GeneralisedGraph, row: Floats) -> float:
    """The root's value, node by node in plain Python."""
    value: list[float] = []
    for node in range(graph.nodes):
        below = [value[c] for c in graph.child[graph.start[node] : graph.start[node + 1]]]
        kind, cell = graph.kind[node], float(row[graph.column[node]])
        if kind == PARAMETER:
            value.append(float(graph.value[node]))
        elif kind == INDICATOR:
            value.append(float(math.isnan(cell) or cell == graph.code[node]))
        elif kind == INPUT:
            value.append(cell)
        elif kind == OPERATOR:
            value.append(FUNCTIONS[OPERATORS[graph.code[node]]](below[0]))
        else:
            value.append(sum(below) if kind == SUM else math.prod(below))
    return value[-1]


def every_completion(schema: Schema, row: Floats) -> list[Floats]:
    targets = [t for t in schema.targets.tolist() if math.isnan(row[t])]
    answer = []
    for states in product(*(range(schema[t].cardinality) for t in targets)):
        whole = row.copy()
        whole[targets] = states
        answer.append(whole)
    return answer


def slow_sum(graph: GeneralisedGraph, row: Floats) -> float:
    return sum(slow_value(graph, whole) for whole in every_completion(graph.schema, row))


@st.composite
def circuits(draw: st.DrawFn, tractable: bool = False) -> GeneralisedGraph:
    """A random generalised circuit, positive so that it is a distribution.

    With `tractable`, sums are complete and products decomposable, and operators see inputs alone.
    """
    b = GeneralisedBuilder(SCHEMA)
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    inputs = [b.input(3), b.indicator(4, 0), b.indicator(4, 1)]

    def factor() -> int:
        inner = b.affine(inputs, rng.normal(size=3).tolist(), rng.normal())
        name = str(rng.choice(["sigmoid", "exp", "softplus"]))
        if rng.random() < 0.3:
            inner = b.apply(str(rng.choice(["tanh", "relu", "sigmoid"])), inner)
        if rng.random() < 0.2:
            return b.apply("log", b.sum([b.parameter(2.0), b.apply("exp", inner)]))
        return b.apply(name, inner)

    def grow(scope: list[int]) -> int:
        if len(scope) == 1:
            states = range(SCHEMA[scope[0]].cardinality)
            kept = [s for s in states if rng.random() < 0.8] or [0]
            return b.sum(b.product([factor(), b.indicator(scope[0], s)]) for s in kept)
        parts = []
        for _ in range(rng.integers(1, 3)):
            cut = int(rng.integers(1, len(scope)))
            mixed = rng.permutation(scope).tolist()
            parts.append(b.product([b.parameter(rng.random()), grow(mixed[:cut]), grow(mixed[cut:])]))
        return b.sum(parts)

    root = grow([0, 1, 2])
    if not tractable:
        touched = [b.indicator(int(t), 0) for t in rng.permutation(3)[: rng.integers(1, 3)]]
        root = b.product([root, b.apply("softplus", b.affine(touched, [rng.normal()] * len(touched), 0.1))])
        if rng.random() < 0.5:
            root = b.sum([root, b.indicator(1, 1)])
    return b.freeze(root)


def some_rows(seed: int, rows: int = 3) -> Floats:
    rng = np.random.default_rng(seed)
    cells = [rng.integers(0, k, rows).astype(float) for k in (2, 3, 2)]
    values = np.stack([*cells, rng.normal(size=rows), rng.integers(0, 2, rows).astype(float)], axis=1)
    values[:, :3][rng.random((rows, 3)) < 0.4] = np.nan
    return values


@settings(max_examples=60, deadline=None)
@given(st.booleans().flatmap(circuits), st.integers(0, 1000))
def test_sums_probabilities_and_marginals_agree_with_enumeration(graph: GeneralisedGraph, seed: int) -> None:
    rows = some_rows(seed)
    free = rows.copy()
    free[:, :3] = np.nan
    total = np.array([slow_sum(graph, row) for row in free])
    np.testing.assert_allclose(np.exp(log_partition(graph, free)), total, rtol=1e-9)
    mine = np.array([slow_sum(graph, row) for row in rows])
    np.testing.assert_allclose(np.exp(log_prob(graph, rows)), mine / total, rtol=1e-9, atol=1e-12)
    for target, found in marginals(graph, free).items():
        for state in range(SCHEMA[target].cardinality):
            supposed = free.copy()
            supposed[:, target] = state
            expected = np.array([slow_sum(graph, row) for row in supposed]) / total
            np.testing.assert_allclose(found[:, state], expected, rtol=1e-9, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.booleans().flatmap(circuits), st.integers(0, 1000))
def test_tractable_targets_are_those_that_one_pass_sums_out(graph: GeneralisedGraph, seed: int) -> None:
    row = some_rows(seed, 1)[0]
    row[:3] = [1, 2, 0]
    for target in range(3):
        whole = row.copy()
        whole[target] = np.nan
        if target in tractable_targets(graph):
            assert slow_value(graph, whole) == pytest.approx(slow_sum(graph, whole), rel=1e-9)
            assert explain_tractable(graph, target) is None
        else:
            assert SCHEMA[target].name in str(explain_tractable(graph, target))


def parameter_gradient(graph: GeneralisedGraph, rows: Floats, weights: Floats) -> Floats:
    """The gradient of the weighted sum of Z with respect to the parameters, by the slopes of all nodes."""
    total = np.zeros(graph.parameters.size)
    for weight, row in zip(weights, rows, strict=True):
        slopes = node_slopes(graph, node_values(graph, np.array(every_completion(SCHEMA, row))))
        total += weight * slopes[graph.parameters].sum(axis=1)
    return total


@settings(max_examples=20, deadline=None)
@given(st.booleans().flatmap(circuits), st.integers(0, 1000))
def test_gradients_are_differences(graph: GeneralisedGraph, seed: int) -> None:
    rows = some_rows(seed)
    weights = np.array([1.0, -0.5, 2.0])
    found = parameter_gradient(graph, rows, weights)
    step = 1e-6

    def total(value: Floats) -> float:
        moved = GeneralisedGraph(
            SCHEMA, graph.kind, graph.start, graph.child, graph.column, graph.code, value
        )
        return float(sum(w * slow_sum(moved, row) for w, row in zip(weights, rows, strict=True)))

    for place in np.random.default_rng(seed).permutation(graph.parameters.size)[:4].tolist():
        up, down = graph.value.copy(), graph.value.copy()
        up[graph.parameters[place]] += step
        down[graph.parameters[place]] -= step
        expected = (total(up) - total(down)) / (2 * step)
        assert found[place] == pytest.approx(expected, rel=1e-4, abs=1e-4)


@settings(max_examples=20, deadline=None)
@given(st.booleans().flatmap(circuits), st.integers(0, 1000))
def test_values_and_gradients_are_those_of_autograd(graph: GeneralisedGraph, seed: int) -> None:
    torch = pytest.importorskip("torch")
    rows, weights = some_rows(seed), np.array([0.3, -1.5, 2.0])
    parameters = torch.tensor(graph.value[graph.parameters], requires_grad=True)
    functions = {
        "sigmoid": torch.sigmoid, "exp": torch.exp, "softplus": torch.nn.functional.softplus,
        "relu": torch.relu, "tanh": torch.tanh, "log": torch.log,
    }  # fmt: skip
    total = torch.zeros((), dtype=torch.float64)
    for weight, row in zip(weights, rows, strict=True):
        for whole in every_completion(SCHEMA, row):
            total = total + weight * torch_value(graph, whole, parameters, functions, torch)
    total.backward()
    np.testing.assert_allclose(
        parameter_gradient(graph, rows, weights), parameters.grad.numpy(), rtol=1e-9, atol=1e-9
    )


def torch_value(graph: GeneralisedGraph, row: Floats, parameters: Any, functions: Any, torch: Any) -> Any:
    place = {int(node): i for i, node in enumerate(graph.parameters)}
    value: list[Any] = []
    for node in range(graph.nodes):
        below = [value[c] for c in graph.child[graph.start[node] : graph.start[node + 1]]]
        kind, cell = graph.kind[node], float(row[graph.column[node]])
        if kind == PARAMETER:
            value.append(parameters[place[node]])
        elif kind in (INDICATOR, INPUT):
            known = cell if kind == INPUT else float(cell == graph.code[node])
            value.append(torch.tensor(known, dtype=torch.float64))
        elif kind == OPERATOR:
            value.append(functions[OPERATORS[graph.code[node]]](below[0]))
        else:
            value.append(sum(below) if kind == SUM else math.prod(below[1:], start=below[0]))
    return value[-1]


def test_the_example_of_figure_5_1_is_its_formula_and_tractable() -> None:
    graph = two_target_example((1.0, -0.5, 0.8, 0.3), (0.2, -0.1), 2.0)
    assert tractable_targets(graph).tolist() == [0, 1]
    assert intractable_targets(graph).size == 0
    assert enumeration_size(graph) == 1
    sigmoid = FUNCTIONS["sigmoid"]
    x1, x2, x3 = 0.3, -1.2, 2.0
    phi_1, phi_2 = sigmoid(1.0 * x1 - 0.5 * x2 + 0.2), sigmoid(0.8 * x2 + 0.3 * x3 - 0.1)
    rows = np.array([[a, b, x1, x2, x3] for a in (0, 1) for b in (0, 1)], dtype=float)
    mass = np.array([phi_2, phi_2 * phi_1, 1.0, phi_1 * 2.0])
    np.testing.assert_allclose(np.exp(log_prob(graph, rows)), mass / mass.sum(), rtol=1e-12)


def test_definitions_5_1_to_5_4_hold_for_small_graphs() -> None:
    b = GeneralisedBuilder(SCHEMA)
    one, other, u = b.indicator(0, 0), b.indicator(1, 0), b.input(3)
    graph = b.freeze(b.product([one, other, b.apply("exp", u)]))
    assert scopes(graph)[-1].tolist() == [True, True, False, False, False]
    assert tractable_targets(graph).tolist() == [0, 1, 2]
    twice = b.freeze(b.product([one, b.sum([one, b.indicator(0, 1)])]))
    assert tractable_targets(twice).tolist() == [1, 2]  # the product is not decomposable over the first
    uneven = b.freeze(b.sum([one, other]))
    assert tractable_targets(uneven).tolist() == [2]  # the sum is not complete over the others
    bent = b.freeze(b.apply("relu", one))
    assert tractable_targets(bent).tolist() == [1, 2]  # the operator cannot avoid the first
    assert intractable_targets(bent).tolist() == [0]


def test_a_target_that_stands_nowhere_is_uniform() -> None:
    b = GeneralisedBuilder(SCHEMA)
    graph = b.freeze(b.sum([b.indicator(0, 0), b.product([b.parameter(3.0), b.indicator(0, 1)])]))
    row = np.array([[1.0, 2.0, 0.0, 0.0, 0.0]])
    assert np.exp(log_prob(graph, row))[0] == pytest.approx(0.75 / 6)
    row[:, :3] = np.nan
    np.testing.assert_allclose(marginals(graph, row)[1], [[1 / 3] * 3])


def test_too_many_intractable_targets_are_refused_in_advance() -> None:
    schema = Schema(tuple(Variable(f"y{i}", states=(0, 1)) for i in range(40)))
    b = GeneralisedBuilder(schema)
    graph = b.freeze(b.apply("exp", b.affine([b.indicator(i, 1) for i in range(40)], [0.1] * 40, 0.0)))
    assert enumeration_size(graph) == 2**40
    with pytest.raises(ValueError, match=r"40 intractable targets without values, 1,099,511,627,776 comb"):
        log_partition(graph, np.full((1, 40), np.nan))
    known = np.zeros((1, 40))
    known[0, :8] = np.nan
    assert log_partition(graph, known)[0] == pytest.approx(8 * math.log(1 + math.exp(0.1)))


def test_what_is_no_distribution_is_refused() -> None:
    b = GeneralisedBuilder(SCHEMA)
    negative = b.freeze(b.product([b.input(3), b.indicator(0, 0)]))
    row = np.array([[np.nan, 0, 0, -1.0, 0]])
    with pytest.raises(ValueError, match="not a positive number"):
        log_partition(negative, row)
    with pytest.raises(ValueError, match="column 'u', row 0 is missing"):
        log_partition(negative, np.full((1, 5), np.nan))
    with pytest.raises(ValueError, match="no operator 'cube'"):
        b.apply("cube", 0)
    with pytest.raises(ValueError, match="no numeric input"):
        b.freeze(b.input(0))


def test_a_perceptron_over_targets_is_unrolled_and_none_of_its_targets_is_tractable() -> None:
    rng = np.random.default_rng(0)
    layers = (
        Layer(rng.normal(size=(4, 10)), rng.normal(size=4), "softplus"),
        Layer(rng.normal(size=(1, 4)), rng.normal(size=1), "biased-sigmoid"),
    )
    network = Perceptron(SCHEMA.names, (2, 3, 2, 0, 2), layers)
    graph = perceptron_graph(network, SCHEMA)
    assert tractable_targets(graph).size == 0
    rows = some_rows(1, 5)
    rows[:, :3] = np.nan_to_num(rows[:, :3])
    value = [slow_value(graph, row) for row in rows]
    np.testing.assert_allclose(network(rows)[:, 0], value, rtol=1e-12)
    free = rows.copy()
    free[:, :3] = np.nan
    total = [slow_sum(graph, row) for row in free]
    np.testing.assert_allclose(np.exp(log_prob(graph, rows)), np.divide(value, total), rtol=1e-10)


def test_sequential_networks_of_torch_are_converted() -> None:
    torch = pytest.importorskip("torch")
    nn = torch.nn
    module = nn.Sequential(
        nn.Linear(10, 6), nn.ReLU(), nn.Dropout(0.5), nn.Linear(6, 3, bias=False), nn.Tanh(), nn.Softplus(),
        nn.Linear(3, 1), nn.Sigmoid(),
    ).double().eval()  # fmt: skip
    model = tr.GeneralisedCircuit.from_sequential(module, SCHEMA)
    assert model.intractable_targets == ("y0", "y1", "y2")
    assert model.enumeration_size == 12
    row = np.array([1.0, 2.0, 0.0, 0.7, 1.0])
    x = torch.tensor([[0, 1, 0, 0, 1, 1, 0, 0.7, 0, 1]], dtype=torch.float64)
    assert slow_value(model.graph, row) == pytest.approx(module(x).item(), rel=1e-12)
    with pytest.raises(ValueError, match="not a layer that can be unrolled"):
        tr.GeneralisedCircuit.from_sequential(nn.Sequential(nn.Linear(10, 1), nn.GELU()), SCHEMA)


def test_a_mixture_of_conditional_bernoullis_is_tractable_and_its_formula() -> None:
    rng = np.random.default_rng(3)
    schema = Schema(
        (
            *(Variable(f"y{i}", states=(0, 1)) for i in range(3)),
            *(Variable(f"x{i}", "real", role="input") for i in range(2)),
        )
    )
    gates = rng.normal(size=(2, 2)), rng.normal(size=2)
    components = [(rng.normal(size=(3, 2)), rng.normal(size=3)) for _ in range(2)]
    graph = conditional_bernoullis(schema, gates, components)
    assert tractable_targets(graph).tolist() == [0, 1, 2]
    x, y = rng.normal(size=2), np.array([1, 0, 1])
    gate = np.exp(gates[0] @ x + gates[1])
    parts = []
    for weight, bias in components:
        yes = 1 / (1 + np.exp(-(weight @ x + bias)))
        parts.append(np.prod(np.where(y == 1, yes, 1 - yes)))
    expected = gate @ parts / gate.sum()
    assert np.exp(log_prob(graph, np.array([[*y, *x]])))[0] == pytest.approx(expected, rel=1e-12)


def test_a_circuit_is_a_generalised_circuit_without_operators() -> None:
    frame = {"a": ["x", "y", "x", "x", "y"], "b": ["0", "1", "1", "0", "1"], "c": ["p", "q", "r", "p", "q"]}
    circuit = tr.ChowLiuTree().fit(frame).circuit_
    model = tr.GeneralisedCircuit.from_circuit(circuit)
    assert model.intractable_targets == ()
    assert not (generalise(circuit.graph).kind == OPERATOR).any()
    np.testing.assert_allclose(model.log_prob(frame), circuit.log_prob(frame), rtol=1e-10)
    for name, found in circuit.marginals().items():
        free = np.full((1, 3), np.nan)
        np.testing.assert_allclose(model.marginals(free)[name][0], list(found.values()), rtol=1e-10)


def test_files_keep_everything_and_damage_is_told(tmp_path: Path) -> None:
    model = tr.GeneralisedCircuit(two_target_example(), {"learner": "by hand"})
    model.save(tmp_path / "m.gac")
    again = tr.GeneralisedCircuit.load(tmp_path / "m.gac")
    row = np.array([[1, 0, 0.5, 1.0, 2.0]])
    np.testing.assert_array_equal(again.log_prob(row), model.log_prob(row))
    assert again.about == model.about
    assert again.schema == model.schema
    with pytest.raises(ValueError, match=r"saved in a \.gac file"):
        model.save(tmp_path / "m.tract")
    data = bytearray((tmp_path / "m.gac").read_bytes())
    data[-3] ^= 1
    (tmp_path / "m.gac").write_bytes(bytes(data))
    with pytest.raises(ValueError, match=r"m\.gac"):
        tr.GeneralisedCircuit.load(tmp_path / "m.gac")
