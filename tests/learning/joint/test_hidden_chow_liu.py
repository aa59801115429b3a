"""Hidden Chow-Liu trees, and the dense blocks of sums that they are made of."""

import time
from dataclasses import replace

import numpy as np
import oracle
import pytest

from tractable.base.arrays import Floats
from tractable.circuit import Graph, is_decomposable, is_smooth
from tractable.data import Schema, Table, Variable, discrete_schema
from tractable.engine import log_values
from tractable.engine.compile import compile_graph
from tractable.engine.expectations import Expecter
from tractable.learning.joint import LEARNERS
from tractable.learning.joint.hidden_chow_liu import hidden_tree
from tractable.learning.statistics.encoding import encode
from tractable.learning.statistics.forests import chow_liu_forest
from tractable.queries import log_prob


def chain(rows: int = 600, columns: int = 6, seed: int = 0) -> Table:
    """Rows in which each column repeats the one before it nine times out of ten."""
    rng = np.random.default_rng(seed)
    values = np.zeros((rows, columns))
    values[:, 0] = rng.integers(2, size=rows)
    for c in range(1, columns):
        values[:, c] = np.where(rng.random(rows) < 0.9, values[:, c - 1], 1 - values[:, c - 1])
    return Table(discrete_schema([2] * columns), values)


def drawn(table: Table, states: int, seed: int = 0) -> Graph:
    encoding = encode(table)
    return hidden_tree(encoding, chow_liu_forest(encoding, 1.0), states, 0.5, np.random.default_rng(seed))


def test_the_circuit_is_a_distribution() -> None:
    graph = drawn(chain(), 5)
    assert is_smooth(graph)
    assert is_decomposable(graph)
    every = np.array(oracle.all_rows(graph.schema))
    assert np.exp(log_prob(graph, every)).sum() == pytest.approx(1.0)
    assert log_values(graph, every) == pytest.approx(oracle.log_values(graph, every))


def test_its_sums_are_found_to_be_matrices() -> None:
    program = compile_graph(drawn(chain(), 5), merge=False).program
    sums = int((program.matrix * np.diff(program.start)).sum())
    assert sums == 5 * 5 * 5  # one block for each column but the root, whose sum is one alone


@pytest.mark.parametrize("states", [4, 7])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_matrices_count_as_single_edges_do(states: int, missing: float) -> None:
    graph = drawn(chain(), states)
    rng = np.random.default_rng(1)
    rows = chain(rows=200).values
    rows[rng.random(rows.shape) < missing] = np.nan
    weights = rng.random(200)
    expected = Expecter(graph).expectations(graph, rows, weights)
    for edge in rng.choice(np.flatnonzero(graph.kind[graph.parent] == 2), size=12):
        assert expected.edge[edge] == pytest.approx(
            _slope(graph, rows, weights, int(edge)), rel=1e-4, abs=1e-6
        )


def _slope(graph: Graph, rows: Floats, weights: Floats, edge: int, by: float = 1e-5) -> float:
    moved = graph.log_weight.copy()
    moved[edge] += by
    higher = log_values(replace(graph, log_weight=moved), rows)
    return float(weights @ (higher - log_values(graph, rows))) / by


def test_matrices_hold_where_numbers_need_exponents() -> None:
    columns = 400
    table = Table(discrete_schema([2] * columns), np.zeros((4, columns)))
    rng = np.random.default_rng(0)
    table = Table(table.schema, rng.integers(2, size=(40, columns)).astype(np.float64))
    graph = drawn(table, 4)
    small = [b.with_parameters(np.full_like(b.parameters, 9.0)) for b in graph.blocks]  # state 0 is rare
    graph = replace(graph, blocks=tuple(small))
    zeros = np.zeros((3, columns))
    expected = Expecter(graph).expectations(graph, zeros, np.ones(3))
    assert expected.log_value == pytest.approx(log_values(graph, zeros), rel=1e-12)
    assert expected.log_value[0] < -2000
    per_sum = np.bincount(graph.parent, weights=expected.edge, minlength=graph.nodes)
    assert per_sum.max() <= 3 + 1e-9
    assert per_sum[graph.kind == 2].sum() == pytest.approx(3 * columns)


def test_hidden_states_tell_more_than_the_tree_itself() -> None:
    rng = np.random.default_rng(3)
    cluster = rng.integers(3, size=(1500, 1))
    chance = np.array([[0.9] * 4 + [0.1] * 4, [0.1] * 4 + [0.9] * 4, [0.1, 0.9] * 4])[cluster[:, 0]]
    table = Table(discrete_schema([2] * 8), (rng.random(chance.shape) < chance).astype(np.float64))
    valid = table.take(slice(0, 300))
    train = table.take(slice(300, None))
    hidden, plain = (
        LEARNERS[name]().learn(train, np.random.default_rng(0), valid=valid)
        for name in ("hidden-chow-liu", "chow-liu")
    )
    assert log_prob(hidden, valid.values).mean() > log_prob(plain, valid.values).mean() + 0.1


def test_columns_of_every_kind_may_be_mixed() -> None:
    schema = Schema((Variable("a", states=("x", "y", "z")), Variable("b", "real"), Variable("c", "count")))
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=300)
    values = np.stack([kind, rng.normal(kind * 5.0), rng.poisson(1 + kind * 4)], axis=1).astype(np.float64)
    learner = LEARNERS["hidden-chow-liu"](states=(3,), trees=1, epochs=8)  # type: ignore[call-arg]
    graph = learner.learn(Table(schema, values), np.random.default_rng(0))
    independent = LEARNERS["independent"]().learn(Table(schema, values), np.random.default_rng(0))
    assert log_prob(graph, values).mean() > log_prob(independent, values).mean() + 0.5


def entropy_of(table: Table, **settings: float) -> float:
    """The entropy of what is learned from a table with few hidden states and these settings."""
    learner = LEARNERS["hidden-chow-liu"](states=(3,), trees=1, epochs=5, steps=3, **settings)  # type: ignore[call-arg]
    return oracle.entropy(learner.learn(table, np.random.default_rng(0)))


def test_softness_and_entropy_make_rows_more_alike() -> None:
    table = chain(rows=200, columns=4)
    plain = entropy_of(table, softness=0, entropy=0)
    assert entropy_of(table, softness=0, entropy=100) > plain + 0.05
    assert entropy_of(table, softness=0.3, entropy=0) > plain + 0.05
    assert entropy_of(table, softness=0, entropy=1e9) == pytest.approx(4 * np.log(2), abs=1e-3)


def test_entropy_counts_for_so_many_rows_however_many_there_are() -> None:
    few, many = chain(rows=50, columns=4), chain(rows=5000, columns=4)
    change = [entropy_of(t, entropy=20) - entropy_of(t, entropy=0) for t in (few, many)]
    assert change[0] > 10 * abs(change[1])


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"softness": -0.1}, "softness of hidden-chow-liu must be at least 0, not -0.1"),
        ({"softness": 1.5}, "softness of hidden-chow-liu must be at most 1, not 1.5"),
        ({"entropy": -1.0}, "entropy of hidden-chow-liu must be at least 0, not -1"),
        ({"entropy": float("nan")}, "entropy of hidden-chow-liu must be at least 0, not nan"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, float], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        LEARNERS["hidden-chow-liu"](**settings)


def score_of_weighted(weight: float) -> tuple[float, float]:
    """The mean log-likelihood of rows that all have this weight, and the CPU seconds that learning took."""
    table = chain(rows=300, columns=4)
    weighted = Table(table.schema, table.values, np.full(len(table), weight))
    started = time.process_time()
    learner = LEARNERS["hidden-chow-liu"](states=(3,), trees=2, bagged=True, epochs=5, steps=3, entropy=0.0)  # type: ignore[call-arg]
    graph = learner.learn(weighted, np.random.default_rng(0))
    return float(log_values(graph, table.values).mean()), time.process_time() - started


def test_the_cost_of_learning_does_not_depend_on_the_size_of_weights() -> None:
    plain, _ = score_of_weighted(1.0)
    for weight in (1e6, 1e12):
        score, seconds = score_of_weighted(weight)
        assert score == pytest.approx(plain, abs=0.05)
        assert seconds < 20
