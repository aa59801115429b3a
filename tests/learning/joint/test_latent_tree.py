"""Latent trees against the claims of their paper."""

from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tractable.base.arrays import Floats
from tractable.base.progress import Progress, Watch
from tractable.circuit import Graph, is_decomposable, is_smooth, parameter_count
from tractable.data import Schema, Table, Variable, discrete_schema
from tractable.engine import log_values
from tractable.learning.joint.chow_liu import ChowLiuLearner
from tractable.learning.joint.latent_tree.distances import Pairs, information_distances, pair_counts
from tractable.learning.joint.latent_tree.learner import LatentTreeLearner, tree_circuit
from tractable.learning.joint.latent_tree.start import initial_tables, root_tree
from tractable.learning.joint.latent_tree.structure import (
    Method,
    StructureSearch,
    latent_tree,
    neighbour_joining,
    recursive_grouping,
)
from tractable.learning.joint.latent_tree.tree import Tree, merge_close_nodes, paths, root_at_centre, tree_of
from tractable.learning.parameters import fit
from tractable.learning.parameters.cccp import CCCP
from tractable.learning.statistics.encoding import encode

METHODS = get_args(Method)
every_method = pytest.mark.parametrize("method", METHODS)


def random_tree(seed: int, longest: float = 1.0) -> Tree:
    """Up to eight inner nodes, some of them columns; every hidden one has at least three neighbours."""
    rng = np.random.default_rng(seed)
    inner = int(rng.integers(1, 9))
    links = [(node, int(rng.integers(node))) for node in range(1, inner)]
    degree = np.bincount(np.array(links, dtype=np.int64).ravel(), minlength=inner)
    shown = (rng.random(inner) < 0.3) & (degree > 0)
    wanted = np.where(shown, 0, np.maximum(0, 3 - degree)) + rng.integers(0, 2, inner)
    leaves = np.repeat(np.arange(inner), wanted)
    links += [(int(above), inner + i) for i, above in enumerate(leaves)]
    column = np.concatenate([shown, np.ones(leaves.size, dtype=bool)])
    name = np.empty(column.size, dtype=np.int64)
    name[column] = rng.permutation(int(column.sum()))
    name[~column] = np.arange(column.sum(), column.size)
    named = [(int(name[a]), int(name[b])) for a, b in links]
    return tree_of(int(column.sum()), column.size, named, rng.uniform(0.2, longest, len(links)).tolist())


def own_distances(tree: Tree) -> Floats:
    """Those between the columns of a tree."""
    return paths(tree)[0][: tree.columns, : tree.columns]


def splits(tree: Tree) -> set[frozenset[int]]:
    """The columns on the side of column 0 of each link: they tell one tree from another."""
    answer = set()
    for link in range(len(tree.links)):
        kept = np.arange(len(tree.links)) != link
        cut = Tree(tree.columns, tree.nodes, tree.links[kept], tree.lengths[kept])
        answer.add(frozenset(np.flatnonzero(np.isfinite(paths(cut)[0][0, : tree.columns])).tolist()))
    return answer


def is_same(one: Tree, other: Tree) -> bool:
    return one.nodes == other.nodes and splits(one) == splits(other)


def transitions(tree: Tree, states: int, seed: int, keep: float) -> tuple[list[int], list[int], list[Floats]]:
    """The nodes, parents first, their parents, and for each a random table that mostly keeps the state."""
    rng = np.random.default_rng(seed)
    parent, order = root_at_centre(tree)
    tables = [
        keep * np.eye(states) + (1 - keep) * rng.dirichlet(np.full(states, 5.0), size=states)
        for _ in range(tree.nodes)
    ]
    return order.tolist(), parent.tolist(), tables


def exact_distances(tree: Tree, states: int, seed: int, keep: float = 0.7) -> Floats:
    """The distances of all nodes, hidden ones too, from their joint probabilities taken as counts."""
    order, parent, tables = transitions(tree, states, seed, keep)
    joint = np.zeros((tree.nodes, tree.nodes, states, states))
    for place, node in enumerate(order):
        own = np.full(states, 1 / states)
        if parent[node] >= 0:
            own = np.diag(joint[parent[node], parent[node]]) @ tables[node]
        joint[node, node] = np.diag(own)
        for other in order[:place]:
            joint[other, node] = joint[other, parent[node]] @ tables[node]
            joint[node, other] = joint[other, node].T
    counts = 1e24 * joint.transpose(0, 2, 1, 3).reshape(tree.nodes * states, -1)
    pairs = Pairs(np.full(tree.nodes, states), np.arange(tree.nodes) * states, counts)
    return information_distances(pairs, states)


def drawn_table(tree: Tree, rows: int, states: int = 2, seed: int = 0, keep: float = 0.8) -> Table:
    """Rows of the columns of a tree in which each node mostly has the state of the one above it."""
    order, parent, tables = transitions(tree, states, seed, keep)
    rng = np.random.default_rng(seed)
    value = np.zeros((tree.nodes, rows), dtype=np.int64)
    for node in order:
        own = tables[node][value[parent[node]]] if parent[node] >= 0 else np.full((rows, states), 1 / states)
        value[node] = (rng.random((rows, 1)) > own.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return Table(discrete_schema([states] * tree.columns), value[: tree.columns].T.astype(np.float64))


@pytest.mark.parametrize("states", [2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_exact_distances_add_up_along_the_paths_of_a_tree(states: int, seed: int) -> None:
    tree = random_tree(seed)
    distance = exact_distances(tree, states, seed)
    lengths = distance[tree.links[:, 0], tree.links[:, 1]]
    along, _ = paths(Tree(tree.columns, tree.nodes, tree.links, lengths))
    np.testing.assert_allclose(distance, along, rtol=1e-6, atol=1e-6)


def test_distances_of_wider_columns_add_up_over_hidden_nodes_of_the_rank() -> None:
    rng = np.random.default_rng(0)
    tables = [rng.dirichlet(np.ones(k), size=2) for k in (3, 4, 5)]  # given one of two hidden states
    hidden = np.diag([0.4, 0.6])
    joint = np.block([[a.T @ hidden @ b for b in [np.eye(2), *tables]] for a in [np.eye(2), *tables]])
    joint[:2, :2] = hidden
    states = np.array([2, 3, 4, 5])
    distance = information_distances(Pairs(states, np.cumsum(states) - states, 1e24 * joint), 2)
    for one, other in [(1, 2), (1, 3), (2, 3)]:
        assert distance[one, other] == pytest.approx(distance[0, one] + distance[0, other])


def test_the_distance_of_two_binary_columns_is_less_the_log_of_their_correlation() -> None:
    table = drawn_table(random_tree(3), 5000)
    distance = information_distances(pair_counts(encode(table)), 2)
    correlation = np.abs(np.corrcoef(table.values.T))
    near = np.isfinite(distance)
    np.testing.assert_allclose(distance[near], -np.log(correlation[near]), atol=1e-7)
    assert correlation[~near].max(initial=0.0) <= 2 / np.sqrt(5000)


def test_the_distance_of_columns_with_three_states_is_that_of_determinants() -> None:
    table = drawn_table(random_tree(3), 5000, states=3)
    pairs = pair_counts(encode(table))
    joint = pairs.table(0, 1) / 5000
    own, other = joint.sum(axis=1), joint.sum(axis=0)
    expected = -np.log(abs(np.linalg.det(joint)) / np.sqrt(own.prod() * other.prod()))
    assert information_distances(pairs, 3)[0, 1] == pytest.approx(expected)


def test_pair_counts_leave_out_missing_cells() -> None:
    nan = np.nan
    rows = np.array([[0, 2], [1, 0], [1, nan], [nan, 2], [1, 2]])
    pairs = pair_counts(encode(Table(discrete_schema([2, 3]), rows, np.array([1.0, 2.0, 3.0, 4.0, 5.0]))))
    np.testing.assert_allclose(pairs.table(0, 1), [[0, 0, 1], [2, 0, 5]])
    np.testing.assert_allclose(pairs.table(0, 0), [[1, 0], [0, 10]])


def test_independent_and_constant_columns_are_infinitely_far() -> None:
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.integers(0, 2, 400), np.zeros(400), np.zeros(400)]).astype(np.float64)
    distance = information_distances(pair_counts(encode(Table(discrete_schema([2, 2, 1]), values))), 2)
    assert np.isinf(distance[~np.eye(3, dtype=bool)]).all()


@every_method
@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_the_tree_is_recovered_from_its_own_distances(method: Method, seed: int) -> None:
    tree = random_tree(seed)
    found = latent_tree(
        own_distances(tree), StructureSearch(method=method, relaxation=1e-6, merge_distance=1e-6)
    )
    assert is_same(found, tree)
    np.testing.assert_allclose(own_distances(found), own_distances(tree), atol=1e-6)


@every_method
def test_separate_trees_are_recovered_side_by_side(method: Method) -> None:
    tree = random_tree(5)
    distance = np.full((2 * tree.columns, 2 * tree.columns), np.inf)
    for part in (slice(0, tree.columns), slice(tree.columns, None)):
        distance[part, part] = own_distances(tree)
    found = latent_tree(distance, StructureSearch(method=method, relaxation=1e-6, merge_distance=1e-6))
    assert found.nodes == 2 * tree.nodes
    np.testing.assert_allclose(own_distances(found), distance, atol=1e-6)


@every_method
@pytest.mark.parametrize("seed", [1, 3, 4])
def test_the_tree_is_recovered_from_rows(method: Method, seed: int) -> None:
    tree = random_tree(seed)
    table = drawn_table(tree, 20_000, seed=seed)
    distance = information_distances(pair_counts(encode(table)), 2)
    assert is_same(
        latent_tree(distance, StructureSearch(method=method, relaxation=0.1, merge_distance=0.1)), tree
    )


def test_contraction_keeps_links_between_columns() -> None:
    tree = tree_of(3, 4, [(0, 3), (1, 3), (2, 3)], [0.0, 0.0, 1.0])
    found = merge_close_nodes(tree, 0.5)
    assert found.hidden == 0
    assert {frozenset(link) for link in found.links.tolist()} == {frozenset((0, 1)), frozenset((0, 2))}


@pytest.mark.parametrize("columns", [0, 1, 2])
def test_two_columns_or_fewer_need_no_hidden_node(columns: int) -> None:
    distance = 0.5 * (1 - np.eye(columns))
    for method in METHODS:
        found = latent_tree(distance, StructureSearch(method=method))
        assert (found.nodes, len(found.links)) == (columns, max(0, columns - 1))


def test_a_noisy_star_of_500_columns_gets_one_hidden_node() -> None:
    rng = np.random.default_rng(0)
    away, noise = rng.uniform(0.2, 1.0, 500), rng.normal(0, 0.02, (500, 500))
    distance = np.maximum(away[:, None] + away + noise + noise.T, 0.0)
    np.fill_diagonal(distance, 0.0)
    assert recursive_grouping(distance, np.inf, 0.1, Watch()).hidden == 1
    assert merge_close_nodes(neighbour_joining(distance, Watch()), 0.1).hidden == 1


@every_method
@pytest.mark.parametrize("states", [1, 2, 3])
def test_the_circuit_is_a_distribution(method: Method, states: int) -> None:
    table = drawn_table(random_tree(4), 300)
    learner = LatentTreeLearner(method=method, states=(states,), steps=3)
    graph = learner.learn(table, np.random.default_rng(0))
    assert is_smooth(graph)
    assert is_decomposable(graph)
    every = np.stack(np.unravel_index(np.arange(2 ** len(table.schema)), [2] * len(table.schema)), axis=1)
    assert np.exp(log_values(graph, every.astype(np.float64))).sum() == pytest.approx(1.0)


def start(table: Table, states: int | None = None) -> Graph:
    """The circuit that EM begins with."""
    encoding = encode(table)
    pairs = pair_counts(encoding)
    down = root_tree(latent_tree(information_distances(pairs, 2), StructureSearch()), table.schema, states)
    return tree_circuit(down, initial_tables(down, encoding, pairs, 0.1, np.random.default_rng(0)))


@pytest.mark.parametrize("states", [None, 4])
def test_em_never_falls(states: int | None) -> None:
    table = drawn_table(random_tree(4), 1000)
    how = CCCP(iterations=30, tolerance=0.0, smoothing=0.0, leaf_smoothing=0.0)
    scores = fit(start(table, states), table, how, np.random.default_rng(0)).train
    assert (np.diff(scores) > -1e-9).all()
    assert scores[-1] > scores[0]


def test_one_hidden_state_makes_the_columns_of_a_star_independent() -> None:
    table = drawn_table(tree_of(4, 5, [(i, 4) for i in range(4)], [0.5] * 4), 2000, keep=0.6)
    learner = LatentTreeLearner(states=(1,), smoothing=0.0, method="nj", merge_distance=0.2)
    graph = learner.learn(table, np.random.default_rng(0))
    share = table.values.mean(axis=0)
    expected = np.log(np.where(table.values == 1, share, 1 - share)).sum(axis=1)
    np.testing.assert_allclose(log_values(graph, table.values), expected, rtol=1e-4)


def test_hidden_nodes_explain_a_star_better_than_a_tree_of_columns_does() -> None:
    star = tree_of(8, 9, [(i, 8) for i in range(8)], [0.5] * 8)
    table, fresh = drawn_table(star, 3000, keep=0.6), drawn_table(star, 3000, keep=0.6)
    rng = np.random.default_rng(0)
    hidden = log_values(LatentTreeLearner().learn(table, rng), fresh.values).mean()
    assert hidden > log_values(ChowLiuLearner().learn(table, rng), fresh.values).mean() + 0.05


def test_validation_rows_choose_the_number_of_states() -> None:
    star = tree_of(6, 7, [(i, 6) for i in range(6)], [0.5] * 6)
    table, valid = drawn_table(star, 2000, states=3), drawn_table(star, 500, states=3)
    learner = LatentTreeLearner(states=(1, 3))
    graph = learner.learn(table, np.random.default_rng(0), valid=valid)
    alone = LatentTreeLearner(states=(3,)).learn(table, np.random.default_rng(0), valid=valid)
    assert graph.edges == alone.edges


def test_regularised_trees_have_fewer_hidden_nodes_where_few_are_worth_their_price() -> None:
    chain = tree_of(8, 8, [(i, i + 1) for i in range(7)], [0.3] * 7)
    table = drawn_table(chain, 400)
    plain, regular = (
        LatentTreeLearner(regularised=flag).learn(table, np.random.default_rng(0)) for flag in (False, True)
    )
    assert parameter_count(regular) < parameter_count(plain)


def test_numbers_hang_on_the_tree() -> None:
    star = tree_of(4, 5, [(i, 4) for i in range(4)], [0.5] * 4)
    states = drawn_table(star, 1000).values
    weight = np.random.default_rng(0).normal(10 * states[:, 0], 1.0)
    schema = Schema((*discrete_schema([2] * 4), Variable("weight", "real")))
    graph = LatentTreeLearner().learn(
        Table(schema, np.column_stack([states, weight])), np.random.default_rng(0)
    )
    low, high = log_values(graph, np.array([[0, 0, 0, 0, 10.0], [1, 1, 1, 1, 10.0]]))
    assert high > low + 2


@pytest.mark.parametrize("columns", [[0, 1], [1, 0]])
def test_a_state_tells_of_a_number_whichever_comes_first(columns: list[int]) -> None:
    rng = np.random.default_rng(0)
    state = rng.integers(0, 2, 300)
    schema = Schema((Variable("sick", "categorical", ("no", "yes")), Variable("weight", "real")))
    table = Table(schema, np.column_stack([state, rng.normal(10 * state, 1.0)])).select(columns)
    graph = LatentTreeLearner().learn(table, rng)
    likely, unlikely = log_values(graph, np.array([[1.0, 10.0], [0.0, 10.0]])[:, columns])
    # Half of 300 rows beside a pseudo-count of 0.1 are log(1500) = 7.3 nats: no row tells of more.
    assert likely > unlikely + 6


def test_an_interrupted_search_still_gives_a_tree_of_all_columns() -> None:
    distance = own_distances(random_tree(7))
    for method in METHODS:
        watch = Watch(seconds=0.0)
        found = latent_tree(distance, StructureSearch(method=method), watch)
        assert np.isfinite(own_distances(found)).all()


def test_the_search_reports_where_it_is() -> None:
    told: list[Progress] = []
    LatentTreeLearner(steps=2).learn(
        drawn_table(random_tree(4), 300), np.random.default_rng(0), watch=Watch(told.append)
    )
    assert {"hidden nodes"} < {p.stage for p in told}


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"method": "upgma"}, "setting method of latent-tree must be one of clrg, clnj, rg, nj, not upgma"),
        ({"states": (2, 0)}, "setting states of latent-tree must be a list of numbers of at least 1"),
        ({"steps": 0}, "setting steps of latent-tree must be at least 1, not 0"),
        ({"merge_distance": -1.0}, "setting merge_distance of latent-tree must be at least 0, not -1"),
    ],
)
def test_a_bad_setting_is_named(setting: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match="setting") as fault:
        LatentTreeLearner(**setting)  # type: ignore[arg-type]
    assert str(fault.value).startswith(words)
