"""Hard networks: compilation beside enumeration and beside pyAgrum, orders, limits, equal lines."""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import all_rows
from random_networks import random_network

import tractable as tr
from tractable.base.progress import Progress, Stopped, Watch
from tractable.cli import run
from tractable.data.schema import discrete_schema
from tractable.engine import log_values
from tractable.networks import Network, TableFactor, TooLargeError, compile_network
from tractable.networks.compiling.kernels import FEW, group_by_dictionary, group_lines
from tractable.networks.compiling.order import (
    _Search,
    min_fill_order,
    peel_simplicial,
    plan_elimination,
    plan_of,
)


def function_network(inputs: int) -> Network:
    """Fair bits, and a chain of deterministic functions of them: exclusive or and conjunction in turn."""
    factors = [TableFactor((c,), np.log(np.full(2, 0.5))) for c in range(inputs)]
    for i in range(1, inputs):
        table = np.full((2, 2, 2), -np.inf)
        for a, b in itertools.product(range(2), repeat=2):
            table[a ^ b if i % 2 else a & b, a, b] = 0.0
        factors.append(TableFactor((inputs + i - 1, i, inputs + i - 2 if i > 1 else 0), table))
    return Network(discrete_schema([2] * (2 * inputs - 1)), tuple(factors), "bayes")


def grid(side: int, states: int, rng: np.random.Generator) -> Network:
    pairs = [
        ((r, c), (r + dr, c + dc)) for r in range(side) for c in range(side) for dr, dc in ((0, 1), (1, 0))
    ]
    inside = [(a, b) for a, b in pairs if max(b) < side]
    factors = [
        TableFactor((a[0] * side + a[1], b[0] * side + b[1]), rng.normal(size=(states, states)))
        for a, b in inside
    ]
    return Network(discrete_schema([states] * side**2), tuple(factors), "markov")


def peer_network(network: Network, pyagrum: Any) -> Any:
    """The same network in pyAgrum."""
    peer = pyagrum.BayesNet()
    for variable in network.schema:
        peer.add(pyagrum.LabelizedVariable(variable.name, "", list(map(str, variable.states))))
    for factor in network.factors:
        for parent in factor.scope[1:]:
            peer.addArc(parent, factor.scope[0])
    for factor in network.factors:
        assert isinstance(factor, TableFactor)
        names = [network.schema[c].name for c in factor.columns]
        table = peer.cpt(names[0])
        axes = [names.index(n) for n in reversed(table.names)]
        table[:] = np.ascontiguousarray(np.exp(factor.log_values.transpose(axes)))
    return peer


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.3, 0.8]))
def test_a_random_network_of_tables_is_the_product_of_its_factors(seed: int, zeros: float) -> None:
    network = random_network(6, 4, 3, zeros, seed)
    rows = all_rows(network.schema)
    codes = np.array(rows, dtype=np.int64)
    expected = sum(
        f.log_values[tuple(codes[:, c] for c in f.columns)]
        for f in network.factors
        if isinstance(f, TableFactor)
    )
    got = log_values(compile_network(network), np.array(rows, dtype=np.float64))
    np.testing.assert_allclose(np.exp(got), np.exp(expected), rtol=1e-11)


@pytest.mark.parametrize(
    "network",
    [
        random_network(60, 4, 3, 0.0, 1),
        random_network(60, 6, 3, 0.7, 2),
        random_network(40, 12, 2, 0.9, 3),
        function_network(20),
    ],
    ids=["without zeros", "with zeros", "large states, mostly zeros", "deterministic functions"],
)
def test_marginals_and_evidence_are_those_of_another_library(network: Network) -> None:
    pyagrum: Any = pytest.importorskip("pyagrum")
    circuit = tr.Circuit(compile_network(network))
    row = circuit.sample(1, random_state=0).iloc[0].to_dict()
    evidence = dict(list(row.items())[::9])
    for known in ({}, evidence):
        engine = pyagrum.LazyPropagation(peer_network(network, pyagrum))
        engine.setEvidence({name: str(state) for name, state in known.items()})
        engine.makeInference()
        for name, masses in circuit.marginals(given=known).items():
            expected = engine.posterior(name).toarray().ravel()
            np.testing.assert_allclose(list(masses.values()), expected, rtol=0, atol=1e-12)
        if known:
            assert circuit.prob(known) == pytest.approx(engine.evidenceProbability(), rel=1e-10)


def test_impossible_states_are_not_enumerated() -> None:
    """Permutations link every two of eight columns: 12 joint states are possible, not 430 million."""
    rng = np.random.default_rng(0)
    states = np.array([rng.permutation(12) for _ in range(8)])
    factors = []
    for a, b in itertools.combinations(range(8), 2):
        table = np.full((12, 12), -np.inf)
        table[states[a], states[b]] = 0.0
        factors.append(TableFactor((a, b), table))
    graph = compile_network(Network(discrete_schema([12] * 8), tuple(factors), "markov"), limit=500_000)
    assert graph.edges < 300
    assert log_values(graph, np.full((1, 8), np.nan))[0] == pytest.approx(math.log(12), abs=1e-12)
    np.testing.assert_allclose(log_values(graph, states.T.astype(np.float64)), 0.0, atol=1e-12)


def test_tiny_probabilities_do_not_underflow() -> None:
    """Three hundred columns that are almost always zero: all ones have the probability 1e-3000."""
    rare = np.log([1 - 1e-10, 1e-10])
    factors = [TableFactor((0,), rare)]
    factors += [TableFactor((c, c - 1), np.stack([rare, rare], axis=1)) for c in range(1, 300)]
    graph = compile_network(Network(discrete_schema([2] * 300), tuple(factors), "bayes"))
    assert log_values(graph, np.ones((1, 300)))[0] == pytest.approx(-3000 * math.log(10), rel=1e-12)


def test_the_partition_function_of_a_grid_is_that_of_transfer_matrices() -> None:
    side, states = 4, 3
    network = grid(side, states, np.random.default_rng(5))
    rows = np.array(list(itertools.product(range(states), repeat=side)))
    message = np.zeros(len(rows))
    for r in range(side):
        inside, across = np.zeros(len(rows)), np.zeros((len(rows), len(rows)))
        for f in network.factors:
            assert isinstance(f, TableFactor)
            (ra, ca), (rb, cb) = divmod(f.columns[0], side), divmod(f.columns[1], side)
            if ra == rb == r:
                inside += f.log_values[rows[:, ca], rows[:, cb]]
            elif rb == r:
                across += f.log_values[rows[:, None, ca], rows[None, :, cb]]
        message = np.logaddexp.reduce(message[:, None] + across, axis=0) + inside if r else inside
    graph = compile_network(network)
    assert log_values(graph, np.full((1, side**2), np.nan))[0] == pytest.approx(
        np.logaddexp.reduce(message), rel=1e-12
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.sampled_from([FEW - 1, FEW + 1, 3 * FEW]))
def test_equal_lines_are_found_alike_by_dictionary_and_compiled_code(
    seed: int, width: int, count: int
) -> None:
    rng = np.random.default_rng(seed)
    lines = rng.integers(-2, rng.integers(0, 40), size=(count, width)).astype(np.int32)
    for fast, slow in zip(group_lines(lines), group_by_dictionary(lines), strict=True):
        np.testing.assert_array_equal(fast, slow)


def test_no_lines_have_no_groups() -> None:
    first, number = group_lines(np.zeros((0, 3), dtype=np.int32))
    assert (first.size, number.size) == (0, 0)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_the_search_counts_the_entries_of_the_order_that_it_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = int(rng.integers(5, 25))
    states = rng.integers(2, 9, size=columns).tolist()
    scopes = [tuple(rng.permutation(columns)[:3].tolist()) for _ in range(columns)]
    peeled, rest = peel_simplicial(columns, scopes)
    core = sorted(rest)
    if not core:
        return
    links = np.array([[rest[a] >> b & 1 for b in core] for a in core], dtype=np.int32)
    search = _Search(np.array([states[c] for c in core]), links)
    plan = plan_of([*peeled, *(core[i] for i in search.best(60, Watch()))], states, scopes)
    assert sorted(plan.order) == list(range(columns))
    assert search.best_total == pytest.approx(sum(plan.entries[len(peeled) :]))
    min_fill = plan_of([c for c, _ in min_fill_order(columns, scopes)], states, scopes)
    assert plan.total <= 1.5 * min_fill.total  # ties may fall otherwise, no more than that


def test_the_plan_is_never_worse_than_min_fill_and_always_the_same() -> None:
    network = random_network(80, 9, 4, 0.0, 11)
    states = network.schema.cardinalities.tolist()
    scopes = [f.scope for f in network.factors]
    first, second = (plan_elimination(states, scopes, 1e7, Watch()) for _ in range(2))
    min_fill = plan_of([c for c, _ in min_fill_order(len(states), scopes)], states, scopes)
    assert first.total < min_fill.total
    assert first.order == second.order


def test_compilation_reports_progress_and_ends_with_its_time() -> None:
    network = random_network(30, 5, 3, 0.5, 4)
    seen: list[Progress] = []
    compile_network(network, watch=Watch(seen.append))
    assert (seen[-1].stage, seen[-1].done, seen[-1].total) == ("columns compiled", 30, 30)
    with pytest.raises(TooLargeError, match="not done within its time budget"):
        compile_network(network, watch=Watch(seconds=0.0))


def test_an_interrupt_ends_compilation() -> None:
    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(Stopped):
        compile_network(random_network(30, 5, 3, 0.5, 4), watch=Watch(interrupt))


def test_convert_takes_a_limit_and_a_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = ["network n { }"]
    lines += [f"variable v{i} {{ type discrete [ 2 ] {{ a, b }}; }}" for i in range(12)]
    lines += ["probability ( v0 ) { table 0.5, 0.5; }"]
    lines += [f"probability ( v{i} | v{i - 1} ) {{ (a) 1.0, 0.0; (b) 0.25, 0.75; }}" for i in range(1, 12)]
    Path("chain.bif").write_text("\n".join(lines))
    assert run(["convert", "chain.bif", "chain.tract", "--limit", "10"]) == 2
    assert (
        "more than the limit of 10; `tractable convert` allows more with --limit" in capsys.readouterr().err
    )
    assert run(["convert", "chain.bif", "chain.tract", "--budget", "0s"]) == 2
    assert run(["convert", "chain.bif", "chain.tract", "--limit", "1000", "--budget", "1m"]) == 0
    assert tr.load("chain.tract").prob("v11=b") == pytest.approx(0.5 * 0.75**11)
