"""Cutset networks against slow twins of their counts and scores, and against their own claims."""

from itertools import combinations
from math import lgamma, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import parallel_config
from oracle import all_rows, entropy
from oracle import is_deterministic as slowly_deterministic
from strategies import schemas

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.circuit import Graph, is_decomposable, is_deterministic, is_smooth
from tractable.data import Table, discrete_schema
from tractable.engine import log_values
from tractable.learning.joint.cutset.circuit import count_edges, cutset_circuit
from tractable.learning.joint.cutset.learner import CutsetLearner
from tractable.learning.joint.cutset.mixtures import (
    CutsetMixture,
    Member,
    best_step,
    boost,
    boosting_weights,
    draw_weights,
    iterate_em,
    mix_evenly,
)
from tractable.learning.joint.cutset.network import CutsetTree, prune, spanning_tree
from tractable.learning.joint.cutset.rows import CountedRows, code_table, count_rows
from tractable.learning.joint.cutset.splits import (
    Block,
    Growth,
    Splitting,
    bayesian_gains,
    choose_column,
    grow_network,
    information_gains,
    split_block,
)
from tractable.learning.statistics.forests import best_forest
from tractable.learning.statistics.link_gains import link_gains
from tractable.model import Circuit

STATES = (2, 3, 2, 4, 2)


@st.composite
def tables(draw: st.DrawFn, missing: bool = True, rows: int = 40) -> Table:
    """Small tables: columns of one to four states, one row, weights of zero, columns without any cell."""
    schema = draw(schemas())
    states = schema.cardinalities.tolist()
    size = draw(st.integers(1, rows))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    hidden = rng.integers(0, 4, size)
    values = np.stack([(hidden + (rng.random(size) < 0.4)) % k for k in states], axis=1).astype(np.float64)
    if missing and draw(st.booleans()):
        values[rng.random(values.shape) < draw(st.sampled_from([0.2, 0.9]))] = np.nan
    weights = draw(st.sampled_from(["none", "counts", "fractions"]))
    drawn = rng.random(size) if weights == "fractions" else rng.integers(0, 4, size).astype(np.float64)
    return Table(schema, values, None if weights == "none" else drawn)


def dependent_table(rows: int = 400, seed: int = 0, missing: float = 0.0) -> Table:
    """The links of the last four columns depend on the first one."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, rows)
    b, c = rng.integers(0, 3, rows), rng.integers(0, 2, rows)
    d = np.where(rng.random(rows) < 0.8, np.where(a == 1, b, c), rng.integers(0, 4, rows))
    e = np.where(rng.random(rows) < 0.9, np.where(a == 1, c, b == 2), rng.integers(0, 2, rows))
    values = np.column_stack([a, b, c, d, e]).astype(np.float64)
    values[rng.random(values.shape) < missing] = np.nan
    return Table(discrete_schema(STATES), values)


def how(*, min_rows: float = 20.0, candidates: int | None = None, **more: float) -> Growth:
    splitting = Splitting(min_rows=min_rows, min_branch=1.0, candidates=candidates)
    settings = {"shrinkage": 5.0, "smoothing": 0.5, "link_cost": 0.0} | more
    return Growth(splitting=splitting, **settings)  # type: ignore[arg-type]


def grown(table: Table, growth: Growth | None = None, seed: int = 0) -> CutsetTree:
    return grow_network(count_rows(table), growth or how(), np.random.default_rng(seed), Watch())


def learned(table: Table, valid: Table | None = None, **settings: object) -> Graph:
    learner = CutsetLearner(**settings)  # type: ignore[arg-type]
    return learner.learn(table, np.random.default_rng(0), valid=valid)


def root_block(rows: CountedRows) -> Block:
    every = np.arange(len(rows.weights))
    return Block(every, rows.weights, rows.count_pairs(every, rows.weights))


# ---- counts and scores, and their slow twins ----------------------------------------------------------


def slow_joint(table: Table, columns: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """The weight of the rows with each combination of states of some columns, none of them missing."""
    answer: dict[tuple[int, ...], float] = {}
    for row, weight in zip(table.values, table.row_weights, strict=True):
        cells = [row[c] for c in columns]
        if not any(np.isnan(cells)):
            key = tuple(int(x) for x in cells)
            answer[key] = answer.get(key, 0.0) + float(weight)
    return answer


def slow_entropy(table: Table, columns: tuple[int, ...]) -> float:
    """The entropy of some columns together, times the weight of the rows that have them."""
    joint = slow_joint(table, columns)
    total = sum(joint.values())
    return -sum(n * log(n / total) for n in joint.values() if n > 0)


def slow_information_gain(table: Table, column: int) -> float:
    """The fall of the summed entropies of the other columns when the rows are split by the column's states.

    Of each other column, the rows count in which both are seen.
    """
    gain = 0.0
    for other in range(len(table.schema)):
        if other == column:
            continue
        known = table.take(np.flatnonzero(~table.missing[:, [column, other]].any(axis=1)))
        gain += slow_entropy(known, (other,))
        for state in range(table.schema[column].cardinality):
            gain -= slow_entropy(known.take(known.values[:, column] == state), (other,))
    return gain


@given(tables())
def test_counts_of_pairs_are_those_of_a_loop_over_rows(table: Table) -> None:
    rows = count_rows(table)
    counts = root_block(rows).counts
    assert counts[0, 0] == pytest.approx(table.total_weight)
    for one, other in combinations(range(len(table.schema)), 2):
        joint = slow_joint(table, (one, other))
        for x in range(1, table.schema[one].cardinality):
            for y in range(1, table.schema[other].cardinality):
                found = counts[rows.places[one, 0] + x - 1, rows.places[other, 0] + y - 1]
                assert found == pytest.approx(joint.get((x, y), 0.0))


def test_sparse_tables_have_the_same_counts() -> None:
    rng = np.random.default_rng(0)
    values = (rng.random((60, 50)) < 0.02).astype(np.float64)
    rows = count_rows(Table(discrete_schema([2] * 50), values, rng.random(60)))
    assert not isinstance(rows.encoding.matrix, np.ndarray)
    dense = rows.encoding.matrix.toarray()
    every = np.arange(len(rows.weights))
    expected = (dense * rows.weights[:, None]).T @ dense
    np.testing.assert_allclose(rows.count_pairs(every, rows.weights), expected, atol=1e-12)


@given(tables())
def test_the_information_gain_is_the_fall_of_the_entropies(table: Table) -> None:
    rows = count_rows(table)
    every = np.arange(len(table.schema))
    found = information_gains(rows, root_block(rows).counts, every, every)
    expected = [slow_information_gain(table, column) for column in range(len(table.schema))]
    np.testing.assert_allclose(found, expected, atol=1e-8)


@given(tables(), st.data())
def test_the_branches_of_a_split_have_their_own_counts(table: Table, data: st.DataObject) -> None:
    rows = count_rows(table)
    column = data.draw(st.integers(0, len(table.schema) - 1))
    whole = root_block(rows)
    parts = split_block(rows, whole, column)
    for part in parts:  # the largest one by subtraction, all here by the product
        np.testing.assert_allclose(part.counts, rows.count_pairs(part.rows, part.weights), atol=1e-9)
    seen = table.row_weights[~table.missing[:, column]].sum()
    assert sum(part.weight for part in parts) == pytest.approx(seen)


def slow_dirichlet(counts: Floats, equivalent_rows: float) -> float:
    """The probability of counts by the rule of succession, one row after the other."""
    prior, total, answer = equivalent_rows / counts.size, 0.0, 0.0
    for state, count in enumerate(counts.tolist()):
        for i in range(round(count)):
            answer += log((prior + i) / (equivalent_rows + total))
            total += 1
        assert state < counts.size
    return answer


def slow_tree_score(table: Table, columns: list[int], equivalent_rows: float) -> float:
    """The Bayesian score of the Chow-Liu tree over some columns of complete rows."""
    gain = {
        (a, b): slow_entropy(table, (a,)) + slow_entropy(table, (b,)) - slow_entropy(table, (a, b))
        for a, b in combinations(columns, 2)
    }
    links: list[tuple[int, int]] = []
    group = {c: c for c in columns}
    for a, b in sorted(gain, key=lambda pair: -gain[pair]):
        if group[a] != group[b] and gain[a, b] > 1e-9 * table.total_weight:
            links.append((a, b))
            group = {c: group[a] if g == group[b] else g for c, g in group.items()}
    size = {c: table.schema[c].cardinality for c in columns}

    def score(scope: tuple[int, ...], rows: float) -> float:
        cells = np.zeros([size[c] for c in scope])
        for key, n in slow_joint(table, scope).items():
            cells[key] = n
        return slow_dirichlet(cells.ravel(), rows)

    # With priors that are spread evenly, the score of a link is that of the pair less that of its parent.
    below = _hang(links, columns)
    pairs = sum(score(link, equivalent_rows) - score((p,), equivalent_rows) for link, p in below.values())
    return pairs + sum(score((c,), equivalent_rows) for c in columns if c not in below)


def _hang(links: list[tuple[int, int]], columns: list[int]) -> dict[int, tuple[tuple[int, int], int]]:
    """The link above each column but the roots, and its parent, when a tree hangs from its first column."""
    below: dict[int, tuple[tuple[int, int], int]] = {}
    seen: set[int] = set()
    for root in columns:
        waiting = [] if root in seen else [root]
        seen |= set(waiting)
        while waiting:
            at = waiting.pop()
            for link in links:
                if at in link:
                    child = link[0] if link[1] == at else link[1]
                    if child not in seen:
                        seen.add(child)
                        below[child] = (link, at)
                        waiting.append(child)
    return below


@pytest.mark.parametrize("equivalent_rows", [1.0, 7.0])
def test_the_bayesian_gain_is_that_of_the_rule_of_succession(equivalent_rows: float) -> None:
    table = dependent_table(150)  # of which no two trees are equally good
    rows, every = count_rows(table), list(range(len(STATES)))
    found = bayesian_gains(rows, root_block(rows), np.array(every), np.array(every), equivalent_rows)
    for column in every:
        rest = [c for c in every if c != column]
        parts = [table.take(table.values[:, column] == k) for k in range(STATES[column])]
        counts = np.array([len(part) for part in parts], dtype=np.float64)
        expected = slow_dirichlet(counts, equivalent_rows) - slow_tree_score(table, every, equivalent_rows)
        expected += sum(slow_tree_score(part, rest, equivalent_rows) for part in parts)
        assert found[column] == pytest.approx(expected)


def test_the_prior_of_one_column_is_a_dirichlet_integral() -> None:
    assert slow_dirichlet(np.array([2.0, 1.0]), 2.0) == pytest.approx(lgamma(2) + lgamma(3) - lgamma(5))


def test_a_bayesian_network_stops_where_no_split_raises_the_score() -> None:
    rng = np.random.default_rng(0)
    flat = Table(discrete_schema([2] * 5), rng.integers(0, 2, (500, 5)).astype(np.float64))
    rows = count_rows(flat)
    splitting = Splitting(score="bayesian", min_rows=10.0)
    assert choose_column(rows, root_block(rows), np.arange(5), 100.0, splitting, rng) == -1
    rows = count_rows(dependent_table(2000))
    assert choose_column(rows, root_block(rows), np.arange(5), 100.0, splitting, rng) == 0
    dear = Splitting(score="bayesian", min_rows=10.0, split_cost=1e6)
    assert choose_column(rows, root_block(rows), np.arange(5), 100.0, dear, rng) == -1


def test_the_tree_of_a_leaf_has_the_greatest_mutual_information() -> None:
    table = dependent_table(200, seed=3)
    rows = count_rows(table)
    shape = spanning_tree(root_block(rows).counts, rows.places, np.arange(5), 0.0)
    gain = {
        (a, b): slow_entropy(table, (a,)) + slow_entropy(table, (b,)) - slow_entropy(table, (a, b))
        for a, b in combinations(range(5), 2)
    }
    found = sum(gain[min(c, p), max(c, p)] for c, p in enumerate(shape.parent.tolist()) if p >= 0)
    trees = (links for links in combinations(gain, 4) if _connects(links))
    assert found == pytest.approx(max(sum(gain[link] for link in links) for links in trees))


@given(st.integers(0, 2**32), st.sampled_from([2, 5, 30]), st.sampled_from([0.02, 0.3]))
def test_pairs_that_are_passed_over_would_not_be_linked(seed: int, size: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    values = (rng.random((size, 12)) < share) ^ (rng.random((size, 1)) < share)
    rows = count_rows(Table(discrete_schema([2] * 12), values.astype(np.float64), rng.random(size)))
    gain = link_gains(rows.encoding)
    shape = spanning_tree(root_block(rows).counts, rows.places, np.arange(12), 0.01)
    forest = best_forest(gain - 0.01, np.ones(12, dtype=np.bool_))
    totals = [
        sum(gain[p, c] - 0.01 for c, p in enumerate(parent.tolist()) if p >= 0)
        for parent in (shape.parent, forest.parent)
    ]
    assert totals[0] == pytest.approx(totals[1], abs=1e-7)


def _connects(links: tuple[tuple[int, int], ...]) -> bool:
    reached = {0}
    for _ in links:
        reached |= {c for link in links if reached & set(link) for c in link}
    return len(reached) == 5


# ---- circuits -----------------------------------------------------------------------------------------


@given(tables(), st.integers(0, 5))
def test_a_network_is_a_deterministic_distribution(table: Table, seed: int) -> None:
    graph = cutset_circuit(table.schema, [grown(table, how(min_rows=2.0), seed)], np.ones(1))
    assert is_smooth(graph)
    assert is_decomposable(graph)
    assert is_deterministic(graph)
    assert np.exp(log_values(graph, np.array(all_rows(table.schema)))).sum() == pytest.approx(1.0)


@given(tables(), st.integers(0, 5))
def test_the_circuit_says_what_the_networks_say_of_rows_with_missing_cells(table: Table, seed: int) -> None:
    mixture = mix_evenly([grown(table, how(min_rows=2.0, candidates=1), seed + i) for i in range(3)])
    graph = cutset_circuit(table.schema, mixture.networks, mixture.weights)
    expected = log_values(graph, table.values)
    np.testing.assert_allclose(mixture.log_probs(code_table(table)), expected, atol=1e-9)
    no_edges = np.zeros(len(table.schema), dtype=np.int64)
    assert graph.edges == sum(count_edges(network, no_edges) for network in mixture.networks) + 3


def test_determinism_is_that_of_the_definition() -> None:
    graph = learned(dependent_table(), components=1)
    assert slowly_deterministic(graph)
    assert not is_deterministic(learned(dependent_table(), components=3))


def test_a_single_network_has_exact_answers() -> None:
    circuit = Circuit(learned(dependent_table(), components=1))
    rows = np.array(all_rows(circuit.graph.schema))
    best = circuit.mpe()
    assert best.exact
    assert best.log_prob == pytest.approx(log_values(circuit.graph, rows).max())
    assert circuit.entropy().value == pytest.approx(entropy(circuit.graph))


def test_parameters_without_pseudo_counts_are_relative_frequencies() -> None:
    table = dependent_table()
    network = grown(table, how(min_rows=150.0, shrinkage=0.0, smoothing=0.0))
    graph = cutset_circuit(table.schema, [network], np.ones(1))
    column = network.nodes[0].column
    assert column >= 0
    for state in range(STATES[column]):
        row = np.full((1, 5), np.nan)
        row[0, column] = state
        frequency = (table.values[:, column] == state).mean()
        assert np.exp(log_values(graph, row)[0]) == pytest.approx(frequency, abs=1e-6)


def test_strong_shrinkage_gives_the_tree_of_all_rows() -> None:
    table = dependent_table()
    flat = grown(table, how(min_rows=1e9))
    codes = code_table(table)
    far, near = (
        np.abs(grown(table, how(shrinkage=s)).log_probs(codes) - flat.log_probs(codes)) for s in (1e-3, 1e7)
    )
    assert far.mean() > 0.1
    # The split column is no part of the tree below it, so that a split stays a split.
    assert near.mean() < far.mean()


# ---- learning -----------------------------------------------------------------------------------------


def test_splits_find_what_a_tree_cannot() -> None:
    table, test = dependent_table(2000), dependent_table(2000, seed=1)
    split = learned(table, components=1)
    flat = learned(table, components=1, min_rows=10**9)
    assert log_values(split, test.values).mean() > log_values(flat, test.values).mean() + 0.1


@pytest.mark.parametrize("mixture", ["random", "extremely-random", "bagged", "boosted"])
@pytest.mark.parametrize("score", ["information", "bayesian"])
def test_every_mixture_learns(mixture: str, score: str) -> None:
    table, test = dependent_table(500), dependent_table(500, seed=1)
    graph = learned(table, components=3, mixture=mixture, split_score=score)
    flat = learned(table, components=1, min_rows=10**9)
    assert np.exp(log_values(graph, np.array(all_rows(table.schema)))).sum() == pytest.approx(1.0)
    assert log_values(graph, test.values).mean() > log_values(flat, test.values).mean()


def test_missing_cells_are_learned_around() -> None:
    table, test = dependent_table(3000, missing=0.2), dependent_table(2000, seed=1)
    whole = learned(dependent_table(3000), components=1)
    graph = learned(table, components=1)
    assert log_values(graph, test.values).mean() > log_values(whole, test.values).mean() - 0.1


def test_pruning_never_lowers_the_score_of_the_validation_rows() -> None:
    table, valid = dependent_table(300), dependent_table(300, seed=1)
    codes, weights = code_table(valid), valid.row_weights
    network = grown(table, how(min_rows=4.0, shrinkage=0.5, keep_trees=True))
    pruned = prune(network, codes, weights)
    assert pruned.leaves < network.leaves
    assert pruned.log_probs(codes).sum() >= network.log_probs(codes).sum()
    assert prune(pruned, codes, weights).leaves == pruned.leaves


def test_rows_that_agree_with_no_split_prune_everything() -> None:
    rng = np.random.default_rng(0)
    flat = Table(discrete_schema(STATES), rng.integers(0, STATES, (2000, 5)).astype(np.float64))
    network = grown(dependent_table(300), how(keep_trees=True))
    assert prune(network, code_table(flat), flat.row_weights).leaves < network.leaves


@pytest.mark.parametrize("most", [0, 5, 40, 200, 1000])
def test_the_limit_of_edges_is_kept(most: int) -> None:
    for components in (1, 4):
        graph = learned(dependent_table(2000), components=components, max_edges=most, min_rows=2)
        assert graph.edges <= max(most, len(STATES))


@pytest.mark.parametrize("most", range(4, 40, 4))
def test_the_limit_of_edges_is_kept_where_states_were_never_seen(most: int) -> None:
    """Pseudo-counts of states without rows make links that the rows alone would not."""
    values = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1], [0, 1, 0, 1]], dtype=np.float64)
    graph = learned(Table(discrete_schema([4, 2, 3, 3]), values), components=1, max_edges=most)
    assert graph.edges <= most


@pytest.mark.parametrize("weight", [1e-300, 0.25, 1.0, 1e17, 1e300])
def test_bagged_rows_have_the_weight_of_all_rows(weight: float) -> None:
    weights = np.full(50, weight)
    drawn = draw_weights(weights, np.random.default_rng(0))
    assert drawn.sum() == pytest.approx(weights.sum())
    assert (drawn >= 0).all()


def test_the_number_of_jobs_changes_nothing() -> None:
    table, valid = dependent_table(300), dependent_table(100, seed=1)
    alone = learned(table, valid, components=6)
    with parallel_config(n_jobs=2):
        together = learned(table, valid, components=6)
    np.testing.assert_array_equal(alone.child, together.child)
    np.testing.assert_array_equal(alone.log_weight, together.log_weight)


def test_too_many_states_are_refused_by_name() -> None:
    schema = discrete_schema([9000, 2])
    with pytest.raises(ValueError, match=f"column '{schema[0].name}', which has 9000"):
        learned(Table(schema, np.zeros((3, 2))), max_states=9000)


@pytest.mark.filterwarnings("ignore::tractable.data.TableWarning")
def test_too_many_states_are_pooled_by_default() -> None:
    schema = discrete_schema([9000, 2])
    assert learned(Table(schema, np.zeros((3, 2)))).schema == schema


# ---- boosting and EM ----------------------------------------------------------------------------------


@given(tables(missing=False))
def test_boosting_weights_are_divided_by_the_probability(table: Table) -> None:
    rows = count_rows(table)
    logs = np.log(np.random.default_rng(0).random(len(rows.weights)))
    found = boosting_weights(rows.weights, logs)
    expected = rows.weights / np.exp(logs)
    expected = expected * (rows.weights.sum() / (expected.sum() or 1.0))
    np.testing.assert_allclose(found, expected)
    assert found.sum() == pytest.approx(rows.weights.sum())


def test_boosting_weights_bear_any_probability() -> None:
    found = boosting_weights(np.ones(3), np.array([-5000.0, -5000.0, -1.0]))
    np.testing.assert_allclose(found, [1.5, 1.5, 0.0])


@pytest.mark.parametrize("seed", range(5))
def test_the_step_of_boosting_maximises_the_likelihood(seed: int) -> None:
    rng = np.random.default_rng(seed)
    old, new, weights = np.log(rng.random(30)), np.log(rng.random(30)), rng.random(30)
    grid = np.linspace(0, 0.999, 2000)
    value = [weights @ np.log((1 - a) * np.exp(old) + a * np.exp(new)) for a in grid]
    assert best_step(old, new, weights) == pytest.approx(grid[int(np.argmax(value))], abs=1e-3)


def test_each_boosted_network_raises_the_training_likelihood() -> None:
    rows = count_rows(dependent_table(500))
    growth = how(min_rows=300.0, candidates=2)
    members = [Member(growth, seed, False) for seed in np.random.SeedSequence(0).spawn(6)]
    scores = [
        rows.weights @ boost(rows, members[:size], Watch()).log_probs(rows.codes) for size in range(1, 7)
    ]
    assert (np.diff(scores) >= -1e-9).all()
    assert scores[-1] > scores[0] + 1.0


def test_em_without_pseudo_counts_never_lowers_the_likelihood() -> None:
    rows = count_rows(dependent_table(400))
    growth = how(min_rows=100.0, candidates=1, shrinkage=0.0, smoothing=0.0)
    networks = [grow_network(rows, growth, np.random.default_rng(i), Watch()) for i in range(3)]
    mixture, scores = mix_evenly(networks), []
    for step, fitted in enumerate(iterate_em(rows, mixture, 0.0)):
        scores.append(float(rows.weights @ fitted.log_probs(rows.codes)))
        if step == 5:
            break
    before = float(rows.weights @ mixture.log_probs(rows.codes))
    assert scores[0] > before
    assert (np.diff(scores) > -1.0).all()  # the weights of the networks have a pseudo-count each


def test_em_steps_are_a_setting() -> None:
    table, valid = dependent_table(400), dependent_table(400, seed=1)
    plain, fitted = (learned(table, valid, components=4, em_steps=steps) for steps in (0, 3))
    scores = [log_values(graph, valid.values).mean() for graph in (plain, fitted)]
    assert scores[1] >= scores[0] - 1e-12
    plain, fitted = (learned(table, components=4, em_steps=steps) for steps in (0, 2))
    scores = [log_values(graph, table.values).mean() for graph in (plain, fitted)]
    assert scores[1] != scores[0]


def test_a_mixture_of_one_network_is_that_network() -> None:
    network = grown(dependent_table())
    codes = code_table(dependent_table())
    np.testing.assert_array_equal(
        CutsetMixture([network], np.ones(1)).log_probs(codes), network.log_probs(codes)
    )
