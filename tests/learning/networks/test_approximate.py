"""Networks by pseudo-likelihood: objectives as defined, penalties as promised, structures that are there."""

import itertools
import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from marginal_networks import exact_marginals, pairs_network, table_network, tree_network
from oracle import all_rows
from random_networks import enumerated
from sklearn.linear_model import LogisticRegression

from tractable.base.arrays import Floats
from tractable.base.progress import Progress, Watch
from tractable.data import Schema, Table, Variable, discrete_schema
from tractable.learning.networks import NETWORK_LEARNERS, NetworkLearner
from tractable.learning.networks.gssl import GSSLLearner, generalise, supports
from tractable.learning.networks.indicators import conditional_marginal_log_likelihood, state_indicators
from tractable.learning.networks.l1 import L1MarkovLearner, regress
from tractable.learning.networks.pseudo_likelihood.objective import PseudoLikelihood
from tractable.learning.networks.pseudo_likelihood.scores import (
    log_pseudo_likelihoods,
    mean_log_pseudo_likelihood,
)
from tractable.learning.networks.pseudo_likelihood.weights import (
    l1_penalties,
    log_weights,
    maximise,
    reweight,
)
from tractable.networks import FeatureFactor, Network, TableFactor, log_prob_of_rows
from tractable.networks.features import feature_factors
from tractable.networks.gibbs.sampler import GibbsSampler

every_learner = pytest.mark.parametrize("learner", NETWORK_LEARNERS)


def quick_learner(name: str) -> NetworkLearner:
    return NETWORK_LEARNERS.make_with(name, {"candidates": 200} if name == "gssl" else {})


def random_features(states: list[int], count: int, seed: int) -> list[FeatureFactor]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        columns = tuple(rng.permutation(len(states))[: rng.integers(1, 4)].tolist())
        which = tuple(int(rng.integers(states[c])) for c in columns)
        signs = tuple(bool(rng.random() < 0.7) for _ in columns)
        found.append(FeatureFactor(columns, which, signs, float(rng.normal(0, 0.5))))
    return found


def random_table(states: list[int], rows: int, seed: int, missing: float = 0.0) -> Table:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, states, (rows, len(states))).astype(np.float64)
    values[rng.random(values.shape) < missing] = np.nan
    return Table(discrete_schema(states), values, rng.integers(0, 4, rows).astype(np.float64))


def features_of(network: Network) -> list[FeatureFactor]:
    return [f for f in network.factors if isinstance(f, FeatureFactor)]


def vars_of(feature: FeatureFactor) -> tuple[object, ...]:
    return feature.columns, feature.states, feature.equals, feature.log_weight


def obvious_pseudo_likelihood(features: list[FeatureFactor], weight: Floats, table: Table) -> float:
    """The sum over rows and seen cells of the cell's log-probability given the others, by its definition."""

    def log_value(row: list[float]) -> float:
        total = 0.0
        for feature, w in zip(features, weight, strict=True):
            conditions = zip(feature.columns, feature.states, feature.equals, strict=True)
            total += w * all(not math.isnan(row[c]) and (row[c] == s) == e for c, s, e in conditions)
        return total

    answer = 0.0
    for row, times in zip(table.values.tolist(), table.row_weights.tolist(), strict=True):
        for c, variable in enumerate(table.schema):
            if not math.isnan(row[c]):
                logs = [log_value([*row[:c], float(k), *row[c + 1 :]]) for k in range(variable.cardinality)]
                answer += times * (logs[int(row[c])] - math.log(sum(math.exp(x) for x in logs)))
    return answer


@pytest.mark.parametrize("missing", [0.0, 0.25])
@pytest.mark.parametrize("states", [[2, 2, 2, 2], [2, 3, 1, 4]])
def test_the_pseudo_likelihood_and_its_slope_are_those_of_the_definition(
    states: list[int], missing: float
) -> None:
    features, table = random_features(states, 12, 0), random_table(states, 25, 1, missing)
    objective = PseudoLikelihood(features, table)
    weight = np.array([f.log_weight for f in features])
    value, slope = objective(weight)
    assert value == pytest.approx(obvious_pseudo_likelihood(features, weight, table))
    for i in range(len(features)):
        step = np.zeros(weight.size)
        step[i] = 1e-5
        higher, lower = (obvious_pseudo_likelihood(features, weight + s, table) for s in (step, -step))
        assert slope[i] == pytest.approx((higher - lower) / 2e-5, abs=1e-4)


def test_the_curvature_along_a_feature_of_one_column_is_that_of_the_objective() -> None:
    features, table = [FeatureFactor((1,), (2,), (True,), 0.3)], random_table([2, 3], 40, 2)
    objective, at = PseudoLikelihood(features, table), np.array([0.3])
    curvature = (objective(at + 1e-4)[1] - objective(at - 1e-4)[1]) / -2e-4
    np.testing.assert_allclose(objective.curvatures(at), curvature, rtol=1e-6)


def fit_weights(
    features: list[FeatureFactor], table: Table, l1: float = 0.0, l2: float = 1.0, steps: int = 200
) -> list[FeatureFactor]:
    penalties = l1_penalties(features, l1)
    objective = PseudoLikelihood(features, table)
    return reweight(features, maximise(objective, log_weights(features), penalties, l2, steps))


@pytest.mark.parametrize("l1", [0.0, 4.0])
def test_fitted_weights_are_where_the_penalised_objective_is_largest(l1: float) -> None:
    states = [2, 3, 2, 2]
    features = list({vars_of(f)[:3]: f for f in random_features(states, 15, 3)}.values())
    table = random_table(states, 120, 4, 0.1)
    fitted = fit_weights(features, table, l1=l1, l2=0.5, steps=500)
    kept = {vars_of(f)[:3]: f.log_weight for f in fitted}
    weight = np.array([kept.get(vars_of(f)[:3], 0.0) for f in features])
    _, slope = PseudoLikelihood(features, table)(weight)
    rest = slope - 0.5 * weight
    several = np.array([len(f.scope) > 1 for f in features])
    np.testing.assert_allclose(rest[~several], 0.0, atol=0.5)
    np.testing.assert_allclose(
        rest[several & (weight != 0)], l1 * np.sign(weight[several & (weight != 0)]), atol=0.5
    )
    assert (np.abs(rest[several & (weight == 0)]) <= l1 + 0.5).all()


def test_a_high_price_leaves_single_columns_only() -> None:
    features, table = random_features([2, 2, 2], 10, 5), random_table([2, 2, 2], 50, 6)
    fitted = fit_weights(features, table, l1=1e6)
    assert {len(f.scope) for f in fitted} == {1}
    counts = np.average(table.values[:, 0], weights=table.row_weights)
    alone = fit_weights([FeatureFactor((0,), (1,), (True,), 0.0)], table.select([0]), l2=1e-9)
    assert alone[0].log_weight == pytest.approx(math.log(counts / (1 - counts)), abs=1e-3)


def test_the_mean_pseudo_likelihood_of_a_network_is_a_row_s_share() -> None:
    network = pairs_network(5)
    table = random_table(network.schema.cardinalities.tolist(), 30, 7)
    features = features_of(network)
    whole = obvious_pseudo_likelihood(features, np.array([f.log_weight for f in features]), table)
    assert mean_log_pseudo_likelihood(network, table) == pytest.approx(whole / table.total_weight)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_pseudo_likelihoods_of_rows_are_those_of_the_definition(missing: float) -> None:
    network = pairs_network(5)
    table = random_table(network.schema.cardinalities.tolist(), 20, 8, missing)
    features = features_of(network)
    weight = np.array([f.log_weight for f in features])
    rows = log_pseudo_likelihoods(network, table)
    assert rows == pytest.approx(
        [
            obvious_pseudo_likelihood(features, weight, Table(table.schema, table.values[[r]]))
            for r in range(20)
        ]
    )
    mean = mean_log_pseudo_likelihood(network, table)
    assert mean == pytest.approx(np.average(rows, weights=table.row_weights))
    assert log_pseudo_likelihoods(network, Table(table.schema, np.zeros((0, 5)))).shape == (0,)


@pytest.mark.parametrize("network", [table_network(), tree_network()], ids=["tables", "trees"])
def test_tables_and_trees_are_features_of_the_same_product(network: Network) -> None:
    rows = np.array(all_rows(network.schema))
    same = Network(network.schema, tuple(feature_factors(network)), "markov")
    assert all(isinstance(f, FeatureFactor) for f in same.factors)
    np.testing.assert_allclose(log_prob_of_rows(same, rows), log_prob_of_rows(network, rows), atol=1e-12)
    found = log_pseudo_likelihoods(network, Table(network.schema, rows))
    np.testing.assert_allclose(found, enumerated_pseudo_likelihoods(network, rows), atol=1e-9)


def enumerated_pseudo_likelihoods(network: Network, rows: Floats) -> list[float]:
    """The sum over columns of log P(cell | the others) of each row, by enumeration."""
    logs, columns, found = enumerated(network), np.arange(rows.shape[1]), []
    for row, own in zip(rows, logs, strict=True):
        others = [((rows == row) | (columns == c)).all(axis=1) for c in columns]
        found.append(sum(own - np.logaddexp.reduce(logs[same]) for same in others))
    return found


def test_a_row_that_a_table_excludes_has_no_pseudo_likelihood() -> None:
    table = TableFactor((0, 1), np.array([[0.0, -np.inf], [0.5, 0.0]]))
    network = Network(discrete_schema([2, 2]), (table,), "markov")
    rows = Table(network.schema, np.array([[0.0, 1.0], [0.0, 0.0]]))
    assert np.isneginf(log_pseudo_likelihoods(network, rows)).tolist() == [True, False]
    assert mean_log_pseudo_likelihood(network, rows) == -np.inf


def ising_table(columns: int = 6, rows: int = 3000, seed: int = 0, schema: Schema | None = None) -> Table:
    """Each column like the one before it, most of the time."""
    rng = np.random.default_rng(seed)
    flips = rng.random((rows, columns)) < np.where(np.arange(columns) == 0, 0.4, 0.2)
    return Table(schema or discrete_schema([2] * columns), (flips.cumsum(axis=1) % 2).astype(np.float64))


@pytest.mark.parametrize("price", [1.0, 10.0])
def test_a_regression_is_that_of_another_library(price: float) -> None:
    table = ising_table(5, 400)
    states = state_indicators(table, without_most_frequent=False)
    coefficient = np.zeros((1, 6))
    target = np.ascontiguousarray(states.codes[:, 2])
    regress(states.occurrences, states.column != 2, target, price, 1e-12, coefficient)
    others = [0, 1, 3, 4]
    judge = LogisticRegression(C=1 / price, l1_ratio=1.0, solver="saga", tol=1e-9, max_iter=20_000)
    judge.fit(table.values[:, others], table.values[:, 2])
    np.testing.assert_allclose(coefficient[0, 1:][others], judge.coef_[0], atol=2e-3)
    assert coefficient[0, 0] == pytest.approx(float(judge.intercept_[0]), abs=2e-3)
    assert coefficient[0, 3] == 0.0  # its own


def test_a_regression_of_several_classes_is_at_rest() -> None:
    table = random_table([3, 4, 2], 300, 8, 0.1)
    states = state_indicators(table, without_most_frequent=False)
    price, coefficient = 2.0, np.zeros((4, 1 + states.column.size))
    target, usable = np.ascontiguousarray(states.codes[:, 1]), states.column != 1
    regress(states.occurrences, usable, target, price, 1e-12, coefficient)
    has = (states.codes[:, states.column] == states.state) & usable
    score = coefficient[:, 0] + has @ coefficient[:, 1:].T
    p = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    excess = ((target[:, None] == np.arange(4)) - p) * (states.occurrences.weight * (target >= 0))[:, None]
    pull = excess.T @ has
    moved = coefficient[:, 1:] != 0
    np.testing.assert_allclose(excess.sum(axis=0), 0.0, atol=0.02)
    np.testing.assert_allclose(pull[moved], price * np.sign(coefficient[:, 1:][moved]), atol=0.02)
    assert (np.abs(pull[~moved & usable]) <= price + 0.02).all()


def l1_network(table: Table, valid: Table | None = None, **settings: Any) -> Network:
    return L1MarkovLearner(**settings).learn(table, np.random.default_rng(0), valid=valid)


def test_regressions_find_the_links_of_a_chain() -> None:
    network = l1_network(ising_table(), penalty=60.0)
    pairs = {f.columns: f.log_weight for f in features_of(network) if len(f.scope) == 2}
    assert set(pairs) == {(i, i + 1) for i in range(5)}
    assert min(pairs.values()) > 1.0


def test_the_penalty_is_chosen_on_validation_rows() -> None:
    train, valid = ising_table(6, 60, 0), ising_table(6, 1000, 1)
    penalties = (1000.0, 1.0, 0.001)
    scores = {p: mean_log_pseudo_likelihood(l1_network(train, penalty=p), valid) for p in penalties}
    chosen = l1_network(train, valid, penalty=penalties)
    assert mean_log_pseudo_likelihood(chosen, valid) == pytest.approx(max(scores.values()), abs=1e-3)
    assert max(scores, key=lambda p: scores[p]) == 1.0


def test_columns_of_many_states_are_paired_by_states() -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, 1500)
    second = np.where(rng.random(1500) < 0.8, first, rng.integers(0, 3, 1500))
    values = np.column_stack([first, second, rng.integers(0, 2, 1500)]).astype(np.float64)
    table = Table(discrete_schema([3, 3, 2]), values)
    network = l1_network(table, penalty=30.0)
    pairs = {(f.columns, f.states): f.log_weight for f in features_of(network) if len(f.scope) == 2}
    assert all(columns == (0, 1) for columns, _ in pairs)
    for k in range(3):
        assert pairs[(0, 1), (k, k)] > 0.5
    assert mean_log_pseudo_likelihood(network, table) > independent_score(table) + 0.5


def independent_score(table: Table) -> float:
    """The mean log-likelihood of independent columns."""
    answer = 0.0
    for c, variable in enumerate(table.schema):
        share = [
            np.average(table.values[:, c] == k, weights=table.weights) for k in range(variable.cardinality)
        ]
        answer += sum(p * math.log(p) for p in share if p > 0)
    return answer


@every_learner
@pytest.mark.parametrize(
    "table",
    [
        random_table([2, 3, 1, 2], 40, 0, 0.3),
        Table(discrete_schema([2, 2]), np.zeros((5, 2))),
        Table(discrete_schema([2, 3]), np.array([[1.0, 2.0]])),
        Table(discrete_schema([2, 3]), np.zeros((4, 2)), np.zeros(4)),
        Table(discrete_schema([2, 3]), np.full((4, 2), np.nan)),
        Table(discrete_schema([1]), np.zeros((2, 1))),
    ],
    ids=["missing", "constant", "one row", "no weight", "no cell", "one state"],
)
def test_odd_tables_give_a_network_of_finite_weights(learner: str, table: Table) -> None:
    network = quick_learner(learner).learn(table, np.random.default_rng(0), valid=table)
    assert all(isinstance(f, FeatureFactor) and math.isfinite(f.log_weight) for f in network.factors)
    assert math.isfinite(mean_log_pseudo_likelihood(network, table))


@every_learner
@pytest.mark.parametrize(
    ("variable", "fault"),
    [
        (Variable("height", "real"), "column 'height' is real: .* supports only categorical columns"),
        (Variable("visits", "count"), "column 'visits' is count: .* supports only categorical columns"),
        (Variable("net", "real", role="potential"), "column 'net' has the role 'potential'"),
    ],
    ids=["real", "count", "potential"],
)
def test_what_is_no_categorical_column_is_refused_by_name(
    learner: str, variable: Variable, fault: str
) -> None:
    table = Table(Schema((Variable("a", "categorical", ("x", "y")), variable)), np.zeros((3, 2)))
    with pytest.raises(ValueError, match=fault):
        NETWORK_LEARNERS[learner]().learn(table, np.random.default_rng(0))


@every_learner
def test_tables_that_do_not_fit_together_are_refused(learner: str) -> None:
    with pytest.raises(ValueError, match="schema"):
        quick_learner(learner).learn(
            random_table([2, 2], 9, 0), np.random.default_rng(0), valid=random_table([2, 3], 9, 0)
        )


@every_learner
def test_a_watch_follows_the_work_and_ends_it_with_a_network(learner: str) -> None:
    told: list[Progress] = []
    table = random_table([2, 3, 2], 60, 0)
    watch = Watch(told.append, seconds=0.0)
    network = quick_learner(learner).learn(table, np.random.default_rng(0), valid=table, watch=watch)
    assert features_of(network)
    assert (told[-1].done, told[-1].total is not None and told[-1].total > 1) == (1, True)
    assert told[-1].score == pytest.approx(mean_log_pseudo_likelihood(network, table))


@every_learner
def test_a_setting_out_of_range_is_refused_by_name(learner: str) -> None:
    with pytest.raises(
        ValueError, match=f"setting penalty of {learner} must be a list of numbers of at least 0, not -1"
    ):
        NETWORK_LEARNERS.make_with(learner, {"penalty": -1.0})


def test_naming_a_network_learner_does_not_import_it() -> None:
    assert list(NETWORK_LEARNERS) == ["l1-markov", "gssl"]
    code = "import sys; from tractable.learning.networks import NETWORK_LEARNERS as L; assert 'gssl' in L;"
    code += " assert not [m for m in sys.modules if m.startswith('tractable.learning.networks.gssl')]"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_conjunctions_are_parts_of_rows_and_their_support_is_counted() -> None:
    table = random_table([2, 3, 2, 4, 2, 2], 60, 9, 0.1)
    states = state_indicators(table, without_most_frequent=True)
    start, literal = states.by_row()
    made = np.empty((300, 5), dtype=np.int32)
    generalise(start, literal, made, np.array([7], dtype=np.uint64))
    rows = [set(literal[start[r] : start[r + 1]].tolist()) for r in range(start.size - 1)]
    full = made[made[:, 1] >= 0]
    assert len(full) > 100
    expected = []
    for line in full.tolist():
        parts = [i for i in line if i >= 0]
        assert parts == sorted(set(parts))
        holders = [r for r, row in enumerate(rows) if set(parts) <= row]
        assert holders
        expected.append(states.occurrences.weight[holders].sum())
    np.testing.assert_allclose(
        supports(states.occurrences, states.codes, states.column, states.state, full), expected
    )
    assert {sum(i >= 0 for i in line) for line in full.tolist()} >= {2, 3, 4}


def test_three_columns_that_hang_together_only_as_three_are_found() -> None:
    """The third column is on for even numbers of the first two, which no pair of columns tells."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2, (2000, 5)).astype(np.float64)
    values[:, 2] = np.where(rng.random(2000) < 0.9, (values[:, 0] + values[:, 1]) % 2 == 0, values[:, 2])
    table = Table(discrete_schema([2] * 5), values)
    network = GSSLLearner(candidates=3000, penalty=(10.0,)).learn(table, np.random.default_rng(1))
    pairs = l1_network(table, penalty=10.0)
    assert mean_log_pseudo_likelihood(network, table) > mean_log_pseudo_likelihood(pairs, table) + 0.5
    same = GSSLLearner(candidates=3000, penalty=(10.0,)).learn(table, np.random.default_rng(1))
    assert [vars_of(f) for f in features_of(network)] == [vars_of(f) for f in features_of(same)]


def test_conditional_marginal_log_likelihoods_are_sums_of_logs_of_marginals() -> None:
    network = pairs_network(5, seed=3)
    rng = np.random.default_rng(0)
    rows = np.array(all_rows(network.schema))[rng.permutation(len(enumerated(network)))[:6]]
    asked = rng.random(rows.shape) < 0.5
    asked[0], asked[1] = False, True
    rows[2, 0] = np.nan
    asked[2] = [True, True, False, False, False]
    sampler = GibbsSampler(network)
    found = conditional_marginal_log_likelihood(sampler, rows, asked, samples=20_000, seed=1)
    assert found[0] == 0.0
    for got, row, ask in zip(found, rows, asked, strict=True):
        marginals = exact_marginals(network, np.where(ask, np.nan, row))
        cells = [c for c in range(5) if ask[c] and not np.isnan(row[c])]
        expected = sum(math.log(marginals[sampler.slots[c] + int(row[c])]) for c in cells)
        assert got == pytest.approx(expected, abs=0.05)


def test_every_pair_of_columns_is_weighed_once() -> None:
    network = l1_network(random_table([2, 3, 2], 200, 1), penalty=1.0)
    keys = [tuple(sorted(zip(f.columns, f.states, strict=True))) for f in features_of(network)]
    assert len(keys) == len(set(keys))
    alone = [k for k in keys if len(k) == 1]
    assert sorted(alone) == sorted(
        ((c, k),) for c, k in itertools.chain([(0, 1), (2, 1)], ((1, k) for k in range(3)))
    )
