"""Single questions: a part of a network, or one sweep, beside enumeration and sweeps for all columns."""

import itertools
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import random_network

import tractable as tr
from tractable import queries
from tractable.base.arrays import Floats
from tractable.circuit import Graph
from tractable.cli import run
from tractable.data import Evidence, Region, States
from tractable.data.schema import Schema, discrete_schema
from tractable.formats.tract import attach_source, source_tensors
from tractable.networks import Network, TableFactor, TreeFactor, compile_network
from tractable.networks.answering import network_answers
from tractable.networks.answering.order import eliminate_greedily, eliminate_in_order, link_scopes, members

EVERYTHING = 1e9  # numbers that an answer may take


@pytest.fixture
def no_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sweep over a circuit is an error."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the circuit was swept")

    monkeypatch.setattr("tractable.engine.sweep.sweep_up", refuse)
    monkeypatch.setattr("tractable.engine.posterior.sweep_tiles", refuse)


def draw_finding(data: st.DataObject, states: int) -> float | Region | None:
    """Nothing, a state, or some of the states."""
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=states, max_size=states)))
    kind = data.draw(st.sampled_from(["nothing", "nothing", "state", "region"]))
    if kind == "state":
        return float(data.draw(st.integers(0, states - 1)))
    return States(allowed) if kind == "region" and 0 < allowed.sum() < states else None


def draw_evidence(data: st.DataObject, schema: Schema) -> Evidence:
    row, regions = np.full(len(schema), np.nan), {}
    for c, variable in enumerate(schema):
        found = draw_finding(data, variable.cardinality)
        if isinstance(found, float):
            row[c] = found
        elif found is not None:
            regions[c] = found
    return Evidence(row, regions)


def joint_log_table(network: Network) -> Floats:
    """The logarithms of the product of all tables, an axis a column."""
    shape = tuple(network.schema.cardinalities.tolist())
    total = np.zeros(shape)
    for states in itertools.product(*map(range, shape)):
        for factor in network.factors:
            assert isinstance(factor, TableFactor)
            total[states] += factor.log_values[tuple(states[c] for c in factor.columns)]
    return total


def allowed_table(schema: Schema, evidence: Evidence) -> Floats:
    """One where the evidence allows a combination of states, zero elsewhere."""
    table = np.ones(tuple(schema.cardinalities.tolist()))
    for c, variable in enumerate(schema):
        states = np.arange(variable.cardinality)
        region = evidence.regions.get(c)
        value = evidence.row[c]
        fits = region.allowed if isinstance(region, States) else np.isnan(value) | (states == value)
        table *= fits.reshape([-1 if axis == c else 1 for axis in range(len(schema))])
    return table


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.3, 0.8]), st.data())
def test_the_network_answers_as_enumeration_does(seed: int, zeros: float, data: st.DataObject) -> None:
    network = random_network(6, 4, 3, zeros, seed)
    answers = network_answers(compile_network(network))
    assert answers is not None
    joint = np.exp(joint_log_table(network))
    for _ in range(3):
        evidence = draw_evidence(data, network.schema)
        table = joint * allowed_table(network.schema, evidence)
        log_prob = answers.log_prob(evidence.row, evidence.regions, EVERYTHING)
        with np.errstate(divide="ignore"):
            assert log_prob == pytest.approx(np.log(table.sum()), rel=1e-11, abs=1e-11)
        every = answers.posteriors(evidence.row, evidence.regions, EVERYTHING)
        assert every is not None
        for c, one in enumerate(every):
            if table.sum() == 0:
                assert np.isnan(one).all()
                continue
            expected = table.sum(axis=tuple(a for a in range(6) if a != c)) / table.sum()
            np.testing.assert_allclose(one, expected, rtol=1e-10, atol=1e-300)
        for c in np.flatnonzero(np.isnan(evidence.row)).tolist():
            found = answers.posterior(c, evidence.row, evidence.regions, EVERYTHING)
            assert found is not None
            assert found.possible == (table.sum() > 0)
            if found.possible:
                expected = table.sum(axis=tuple(a for a in range(6) if a != c)) / table.sum()
                np.testing.assert_allclose(found.probabilities, expected, rtol=1e-11, atol=1e-300)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.5, 0.9]), st.data())
def test_a_question_has_the_same_answer_with_and_without_the_network(
    seed: int, zeros: float, data: st.DataObject
) -> None:
    graph = compile_network(random_network(20, 5, 3, zeros, seed))
    alone = pickle.loads(pickle.dumps(graph))
    assert network_answers(graph) is not None
    assert network_answers(alone) is None
    some, query = draw_evidence(data, graph.schema), draw_evidence(data, graph.schema)
    columns = data.draw(st.lists(st.integers(0, 19), min_size=1, max_size=4, unique=True))
    assert_same(lambda g: queries.some_marginals(g, columns, some.row[None, :], some.regions), graph, alone)
    assert_same(lambda g: queries.marginals(g, some.row[None, :], some.regions), graph, alone)
    assert_same(lambda g: [np.array([queries.evidence_log_prob(g, query, some)])], graph, alone)
    assert_same(lambda g: [queries.log_prob(g, some.row[None, :], some.regions)], graph, alone)


def assert_same(ask: Any, one: Graph, other: Graph) -> None:
    """Both have the same answer, or refuse with the same words."""
    answers: list[Any] = []
    for graph in (one, other):
        try:
            answers.append(ask(graph))
        except ValueError as fault:
            answers.append(str(fault))
    if isinstance(answers[1], str):
        assert answers[0] == answers[1]
        return
    for found, expected in zip(*answers, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-13)


@given(strategies.circuits(mixed=True, normalised=False), st.data())
def test_some_marginals_are_those_of_all(graph: Graph, data: st.DataObject) -> None:
    row, regions = data.draw(strategies.evidence(graph.schema))
    size = len(graph.schema)
    columns = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=size, unique=True))
    try:
        every = queries.marginals(graph, row[None, :], regions)
    except ValueError as fault:
        with pytest.raises(ValueError, match=str(fault)[:20]):
            queries.some_marginals(graph, columns, row[None, :], regions)
        return
    for found, c in zip(queries.some_marginals(graph, columns, row[None, :], regions), columns, strict=True):
        np.testing.assert_allclose(found, every[c], rtol=1e-9, atol=1e-12)


def test_a_single_question_to_a_network_needs_no_sweep(no_sweep: None) -> None:
    circuit = tr.Circuit(compile_network(random_network(40, 4, 3, 0.0, 7)))
    circuit.marginals(columns=["x0", "x39"])
    circuit.marginals({"x3": 0})
    circuit.prob({"x3": 0}, given={"x1": {0, 1}})
    circuit.log_prob_of({"x3": 0, "x5": 0})
    circuit.expectation("x39")


def test_impossible_evidence_is_refused_though_the_target_does_not_depend_on_it(no_sweep: None) -> None:
    tables = [np.array([0.0, 1.0]), np.array([0.5, 0.5]), np.array([[1.0, 0.3], [0.0, 0.7]])]
    with np.errstate(divide="ignore"):
        factors = [TableFactor((c, *([c - 1] if c == 2 else [])), np.log(t)) for c, t in enumerate(tables)]
    circuit = tr.Circuit(compile_network(Network(discrete_schema([2, 2, 2]), tuple(factors), "bayes")))
    for wrong in ({"x0": 0}, {"x1": 0, "x2": 1}):
        for columns in (["x1"], ["x2"], ["x0"]):
            with pytest.raises(ValueError, match="the evidence has probability zero"):
                circuit.marginals(wrong, columns=columns)
        with pytest.raises(ValueError, match="the evidence has probability zero"):
            circuit.prob({"x1": 1}, given=wrong)
        assert circuit.prob(wrong) == 0.0
    assert circuit.marginals({"x2": 1}, columns="x1") == {"x1": {0: 0.0, 1: 1.0}}


def test_evidence_that_is_too_small_for_a_number_is_answered_by_the_circuit() -> None:
    children = 200
    cause = TableFactor((0,), np.log([1 - 1e-9, 1e-9]))
    effect = np.log(np.array([[1e-5, 0.5], [1 - 1e-5, 0.5]]))
    factors = [cause, *(TableFactor((c, 0), effect) for c in range(1, children + 1))]
    circuit = tr.Circuit(
        compile_network(Network(discrete_schema([2] * (children + 1)), tuple(factors), "bayes"))
    )
    rows = {f"x{c}": 0 for c in range(1, children + 1)}
    logs = np.array([np.log1p(-1e-9) + children * np.log(1e-5), np.log(1e-9) + children * np.log(0.5)])
    assert circuit.log_prob_of(rows) == pytest.approx(np.logaddexp(*logs), rel=1e-12)
    assert circuit.log_prob_of({"x0": 0}, given=rows) == pytest.approx(logs[0] - logs[1], rel=1e-12)
    answers = network_answers(circuit.graph)
    assert answers is not None
    row = np.array([np.nan] + [0.0] * children)
    assert answers.log_prob(row, {}, EVERYTHING) is None
    assert answers.posteriors(row, {}, EVERYTHING) is None
    assert circuit.marginals(rows)["x0"] == {0: 0.0, 1: 1.0}


def test_a_question_that_would_take_too_many_numbers_is_answered_by_the_circuit() -> None:
    graph = compile_network(random_network(30, 4, 3, 0.0, 3))
    answers = network_answers(graph)
    assert answers is not None
    nothing = np.full(30, np.nan)
    full = answers.posterior(29, nothing, {}, EVERYTHING)
    assert full is not None
    assert answers.posterior(29, nothing, {}, full.spent - 1) is None
    assert answers.posterior(29, nothing, {}, full.spent) is not None
    assert answers.posteriors(nothing, {}, full.spent - 1) is None


def test_a_network_that_is_not_made_of_distributions_is_not_asked() -> None:
    table = TableFactor((0, 1), np.log([[0.2, 0.3], [0.1, 0.9]]))
    assert network_answers(compile_network(Network(discrete_schema([2, 2]), (table,), "markov"))) is None
    nearly = TableFactor((0,), np.log([0.5, 0.5 + 1e-8]))
    assert network_answers(compile_network(Network(discrete_schema([2]), (nearly,), "bayes"))) is None


def test_trees_are_asked_as_tables(no_sweep: None) -> None:
    logs = np.log(np.array([[1, 1], [0.2, 0.8], [0.6, 0.4]]))
    column, state = np.array([0, -1, -1]), np.array([1, 0, 0])
    tree = TreeFactor(1, column, state, np.array([1, 0, 0]), np.array([2, 0, 0]), logs)
    root = TableFactor((0,), np.log([0.1, 0.3, 0.6]))
    circuit = tr.Circuit(compile_network(Network(discrete_schema([3, 2]), (root, tree), "bayes")))
    expected = {0: pytest.approx(0.3 * 0.2 + 0.7 * 0.6), 1: pytest.approx(0.3 * 0.8 + 0.7 * 0.4)}
    assert circuit.marginals(columns="x1") == {"x1": expected}
    assert circuit.prob({"x0": 1}, given={"x1": 1}) == pytest.approx(0.24 / 0.52)


def test_other_parameters_are_not_answered_by_the_network_of_before() -> None:
    circuit = tr.Circuit(compile_network(random_network(5, 3, 2, 0.0, 1)))
    rows = np.zeros((50, 5))
    fitted = tr.fit_parameters(circuit, tr.data.Table(circuit.schema, rows), method="cccp", random_state=0)
    assert network_answers(fitted.graph) is None
    assert fitted.marginals(columns="x1")["x1"] == pytest.approx(fitted.marginals()["x1"])
    assert fitted.marginals(columns="x1")["x1"][0] > circuit.marginals(columns="x1")["x1"][0] + 1e-3
    assert network_answers(circuit.condition({"x1": 0}).graph) is None


def test_threads_that_ask_the_same_circuit_get_right_answers() -> None:
    graph = compile_network(random_network(60, 4, 3, 0.4, 5))
    alone = pickle.loads(pickle.dumps(graph))
    rows = queries.sample(graph, 40, Evidence(np.full(60, np.nan), {}), 0)
    rows[np.random.default_rng(0).random(rows.shape) < 0.9] = np.nan
    expected = [queries.marginals(alone, row[None, :])[7] for row in rows]
    with ThreadPoolExecutor(4) as pool:
        for one in (graph, alone):
            found = list(pool.map(lambda row, g=one: queries.some_marginals(g, [7], row[None, :])[0], rows))
            np.testing.assert_allclose(np.array(found), np.array(expected), rtol=1e-9, atol=1e-12)


@settings(max_examples=40)
@given(st.integers(1, 140), st.integers(0, 2**32))
def test_a_greedy_order_links_what_elimination_links(columns: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scopes = [tuple(rng.choice(columns, min(columns, 3), replace=False).tolist()) for _ in range(columns)]
    first, axis = np.cumsum([0, *map(len, scopes)]), np.array([c for s in scopes for c in s], dtype=np.int64)
    near = link_scopes(first, axis, columns)
    order = np.empty(columns, dtype=np.int64)
    total = eliminate_greedily(near, np.log(np.full(columns, 2)), np.arange(columns), order, np.inf)
    assert sorted(order.tolist()) == list(range(columns))
    again = link_scopes(first, axis, columns)
    assert eliminate_in_order(again, np.log(np.full(columns, 2)), order, np.inf) == total
    np.testing.assert_array_equal(again, near)
    around = np.empty(columns, dtype=np.int64)
    links = [set(s) for s in scopes]
    size = 0
    for v in order.tolist():
        linked = set().union(*(s for s in links if v in s))
        links = [s for s in links if v not in s] + [linked - {v}]
        assert set(around[: members(near[v], around)].tolist()) == linked - {v}
        size += 2 ** len(linked | {v})
    assert total == pytest.approx(size)


def test_some_columns_are_asked_about_in_python_and_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    circuit = tr.ChowLiuTree().fit(tr.data.clinic()).circuit_
    path = tmp_path / "clinic.tract"
    circuit.save(path)
    every = circuit.marginals("cough=heavy")
    some = circuit.marginals("cough=heavy", columns=["smoker", "age"])
    assert list(some) == ["smoker", "age"]
    assert some["smoker"] == pytest.approx(every["smoker"])
    arrays = circuit.marginals(rows=tr.data.clinic(), columns="age")
    np.testing.assert_allclose(arrays["age"], circuit.marginals(rows=tr.data.clinic())["age"])
    command = ["marginals", str(path), "--given", "cough=heavy", "--columns", "smoker"]
    assert run([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["marginals"]
    assert list(told) == ["smoker"]
    assert told["smoker"]["probabilities"] == pytest.approx(list(every["smoker"].values()))
    assert run([*command[:-1], "smokes"]) == 2
    assert "there is no column 'smokes'" in capsys.readouterr().err


def test_a_file_keeps_the_network_beside_the_circuit(tmp_path: Path, no_sweep: None) -> None:
    circuit = tr.Circuit(compile_network(random_network(30, 4, 3, 0.4, 9)))
    path = tmp_path / "network.tract"
    circuit.save(path)
    again = tr.load(path)
    assert again.marginals(columns=["x29", "x3"]) == circuit.marginals(columns=["x29", "x3"])
    again.save(tmp_path / "again.tract")
    assert (tmp_path / "again.tract").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("scope", lambda a: a + 1, "scopes .* out of range"),
        ("start", lambda a: a[:-1], "scopes .* out of range"),
        ("log_value", lambda a: a[:-1], "do not have the sizes"),
        ("log_value", lambda a: a + 1, "do not sum to 1"),
        ("log_value", lambda a: a * np.nan, "log value nan"),
        ("log_value", lambda a: a.astype(np.float32), "not a one-dimensional array of float64"),
        ("log_value", None, "'source.log_value' is missing"),
        ("order", lambda a: a * 0, "does not name each column once"),
        ("more", lambda _: np.zeros(1), "'source.more' does not belong here"),
    ],
)
def test_a_network_that_does_not_fit_its_circuit_is_refused(name: str, change: Any, words: str) -> None:
    graph = compile_network(random_network(6, 3, 2, 0.0, 2))
    tensors = source_tensors(graph)
    changed = None if change is None else change(tensors.get(f"source.{name}"))
    tensors = {n: a for n, a in tensors.items() if n != f"source.{name}"}
    tensors |= {} if changed is None else {f"source.{name}": changed}
    with pytest.raises(ValueError, match=words):
        attach_source(pickle.loads(pickle.dumps(graph)), tensors)
