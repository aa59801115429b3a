"""Selective trees: what splits and merges keep, and what is counted of them."""

import itertools
import math
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import selective_twin as twin
import strategies  # noqa: F401 - registers the profile of Hypothesis
from hypothesis import example, given, settings
from hypothesis import strategies as st
from selective_twin import view, walk
from small_tables import categorical_table, every_row, is_normalised, mixed_table

import tractable as tr
from tractable.base.arrays import Bools, Floats
from tractable.base.progress import Watch
from tractable.circuit import is_deterministic, is_regular_selective
from tractable.data import Table, collapse, discrete_schema
from tractable.engine import log_values
from tractable.learning.joint.completion import complete
from tractable.learning.joint.selective.learner import SelectiveLearner, freeze
from tractable.learning.joint.selective.merges import Merge, added_likelihood
from tractable.learning.joint.selective.nodes import cost_and_edges, list_nodes
from tractable.learning.joint.selective.rows import (
    CodedRows,
    coded_rows,
    conditioning_gains,
    count_conditions,
    list_cells,
)
from tractable.learning.joint.selective.search import Candidates, Climb, Limits, finish_climb
from tractable.learning.joint.selective.smoothing import Smoothing, all_ways
from tractable.learning.joint.selective.splits import Split, TieRule
from tractable.learning.joint.selective.tree import SelectiveTree
from tractable.learning.statistics.held_out import hold_out


@st.composite
def trees(draw: st.DrawFn) -> SelectiveTree:
    """The product of marginals over random rows; few, repeated, weighted, or none at all."""
    states = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    rows = draw(st.sampled_from([0, 1, 3, 40]))
    values = np.column_stack([rng.integers(0, k, rows) for k in states]).reshape(rows, len(states))
    weights = draw(st.sampled_from([None, 0.25, 1e6]))
    held_out = np.column_stack([rng.integers(0, k, 7) for k in states])
    scale = None if weights is None else weights * rng.random(rows)
    return twin.make_tree(states, values, scale, held_out)


def assert_is_known(tree: SelectiveTree) -> None:
    """Everything that is kept of the tree equals what is counted afresh."""
    (rows, valid), root, smoothing = twin.rows_of(tree), view(tree), tree.smoothing
    scale = max(1.0, float(rows.weights.sum()))
    assert twin.is_reduced(root)
    assert tree.nodes["log_likelihood"][tree.root] == pytest.approx(
        twin.log_likelihood(root, rows), abs=1e-9 * scale
    )
    assert_arrays_are_known(tree, root)
    for way in range(smoothing.ways):
        graph = freeze(tree, rows, way)
        assert is_normalised(graph)
        assert is_regular_selective(graph)
        held_out = log_values(graph, valid.codes.T.astype(np.float64)) @ valid.weights
        assert tree.held_out[way] == pytest.approx(held_out)


def assert_arrays_are_known(tree: SelectiveTree, root: twin.Node) -> None:
    """Each line belongs to one sum; links, sizes, rows and corrections are those of the nodes one by one."""
    nodes, lines, everything = tree.nodes, tree._lines, list(walk([root]))
    free = np.concatenate([[], *lines._free]).astype(int).tolist()
    used = [int(nodes["line"][node.number]) for node in everything]
    assert sorted([*free, *(line for line in used if line)]) == list(range(1, lines.used))
    assert not tree.arrays.gain[0].any()
    assert list_nodes(tree.arrays, tree.root).tolist() == [node.number for node in everything]
    reached = twin.rows_that_reach(tree, root)
    for node in everything:
        line = nodes[node.number]
        assert line["parent"] == (node.parent.number if node.parent else -1)
        assert line["nodes"] == len(list(walk([node])))
        assert cost_and_edges(int(line["size"])) == twin.cost_and_edges(node)
        assert set(tree.rows_of(node.number).tolist()) == reached[node.number]
        tree.know_correction(node.number)
        if node.kind == "decision":
            assert_corrections_are_known(tree, node)


def assert_corrections_are_known(tree: SelectiveTree, node: twin.Node) -> None:
    found = tree.arrays.correction[tree.nodes["total"][node.number]]
    for condition, (column, state) in enumerate(zip(*tree.conditions[:2], strict=True)):
        if state in (states := twin.states_below(node, column)) and len(states) > 1:
            assert found[condition] == twin.correction(node, column, state, int(tree.states[column]))


@settings(max_examples=25)
@given(trees(), st.data())
def test_any_splits_and_merges_keep_the_tree_regular_selective_and_its_counts_right(
    tree: SelectiveTree, data: st.DataObject
) -> None:
    for _ in range(data.draw(st.integers(0, 6))):
        possible = list(twin.moves(tree))
        if not possible:
            break
        twin.make_move(tree, possible[data.draw(st.integers(0, len(possible) - 1))])
    assert_is_known(tree)


def known(tree: SelectiveTree) -> tuple[float, tuple[int, int]]:
    """The log-likelihood, and the inference cost and edges, as the tree knows them."""
    size, log_likelihood = tree.nodes[["size", "log_likelihood"]][tree.root].item()
    return log_likelihood, cost_and_edges(size)


@settings(max_examples=20)
@given(trees(), st.sampled_from([5.0, 0.3, 1e-3]), st.integers(0, 12))
def test_each_step_of_the_search_gains_what_was_foretold(
    tree: SelectiveTree, penalty: float, steps: int
) -> None:
    candidates = Candidates(tree, penalty, 10**6)
    scale = max(1.0, float(tree.training_weight))
    for _ in range(steps):
        found = candidates.best()
        if found is None:
            break
        before, edges = known(tree)
        candidates.make(found)
        more = [new - old for new, old in zip(known(tree)[1], edges, strict=True)]
        gain = known(tree)[0] - before - penalty * more[0]
        assert found.score == pytest.approx(gain, abs=1e-8 * scale)
        assert found.edges == more[1]
        waiting = {place.node for place in candidates._waiting.values()}
        assert waiting == set(candidates._places) <= {node.number for node in walk([view(tree)])}
    assert_is_known(tree)
    fresh = twin.gains(Candidates(tree, penalty, 10**6))
    assert twin.gains(candidates) == pytest.approx(fresh, abs=1e-8 * scale)


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 10**6), max_size=5), st.sampled_from([0.01, 0.5, 3.0]))
def test_no_change_gains_more_than_the_best_candidate(seed: int, turns: list[int], penalty: float) -> None:
    states = [2, 3, 2, 2]
    values = np.random.default_rng(seed).integers(0, 2, (25, 4)) * [1, 2, 1, 1]

    def replay(*last: int) -> SelectiveTree:
        tree = twin.make_tree(states, values)
        for turn in (*turns, *last):
            possible = list(twin.moves(tree))
            twin.make_move(tree, possible[turn % len(possible)])
        return tree

    def score(tree: SelectiveTree) -> float:
        root = view(tree)
        cost = twin.cost_and_edges(root)[0]
        return twin.log_likelihood(root, twin.rows_of(tree)[0]) - penalty * cost

    tree = replay()
    first_column = TieRule(-np.arange(tree.conditions.column.size, dtype=np.float64), 0.0)
    most = max(score(replay(last)) for last in range(len(list(twin.moves(tree))))) - score(tree)
    for ties in (None, first_column):
        found = Candidates(tree, penalty, 10**6, ties).best()
        assert (found.score if found else 0.0) == pytest.approx(max(most, 0.0), abs=1e-6)


def test_a_column_without_a_choice_never_ties_with_the_best_split() -> None:
    rng = np.random.default_rng(0)
    pair = rng.integers(0, 2, 50)
    tree = twin.make_tree([2, 2, 2, 2], np.column_stack([np.zeros(50), pair, pair, rng.integers(0, 2, 50)]))
    found = Candidates(tree, 0.1, 10**6, TieRule(-np.arange(4.0), 0.0)).best()
    assert isinstance(found, Split)
    assert set(tree.nodes["column"][[found.first, found.second]]) == {1, 2}


def test_candidates_of_random_changes_equal_those_scored_afresh() -> None:
    rng = np.random.default_rng(5)
    values = np.column_stack([rng.integers(0, k, 60) for k in (3, 2, 4, 2)])
    tree = twin.make_tree([3, 2, 4, 2], values)
    candidates = Candidates(tree, 0.01, 10**6)
    for _ in range(60):
        possible = list(twin.moves(tree))
        move = possible[int(rng.integers(len(possible)))]
        change: Split | Merge = Split(*move, 0.0, 0) if len(move) == 5 else Merge(*move, 0.0, 0)  # type: ignore[call-arg]
        candidates.make(change)
        assert twin.gains(candidates) == pytest.approx(twin.gains(Candidates(tree, 0.01, 10**6)), abs=1e-7)
    assert any(node.kind == "decision" for node in walk([view(tree)]))


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([0.01, 0.1, 0.3]), st.integers(0, 60))
@example(123, 0.3, 20)  # a merge makes room for a split
@example(193, 0.3, 20)
def test_changes_that_need_too_many_edges_are_found_again_when_edges_are_free(
    seed: int, penalty: float, more: int
) -> None:
    rng = np.random.default_rng(seed)
    states = [int(rng.integers(2, 5)) for _ in range(int(rng.integers(3, 6)))]
    hidden = rng.integers(0, 4, 60)
    values = np.column_stack(
        [np.where(rng.random(60) < 0.7, hidden % k, rng.integers(0, k, 60)) for k in states]
    )
    tree = twin.make_tree(states, values)
    most = known(tree)[1][1] + more
    candidates = Candidates(tree, penalty, most)
    while (found := candidates.best()) is not None:
        fresh = Candidates(tree, penalty, most).best()
        assert fresh is not None
        assert found.score == pytest.approx(fresh.score, abs=1e-7)
        candidates.make(found)
        assert known(tree)[1][1] <= most
    assert Candidates(tree, penalty, most).best() is None


def test_nodes_whose_better_change_needed_edges_wait_again_in_their_order() -> None:
    """The order decides between equal gains, and must not be that of addresses in memory."""
    rng = np.random.default_rng(0)
    tree = twin.make_tree([2] * 9, rng.integers(0, 2, (60, 9)))
    candidates = Candidates(tree, 0.01, 80)
    while (found := candidates.best()) is not None:
        candidates.make(found)
    nodes = sorted(candidates._needed, key=candidates._places.__getitem__)
    assert len(nodes) > 3
    candidates._needed = {node: candidates._needed[node] for node in reversed(nodes)}
    candidates._max_edges = 200
    candidates.best()
    assert sorted(nodes, key=candidates._places.__getitem__) == nodes


@pytest.mark.parametrize(("states", "is_symmetric"), [([1, 2, 2], False), ([3, 2], False), ([2, 2, 2], True)])
def test_every_small_tree_can_be_reached_from_every_other(states: list[int], is_symmetric: bool) -> None:
    """Theorem 1 of Peharz, Gens and Domingos, by searching the space of trees in both directions.

    Three columns of two states have 5,572 trees. Of those that differ only in the numbers of columns and
    states, one is looked at: a way from it to the product of marginals is a way from each of them, since that
    product is the same in all numberings.
    """
    everything = twin.all_forms({c: tuple(range(k)) for c, k in enumerate(states)})
    chosen = twin.classes(everything, states) if is_symmetric else {form: form for form in everything}
    start = twin.form_of(view(twin.make_tree(states, np.zeros((0, len(states))))))
    after: dict[twin.Form, set[twin.Form]] = {form: set() for form in chosen.values()}
    before: dict[twin.Form, set[twin.Form]] = {form: set() for form in chosen.values()}
    assert set(chosen) == everything
    for form, next_forms in after.items():
        for number in range(len(list(twin.moves(twin.tree_of(form, states))))):
            tree = twin.tree_of(form, states)
            twin.make_move(tree, next(islice(twin.moves(tree), number, None)))
            found = chosen[twin.form_of(view(tree))]
            next_forms.add(found)
            before[found].add(form)
    assert reachable(start, after) == reachable(start, before) == set(after)


def reachable(start: twin.Form, steps: dict[twin.Form, set[twin.Form]]) -> set[twin.Form]:
    found, waiting = {start}, [start]
    while waiting:
        new = steps[waiting.pop()] - found
        found |= new
        waiting.extend(new)
    return found


def test_the_tree_of_a_single_column_is_its_marginal() -> None:
    tree = twin.make_tree([3], [[0], [2], [2]])
    tree.undo()
    graph = freeze(tree, twin.rows_of(tree)[0], 0)
    weights = np.array([1.5, 0.5, 2.5]) / 4.5
    np.testing.assert_allclose(np.exp(log_values(graph, np.arange(3.0)[:, None])), weights)


def test_an_undone_change_leaves_the_tree_of_the_last_commit() -> None:
    rng = np.random.default_rng(1)
    tree = twin.make_tree([2, 3, 2], rng.integers(0, 2, (30, 3)))
    for step in range(12):
        if step == 5:
            tree.commit()
            kept = twin.form_of(view(tree))
        possible = list(twin.moves(tree))
        twin.make_move(tree, possible[int(rng.integers(len(possible)))])
    assert twin.form_of(view(tree)) != kept
    tree.undo()
    assert twin.form_of(view(tree)) == kept


@settings(max_examples=10)
@given(trees(), st.lists(st.integers(0, 10**6), min_size=8, max_size=20))
def test_an_undone_tree_is_the_former_one_though_numbers_and_ranges_were_used_again(
    tree: SelectiveTree, turns: list[int]
) -> None:
    def change(turns: list[int]) -> None:
        for turn in turns:
            if possible := list(twin.moves(tree)):
                twin.make_move(tree, possible[turn % len(possible)])

    change(turns[:6])
    tree.commit()
    kept = twin.form_of(view(tree))
    rows = twin.rows_of(tree)[0]
    graph = freeze(tree, rows, 0)
    change(turns[6:])
    for ranges in (tree._edges, tree._states, tree._rows):
        ranges._close_up()
    tree.undo()
    again = freeze(tree, rows, 0)
    assert twin.form_of(view(tree)) == kept
    np.testing.assert_array_equal(again.log_weight, graph.log_weight)
    np.testing.assert_array_equal(again.child, graph.child)


@settings(max_examples=20)
@given(trees(), st.sampled_from([1, 5, 40]), st.data())
def test_what_more_rows_add_is_what_all_rows_have_without_those_that_were_there(
    tree: SelectiveTree, many: int, data: st.DataObject
) -> None:
    for _ in range(data.draw(st.integers(0, 4))):
        possible = list(twin.moves(tree))
        if possible:
            twin.make_move(tree, possible[data.draw(st.integers(0, len(possible) - 1))])
    rows, root = twin.rows_of(tree)[0], view(tree)
    chosen = np.arange(rows.weights.size, dtype=np.int32)[:many]
    weights = rows.weights.copy()
    weights[chosen] *= 2
    before, after = (twin.log_likelihood(root, replace(rows, weights=w)) for w in (rows.weights, weights))
    found = added_likelihood(tree.arrays, tree.root, rows.weights.sum(), chosen)
    assert found == pytest.approx(after - before, abs=1e-9 * max(1.0, float(weights.sum())))


def test_changes_that_are_not_defined_are_refused() -> None:
    tree = twin.make_tree([3, 2, 2], np.zeros((4, 3)))
    first, second, third = tree.children(tree.root)
    with pytest.raises(ValueError, match="does not divide"):
        tree.split(tree.root, first, second, 2, 0)
    change = tree.split(tree.root, first, second, 0, 0)
    tree.split(tree.root, third, change.new, 2, 0)
    inner = [n for n in walk([view(tree)]) if n.kind == "decision" and n.column == 0]
    assert len(inner) == 2


def test_what_is_drawn_for_missing_cells_of_a_row_is_held_out_with_the_row() -> None:
    rng = np.random.default_rng(1)
    values = np.column_stack([np.arange(60), rng.integers(0, 2, (60, 4))]).astype(np.float64)
    values[:, 1:][rng.random((60, 4)) < 0.3] = np.nan  # no cell of the first column, which tells rows apart
    rows = SelectiveLearner()._prepare(Table(discrete_schema([60, 2, 2, 2, 2]), values), None, rng)
    training, valid = set(rows.training.codes[0].tolist()), set(rows.valid.codes[0].tolist())
    assert training
    assert valid
    assert training.isdisjoint(valid)
    assert rows.every.weights.sum() == pytest.approx(60)


# ---- counting -------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.sampled_from([1, 2, 5]), st.booleans())
def test_what_conditioning_gains_is_the_difference_of_log_likelihoods(
    seed: int, rows: int, weighted: bool
) -> None:
    rng = np.random.default_rng(seed)
    states = [3, 2, 1, 4]
    values = np.column_stack([rng.integers(0, k, rows) for k in states]).astype(np.float64)
    table = Table(discrete_schema(states), values, rng.random(rows) if weighted else None)
    coded = coded_rows(table)
    cells = list_cells(coded, coded)
    conditions = cells.conditions
    everything = np.arange(coded.weights.size, dtype=np.int32)
    for column in range(4):
        many, edges = conditions.column.size, np.arange(states[column], dtype=np.int32)
        counts, gain = np.zeros((many + 2, states[column])), np.zeros(many)
        count_conditions(cells, everything, column, edges, counts)
        conditioning_gains(counts, gain)
        for condition, (other, state) in enumerate(zip(conditions.column, conditions.state, strict=True)):
            has = coded.codes[other] == state
            parts = [_log_likelihood(coded, column, some) for some in (has, ~has)]
            whole = _log_likelihood(coded, column, np.ones(has.size, dtype=np.bool_))
            assert gain[condition] == pytest.approx(sum(parts) - whole, abs=1e-9)


def _log_likelihood(rows: CodedRows, column: int, some: Bools) -> float:
    counts = np.bincount(rows.codes[column][some], rows.weights[some])
    return sum(n * math.log(n / counts.sum()) for n in counts.tolist() if n > 0)


def test_a_column_of_two_states_divides_rows_in_one_way() -> None:
    rows = coded_rows(Table(discrete_schema([1, 2, 3]), np.array([[0.0, 1.0, 2.0]])))
    conditions = list_cells(rows, rows).conditions
    assert conditions.column.tolist() == [1, 2, 2, 2]
    assert conditions.state.tolist() == [0, 0, 1, 2]


def test_sums_are_shrunk_towards_the_sum_they_were_copied_from() -> None:
    smoothing = Smoothing(np.array([0.0]), np.array([4.0]))
    parts = [np.array([0]), np.array([1])]
    prior = smoothing.prior_mean(np.arange(2), np.array([[0.75, 0.25]]), 2)
    assert smoothing.weights(np.array([0.0, 1.0]), prior, parts)[0] == pytest.approx([0.6, 0.4])
    assert all_ways([1, 2], [0, 5, 7]).ways == 6


# ---- the learner ----------------------------------------------------------------------------------------


def test_a_circuit_that_is_learned_is_regular_selective_and_answers_exactly() -> None:
    table = categorical_table()
    circuit = tr.SelectiveSPN(random_state=0).fit(table).circuit_
    graph = circuit.graph
    assert is_regular_selective(graph)
    p = np.exp(log_values(graph, every_row(graph.schema)))
    entropy = circuit.entropy()
    assert entropy.exact
    assert float(entropy) == pytest.approx(-(p * np.log(p)).sum())
    best = circuit.mpe()
    assert best.exact
    assert best.log_prob == pytest.approx(np.log(p.max()))
    assert circuit.mutual_information(["x0"], ["x3"]).exact


def test_the_entropy_and_divergence_of_a_wide_circuit_are_exact() -> None:
    rng = np.random.default_rng(0)
    base = rng.integers(0, 2, (400, 1))
    values = np.where(rng.random((400, 24)) < 0.85, base, rng.integers(0, 2, (400, 24))).astype(np.float64)
    table = Table(discrete_schema([2] * 24), values)
    circuit = tr.SelectiveSPN(random_state=0).fit(table).circuit_
    entropy = circuit.entropy()
    assert entropy.exact
    estimate = circuit.entropy(method="sample")
    assert abs(float(entropy) - float(estimate)) < 5 * estimate.std_error
    fitted = tr.fit_parameters(circuit, table, method="closed-form", smoothing=0.0)
    assert fitted.divergence(circuit).exact
    assert fitted.score(table) >= circuit.score(table)


def test_weights_without_smoothing_are_those_of_the_closed_form() -> None:
    table = categorical_table()
    graph = SelectiveLearner(smoothing=0.0, shrinkage=0.0).learn(table, np.random.default_rng(0), valid=table)
    circuit = tr.fit_parameters(tr.Circuit(graph), table, method="closed-form", smoothing=0.0)
    np.testing.assert_allclose(log_values(graph, table.values), circuit.log_prob(table), atol=1e-6)


@pytest.mark.parametrize("most", [0, 12, 40])
def test_no_circuit_has_more_edges_than_are_allowed(most: int) -> None:
    table = mixed_table().select([1, 3])
    table = Table(table.schema, np.tile(table.values, (3, 1)))
    graph = SelectiveLearner(max_edges=most).learn(table, np.random.default_rng(0))
    flat = SelectiveLearner(max_edges=0).learn(table, np.random.default_rng(0))
    assert graph.edges <= max(most, flat.edges)


def test_a_tree_of_each_penalty_is_searched_and_the_best_one_kept() -> None:
    table, valid = categorical_table(400), categorical_table(100, seed=5)
    scores = []
    for penalties in ((100.0,), (1.0,), (100.0, 1.0)):
        learner = SelectiveLearner(tuning="grid", penalties=penalties)
        scores.append(
            log_values(learner.learn(table, np.random.default_rng(0), valid=valid), valid.values).mean()
        )
    assert scores[2] == pytest.approx(max(scores[:2]))
    assert scores[0] < scores[1]


def test_the_search_ends_when_the_loss_is_above_what_is_left_of_five_percent() -> None:
    tree = twin.make_tree([2, 2], [[0, 1], [1, 0]], valid=[[0, 1]])
    climb = Climb(tree, 100.0, Limits(100, 10), Watch())
    climb.best.score = -1.0
    tree.held_out[:] = -1.03
    for since, stops in ((10, False), (11, False), (83, False), (84, True)):  # five percent halve after 100
        climb._since = since
        assert climb._should_give_up() is stops


def test_early_stopping_ends_one_penalty_and_the_search_if_that_one_brought_no_better_tree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table, valid = noisy_tables()
    smoothing = SelectiveLearner()._smoothing(is_validated=True)
    tree = SelectiveTree(coded_rows(table), coded_rows(valid), smoothing)
    climb = Climb(tree, 100.0, Limits(1000, 0), Watch())
    monkeypatch.setattr(Climb, "_should_give_up", lambda self: True)
    gained: list[bool] = []
    while False not in gained:
        score, changes = climb.best.score, climb.changes
        goes_on = climb.run()
        if climb.changes > changes:
            gained.append(climb.best.score > score)
            assert goes_on is gained[-1]
        assert climb.lower_penalty()
    assert gained[:2] == [True, True]


def test_the_score_of_the_best_tree_is_that_of_its_circuit() -> None:
    table, valid = categorical_table(400), categorical_table(200, seed=8)
    smoothing = SelectiveLearner()._smoothing(is_validated=True)
    tree = SelectiveTree(coded_rows(table), coded_rows(valid), smoothing)
    found = finish_climb(Climb(tree, 100.0, Limits(1000, 100), Watch()), falls=True)
    graph = freeze(tree, coded_rows(table), found.way)
    assert found.score == pytest.approx(log_values(graph, valid.values).sum())


def test_incomplete_rows_become_several_that_weigh_the_same_together() -> None:
    table = mixed_table().select([1, 3])
    filled, _ = complete(table, None, np.random.default_rng(0))
    known = ~table.missing.all(axis=1)
    assert not filled.missing.any()
    assert filled.total_weight == pytest.approx(known.sum())
    for column in range(2):  # what is known stays as often as it was, at least
        for state in range(2):
            seen = (table.values[:, column] == state).sum()
            assert filled.row_weights[filled.values[:, column] == state].sum() >= seen


@pytest.mark.parametrize("weights", [np.full(50, 3.0), np.full(50, 0.6), np.full(50, 1e17)])
def test_held_out_rows_and_the_others_are_all_rows(weights: Floats) -> None:
    table = collapse(Table(discrete_schema([64]), np.arange(50.0)[:, None], weights))[0]
    rest, held = hold_out(table, np.random.default_rng(0))
    assert held is not None
    np.testing.assert_allclose(rest.row_weights + held.row_weights, weights)
    assert 0.1 < held.total_weight / weights.sum() < 0.35


def test_columns_of_many_states_are_divided_into_parts() -> None:
    """Two groups of states with different partners are told apart by merges of single states."""
    rng = np.random.default_rng(3)
    group = rng.integers(0, 2, 3000)
    first = np.where(group == 1, rng.integers(0, 3, 3000), rng.integers(3, 6, 3000))
    values = np.column_stack([first, group, group]).astype(np.float64)
    graph = SelectiveLearner().learn(Table(discrete_schema([6, 2, 2]), values), np.random.default_rng(0))
    rows = np.array(list(itertools.product([np.nan], [0, 1], [0, 1])), dtype=np.float64)
    assert np.exp(log_values(graph, rows)).round(2).tolist() == pytest.approx([0.5, 0, 0, 0.5], abs=0.03)
    assert is_deterministic(graph)


def noisy_tables() -> tuple[Table, Table]:
    """Training and validation rows of six columns that often equal a hidden one."""
    rng = np.random.default_rng(4)
    base = rng.integers(0, 2, (300, 1))
    values = np.where(rng.random((300, 6)) < 0.7, base, rng.integers(0, 2, (300, 6))).astype(np.float64)
    schema = discrete_schema([2] * 6)
    return Table(schema, values[:200]), Table(schema, values[200:])


def test_more_searches_never_score_worse_on_the_validation_rows() -> None:
    table, valid = noisy_tables()
    scores = []
    for starts in (1, 2, 4):
        graph = SelectiveLearner(starts=starts).learn(table, np.random.default_rng(0), valid=valid)
        scores.append(log_values(graph, valid.values).mean())
    assert scores == sorted(scores)
