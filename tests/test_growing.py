"""A growing circuit against the Markov network that it stands for, enumerated."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from random_splits import Conditions, random_splits, singles
from tractable.arrays import Floats, Ints
from tractable.circuit import is_decomposable, is_deterministic, is_smooth
from tractable.data import Table, discrete_schema
from tractable.engine import log_values
from tractable.growing import GrowingCircuit
from tractable.growing.frozen import frozen
from tractable.growing.gains import Priors
from tractable.growing.ledger import Ledger
from tractable.growing.markov import MarkovModel
from tractable.growing.plan import NEVER
from tractable.growing.search import Costs, Fitting, SplitSearch
from tractable.learners import LEARNERS
from tractable.learners.markov.eacmn import plant_tree
from tractable.progress import Watch
from tractable.queries import most_probable
from tractable.statistics.forests import Forest


def all_rows(states: Ints) -> Ints:
    return np.array(list(itertools.product(*(range(k) for k in states))), dtype=np.int64)


def holds(rows: Ints, conditions: Conditions) -> Floats:
    answer = np.ones(len(rows))
    for column, state in conditions:
        answer *= rows[:, column] == state
    return answer


def log_linear(rows: Ints, features: list[Conditions], weight: Floats) -> Floats:
    """The unnormalised log-probability of every row, by definition."""
    return np.sum([w * holds(rows, f) for w, f in zip(weight, features, strict=True)], axis=0)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_after_every_split_the_circuit_is_the_network_and_edges_are_as_foretold(
    states: list[int], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    circuit = GrowingCircuit(np.array(states))
    rows = all_rows(circuit.states)
    for features in random_splits(circuit, rng, 25):
        weight = rng.normal(size=len(features))
        logs = log_linear(rows, features, weight)
        total = np.logaddexp.reduce(logs)
        log_value, expected = circuit.moments(weight)
        assert log_value == pytest.approx(total, rel=1e-9, abs=1e-9)
        chances = [np.exp(logs - total) @ holds(rows, f) for f in features]
        np.testing.assert_allclose(expected, chances, atol=1e-9)


def test_hundreds_of_splits_keep_the_circuit_equal_to_the_network() -> None:
    rng = np.random.default_rng(3)
    circuit = GrowingCircuit(np.array([2, 3, 2, 2, 2, 3]))
    rows = all_rows(circuit.states)
    for features in random_splits(circuit, rng, 300):
        weight = 0.3 * rng.normal(size=len(features))
        total = np.logaddexp.reduce(log_linear(rows, features, weight))
        assert circuit.moments(weight).log_value == pytest.approx(total, rel=1e-9, abs=1e-9)


def test_state_chances_given_evidence_are_those_of_the_network() -> None:
    rng = np.random.default_rng(1)
    circuit = GrowingCircuit(np.array([2, 3, 2, 2]))
    rows = all_rows(circuit.states)
    features = singles(circuit.states)
    for features in random_splits(circuit, rng, 12):  # noqa: B007 - the last ones count
        pass
    weight = rng.normal(size=len(features))
    allowed = np.ones((9, 3))
    allowed[[0, 3], 1] = 0.0
    allowed[[2, 3, 4], 2] = 0.0  # impossible
    first = np.array([0, 2, 5, 7])
    logs = log_linear(rows, features, weight)
    chances = circuit.state_chances(weight, allowed)
    for piece in range(2):
        mass = np.exp(logs) * np.prod([allowed[first[c] + rows[:, c], piece] for c in range(4)], axis=0)
        for column, state in [f[0] for f in singles(circuit.states)]:
            share = (mass @ (rows[:, column] == state)) / mass.sum()
            assert chances[first[column] + state, piece] == pytest.approx(share)
    assert not chances[:, 2].any()


def test_a_cost_above_the_limit_is_given_up() -> None:
    circuit = GrowingCircuit(np.array([2, 2, 2]))
    cost = circuit.edge_cost(np.array([0]), 1)
    assert circuit.edge_cost(np.array([0]), 1, limit=cost) == cost
    assert circuit.edge_cost(np.array([0]), 1, limit=cost - 1) == NEVER


def test_replacing_the_parameters_of_a_leaf_makes_a_bayesian_network() -> None:
    circuit = GrowingCircuit(np.array([2, 3, 2]))
    before = circuit.edges
    cost = circuit.edge_cost(np.array([2, 3, 4]), 0, replace=True)
    fresh = circuit.split(np.array([2, 3, 4]), 0, replace=True)
    assert circuit.edges - before == cost
    assert fresh.shape == (3, 2)
    rng = np.random.default_rng(0)
    weight = np.zeros(circuit.params)
    weight[:2], weight[5:7] = np.log([0.3, 0.7]), np.log([0.1, 0.9])
    weight[2:5] = 99.0  # in no product any more
    tables = rng.dirichlet(np.ones(3), size=2)
    weight[fresh] = np.log(tables.T)
    log_value, expected = circuit.moments(weight)
    assert log_value == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(expected[fresh], tables.T * [0.3, 0.7])


def table(rows: int = 400, seed: int = 0, missing: float = 0.0) -> Table:
    rng = np.random.default_rng(seed)
    hidden = rng.integers(2, size=rows)
    values = np.stack([(rng.random(rows) < 0.2 + 0.6 * hidden).astype(float) for _ in range(4)], axis=1)
    values = np.column_stack([values, (values[:, 0] + 2 * values[:, 1]) % 3])
    values[rng.random(values.shape) < missing] = np.nan
    return Table(discrete_schema([2, 2, 2, 2, 3]), values)


def test_a_gain_is_what_the_best_weights_of_the_new_features_add() -> None:
    priors = Priors(0.7, 0.5)
    model = MarkovModel(table(), None, priors)
    model.fit(50, 1e-12)
    gain, weight = model.gains(np.array([0, 3]), 0.0)
    for line, feature in enumerate((0, 3)):
        for column in range(5):
            if column == model.conditions[feature][0][0]:
                assert gain[line, column] == 0
                continue
            slow = slow_gain(model, feature, column, priors)
            assert gain[line, column] == pytest.approx(slow, abs=2e-3)
            assert np.isfinite(weight).all()


def slow_gain(model: MarkovModel, feature: int, column: int, priors: Priors) -> float:
    """The same by enumeration and a general optimiser."""
    rows = all_rows(model.states)
    logs = log_linear(rows, model.conditions, model.weight)
    p = np.exp(logs - np.logaddexp.reduce(logs))
    new = [(*model.conditions[feature], (column, state)) for state in range(model.states[column])]
    hold = np.stack([holds(rows, f) for f in new], axis=1)
    data = table().values.astype(int)
    q = np.array([holds(data, f).mean() for f in new])
    # the target of a single column's feature is smoothed, and what is split keeps its part of it
    q *= model.target[feature] / holds(data, model.conditions[feature]).mean()

    def loss(d: Floats) -> float:
        return -model.total * (q @ d - np.log(p @ np.exp(hold @ d))) + priors.cost(d)

    starts = (np.zeros(len(new)), np.full(len(new), 0.1), np.full(len(new), -0.1))
    return -min(float(minimize(loss, d, method="Powell", tol=1e-10).fun) for d in starts)


def test_weights_are_at_the_optimum_of_the_penalised_likelihood() -> None:
    priors = Priors(2.0, 0.5)
    model = MarkovModel(table(), None, priors)
    for feature, column in ((0, 1), (2, 4), (12, 3)):
        model.split(feature, column, np.zeros(model.states[column]))
    model.fit(500, 0.0)
    away = model.weight - model.home
    slope = model.total * (model.target - model.state.moments.expected) - away / priors.variance
    moving = away != 0
    assert moving.any()
    assert not moving.all()
    np.testing.assert_allclose(slope[moving], priors.l1 * np.sign(away[moving]), atol=0.05)
    assert (np.abs(slope[~moving]) <= priors.l1 + 0.05).all()


def test_going_back_undoes_splits() -> None:
    model = MarkovModel(table(), table(100, 1), Priors(0.1, 1.0))
    model.split(0, 1, np.zeros(2))
    model.fit(20, 1e-9)
    past, edges, score = model.snapshot(), model.circuit.edges, model.score
    model.split(2, 3, np.zeros(2))
    model.fit(20, 1e-9)
    model.parts(13)
    model.back_to(past)
    assert (model.circuit.edges, model.features, model.splits) == (edges, 13, 1)
    assert model.score == score
    model.fit(20, 1e-9)
    assert model.score == pytest.approx(score, abs=1e-3)
    model.split(4, 3, np.zeros(2))  # its new features have the numbers that others had
    again = MarkovModel(table(), None, Priors(0.1, 1.0))
    again.split(0, 1, np.zeros(2))
    again.split(4, 3, np.zeros(2))
    np.testing.assert_array_equal(model.parts(13), again.parts(13))


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_finished_circuit_is_the_model_and_has_every_property(missing: float) -> None:
    data = table(missing=missing)
    model = MarkovModel(data, None, Priors(0.1, 1.0))
    costs = Costs(split=1.0, edge=0.01, max_edges=2000)
    SplitSearch(model, costs, Fitting(5, 1e-6), Watch()).run(10)
    model.fit(50, 1e-9)
    graph = frozen(model, data.schema)
    rows = all_rows(model.states)
    logs = log_linear(rows, model.conditions, model.weight)
    np.testing.assert_allclose(
        log_values(graph, rows.astype(float)), logs - np.logaddexp.reduce(logs), atol=1e-9
    )
    assert is_smooth(graph)
    assert is_decomposable(graph)
    assert is_deterministic(graph)
    assert graph.features is not None
    assert len(graph.features) == model.features + 1
    assert model.splits > 2
    assert model.circuit.edges <= 2000


def test_a_planted_tree_is_as_small_as_a_compiled_one() -> None:
    model = MarkovModel(table(), None, Priors(0.0, 10.0))
    chain = Forest(np.array([-1, 0, 1, 2, 3]), np.arange(5))
    plant_tree(model, chain, 1e-9)
    # Sums of two edges for each state above; products of an indicator, two weights and what follows.
    assert model.circuit.edges < 110
    model.fit(200, 1e-12)
    np.testing.assert_allclose(model.state.moments.expected, model.target, atol=0.01)


def test_priors_hold_a_planted_tree_where_it_is() -> None:
    """However strong they are: without splits, the model is the tree of smoothed conditional chances."""
    data = table(rows=30)
    chain = Forest(np.array([-1, 0, 1, 2, 3]), np.arange(5))
    model = MarkovModel(data, None, Priors(100.0, 0.01))
    plant_tree(model, chain, 1.0)
    model.fit(100, 1e-9)
    graph = frozen(model, data.schema)
    rows = all_rows(model.states)
    first = np.cumsum(model.states) - model.states
    p = np.split(model.target, first[1:])
    logs = np.log(p[0])[rows[:, 0]]
    for column in range(1, 5):
        own, above = data.values[:, column], data.values[:, column - 1]
        for row in range(len(rows)):
            s, t = rows[row, column], rows[row, column - 1]
            smoothed = len(data) * p[column][s]
            part = (smoothed * (above[own == s] == t).mean() + p[column - 1][t]) / (smoothed + 1)
            logs[row] += np.log(p[column][s] * part / p[column - 1][t])
    logs -= np.logaddexp.reduce(logs)
    np.testing.assert_allclose(log_values(graph, rows.astype(float)), logs, atol=1e-6)


@pytest.mark.parametrize("name", ["acmn", "eacmn", "acbn"])
def test_the_most_probable_completion_is_exact(name: str) -> None:
    data = table()
    graph = LEARNERS[name]().learn(data, np.random.default_rng(0))
    rows = all_rows(data.schema.cardinalities).astype(float)
    logs = log_values(graph, rows)
    for column, state in ((0, 1), (4, 2)):
        row = np.full(5, np.nan)
        row[column] = state
        best = most_probable(graph, row[None, :])
        assert best.exact.all()
        assert best.log_value[0] == pytest.approx(logs[rows[:, column] == state].max(), abs=1e-9)


@pytest.mark.parametrize("name", ["acmn", "eacmn", "acbn"])
def test_the_number_of_edges_is_kept_to(name: str) -> None:
    graph = LEARNERS[name](max_edges=130, edge_cost=0.001).learn(table(), np.random.default_rng(0))  # type: ignore[call-arg]
    assert graph.edges <= 132  # with the factor that makes it sum to one


class _Memory:
    """A checkpoint in memory; the work is interrupted when the first one is written."""

    def __init__(self) -> None:
        self.checkpoint: bytes | None = None

    def read(self) -> bytes | None:
        return self.checkpoint

    def write(self, checkpoint: bytes) -> None:
        self.checkpoint = checkpoint
        raise InterruptedError


def test_an_interrupted_search_goes_on_from_its_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tractable.progress.watch.CHECKPOINT_SECONDS", 0.0)
    memory = _Memory()
    costs = Costs(split=1.0, edge=0.01, max_edges=2000)

    def search(watch: Watch) -> SplitSearch:
        model = MarkovModel(table(), table(100, 1), Priors(0.1, 1.0))
        model.fit(50, 1e-9)
        return SplitSearch(model, costs, Fitting(5, 1e-6), watch)

    whole = search(Watch())
    whole.run(5)
    for _ in range(3):  # each run gets one split further
        with pytest.raises(InterruptedError):
            search(Watch(checkpoints=memory)).run(5)
    last = search(Watch(checkpoints=memory))
    with pytest.raises(InterruptedError):
        last.run(5)
    assert last.model.splits == 4
    memory.write = lambda checkpoint: None  # type: ignore[method-assign]
    last = search(Watch(checkpoints=memory))
    last.run(5)
    assert last.model.score > whole.model.score - 0.01  # by another way, perhaps
    assert last.model.splits >= 4


def test_what_can_score_above_zero_is_promising_to_the_last_digit() -> None:
    """Gains are in single precision; if costs were rounded alike, such a split would be guessed for ever."""
    split_cost = 100.3
    gain = float(np.float32(split_cost))
    assert gain > split_cost
    ledger = Ledger(1, split_cost, edge_cost=1e-9)
    ledger.add(1)
    ledger.set_gains(np.array([0]), np.array([[gain]]), 0)
    assert ledger.best_line() == 0
    assert ledger.promising(0).all()
