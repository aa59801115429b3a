"""Expected numbers of rows, beside a slow twin that hands every row down the circuit by itself."""

import numpy as np
import oracle
import pytest
from closeness import close

from tractable.base.arrays import Floats
from tractable.circuit.builder import Builder
from tractable.circuit.graph import LEAF, SUM, Graph
from tractable.data.schema import discrete_schema
from tractable.engine import expectations, sweep
from tractable.engine.backward import reverse_edges
from tractable.engine.compile import compile_graph
from tractable.engine.expectations import Expecter, recompute_pairs

STATES = [2, 2, 1, 3, 2, 2]


def _chain(sums: int, states: list[int], *, zeros: bool = False, evenness: float = 1.0) -> Graph:
    """A chain of columns: `sums` sums at each step, all over the same products of leaves and sums below."""
    rng = np.random.default_rng(0)
    builder = Builder(discrete_schema(states))

    def leaf(column: int) -> int:
        masses = rng.dirichlet(np.full(states[column], evenness))
        if zeros and states[column] > 1 and rng.random() < 0.4:
            masses = np.eye(states[column])[0]
        with np.errstate(divide="ignore"):
            return builder.leaf("categorical", column, np.log(masses))

    below = [leaf(0) for _ in range(sums)]
    for column in range(1, len(states)):
        products = [builder.product([leaf(column), b]) for b in below]
        last = column == len(states) - 1
        below = [
            builder.sum(products, np.log(rng.dirichlet(np.ones(sums)))) for _ in range(1 if last else sums)
        ]
    return builder.freeze(below[0])


def _rows(states: list[int], count: int, missing: float, seed: int = 1) -> Floats:
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.integers(0, s, count) for s in states], axis=1).astype(float)
    return np.where(rng.random(rows.shape) < missing, np.nan, rows)


def _slow(graph: Graph, rows: Floats, weights: Floats) -> tuple[Floats, dict[int, Floats]]:
    """The rows through every edge, and for every leaf those that reach it in each state."""
    edge = np.zeros(graph.edges)
    column = {node: found.column for node, found in oracle.leaves_of(graph).items()}
    leaf = {node: np.zeros(max(STATES) + 1) for node in column}
    for row, weight in zip(rows, weights, strict=True):
        value = np.array(oracle.node_log_values(graph, row.tolist()))
        flow = np.zeros(graph.nodes)
        flow[-1] = weight if value[-1] > -np.inf else 0.0
        for node in range(graph.nodes - 1, -1, -1):
            if graph.kind[node] == LEAF:
                cell = row[column[node]]
                leaf[node][-1 if np.isnan(cell) else int(cell)] += flow[node]
            for e in range(graph.start[node], graph.start[node + 1]):
                part = flow[node]
                if graph.kind[node] == SUM and part > 0:
                    part *= np.exp(graph.log_weight[e] + value[graph.child[e]] - value[node])
                    edge[e] += part
                flow[graph.child[e]] += part
    return edge, leaf


def _agrees(graph: Graph, rows: Floats, weights: Floats) -> bool:
    found = Expecter(graph).expectations(graph, rows, weights)
    edge, leaf = _slow(graph, rows, weights)
    states = all(
        close(seen, leaf[node][: seen.size], 1e-12)
        for block, counts in zip(graph.blocks, found.blocks, strict=True)
        for node, seen in zip(block.node.tolist(), counts.states, strict=True)
    )
    return states and close(found.edge, edge, 1e-12)


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("sums", [2, 3, 5])
def test_rows_are_counted_as_if_each_were_handed_down_by_itself(
    sums: int, missing: float, zeros: bool
) -> None:
    graph, rows = _chain(sums, STATES, zeros=zeros), _rows(STATES, 37, missing)
    assert _agrees(graph, rows, np.random.default_rng(2).random(37))


@pytest.mark.parametrize("count", [1, 7])
@pytest.mark.parametrize("states", [[2, 2], [1, 1, 1], [1, 2], [3, 3, 3]])
def test_few_rows_and_narrow_tables_are_counted(states: list[int], count: int) -> None:
    graph = _chain(2, states)
    rows = _rows(states, count, 0.0)
    assert _agrees(graph, rows, np.ones(count))
    assert _agrees(graph, rows, np.zeros(count))


@pytest.mark.parametrize("shown", [0, 1])
def test_a_state_that_no_row_shows_is_counted_as_nothing_at_all(shown: int) -> None:
    graph = _chain(2, [2] * 6)
    rows = np.full((700, 6), float(shown))
    found = Expecter(graph).expectations(graph, rows, np.random.default_rng(0).random(700))
    assert all((counts.states[:, 1 - shown] == 0).all() for counts in found.blocks)


def test_no_count_is_negative() -> None:
    graph = _chain(2, [2] * 6)
    rows = _rows([2] * 6, 900, 0.0)
    rows[:, 3] = 1.0
    rows[5, 3] = 0.0
    weights = np.where(np.arange(900) == 5, 1e-300, np.random.default_rng(3).random(900))
    found = Expecter(graph).expectations(graph, rows, weights)
    assert all((counts.states >= 0).all() for counts in found.blocks)


def test_counts_are_the_same_to_the_last_bit_whatever_the_number_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sweep, "THREAD_WORK", 1)
    graph, rows = _chain(2, STATES), _rows(STATES, 1700, 0.2)
    one, three = (Expecter(graph).expectations(graph, rows, np.ones(1700), threads=t) for t in (1, 3))
    assert np.array_equal(one.edge, three.edge)
    assert np.array_equal(one.log_value, three.log_value)
    for a, b in zip(one.blocks, three.blocks, strict=True):
        assert np.array_equal(a.states, b.states)


def test_sums_that_are_worked_out_again_count_as_those_that_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, rows, weights = _chain(2, STATES, zeros=True), _rows(STATES, 300, 0.1), np.ones(300)
    program = compile_graph(graph, merge=False).program
    assert recompute_pairs(reverse_edges(program), program).pair.any()
    again = Expecter(graph).expectations(graph, rows, weights)
    monkeypatch.setattr(expectations, "recompute_pairs", lambda back, _: back)
    kept = Expecter(graph).expectations(graph, rows, weights)
    assert close(again.edge, kept.edge, 1e-13)


def test_one_expecter_counts_under_parameters_that_need_exponents_and_under_those_that_do_not() -> None:
    graphs = [_chain(2, [2] * 300, evenness=x) for x in (50.0, 0.3, 50.0)]
    rows, weights = _rows([2] * 300, 20, 0.0), np.ones(20)
    expecter, kept = Expecter(graphs[0]), []
    for graph in graphs:
        own = Expecter(graph)
        program = compile_graph(graph, merge=False).program
        kept.append(int((~recompute_pairs(reverse_edges(program), program).pair).sum()))
        found, wanted = (x.expectations(graph, rows, weights) for x in (expecter, own))
        assert np.array_equal(found.edge, wanted.edge)
        assert close(found.edge, _slow(graph, rows, weights)[0], 1e-11)
    assert kept[0] < kept[1]
