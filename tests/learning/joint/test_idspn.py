"""Sum-products of circuits: the tree against its circuit, and ID-SPN against what it says of itself."""

import time
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import product as combinations
from threading import Timer
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from joblib import parallel_config

from tractable.base.arrays import Floats
from tractable.base.progress import Progress, Watch
from tractable.circuit import PRODUCT, Graph, is_decomposable, is_smooth
from tractable.data import Schema, Table, Variable, collapse, discrete_schema
from tractable.engine import log_values
from tractable.learning.joint import LEARNERS, Learned, Learner
from tractable.learning.joint.idspn.growth import ExtensionSearch, ExtensionSettings
from tractable.learning.joint.idspn.learner import ANCHORS, IDSPNLearner
from tractable.learning.joint.idspn.tree import CircuitNode, Node, ProductNode, SumNode
from tractable.learning.joint.independent import IndependentLearner
from tractable.learning.joint.markov import ACMNLearner, EACMNLearner
from tractable.learning.parameters import fit
from tractable.learning.parameters.cccp import CCCP
from tractable.learning.statistics.clustering import Clustering
from tractable.learning.statistics.encoding import encode
from tractable.learning.statistics.stack_weights import mean_log_prob

NO_SPLITS: dict[str, Any] = {"leaf": "acmn", "max_edges": 0, "min_max_edges": 0}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def clustered(rows: int = 600, seed: int = 0, missing: float = 0.0) -> Table:
    """Rows of three clusters; seven columns of 2, 3, 2, 2, 4, 2 and 1 states, independent within each."""
    draw, states = rng(seed), np.array([2, 3, 2, 2, 4, 2, 1])
    usual = np.array([[0, 1, 1, 0, 3, 1, 0], [1, 2, 0, 0, 0, 1, 0], [1, 0, 1, 1, 2, 0, 0]])
    values = usual[draw.integers(3, size=rows)]
    values = np.where(draw.random(values.shape) < 0.15, draw.integers(states, size=values.shape), values)
    cells = values.astype(np.float64)
    cells[draw.random(cells.shape) < missing] = np.nan
    return Table(discrete_schema(states), cells)


def blocks(rows: int = 2000, seed: int = 2) -> Table:
    """Columns 0, 2 and 4 are copies of a coin with errors, so are 1, 3 and 6; columns 5 and 7 are alone."""
    draw = rng(seed)
    owner = np.array([0, 1, 0, 1, 0, 2, 1, 3])
    values = (draw.random((rows, 4)) < 0.5)[:, owner] ^ (draw.random((rows, owner.size)) < 0.1)
    return Table(discrete_schema([2] * owner.size), values.astype(np.float64))


def shuffled(table: Table) -> Table:
    """The same cells in columns that tell nothing about each other."""
    return Table(table.schema, rng(5).permuted(table.values, axis=0))


def learned(table: Table, valid: Table | None = None, seed: int = 0, **settings: Any) -> Graph:
    return IDSPNLearner(**{"jobs": 1} | settings).learn(table, rng(seed), valid=valid)


def grown(
    table: Table,
    valid: Table | None = None,
    extensions: int = 5,
    leaf_learner: Callable[[float], Learner] = lambda share: IndependentLearner(),
    parent_rows: float = 0.0,
) -> Node:
    """A tree whose leaves are products, unless said otherwise."""
    clustering = Clustering(clusters=5, penalty=0.2)
    how = ExtensionSettings(
        clustering=clustering, dependence=0.01, extensions=extensions, parent_rows=parent_rows, jobs=1
    )
    return ExtensionSearch(how, leaf_learner, table, valid).run(rng(), Watch())


def alone(graph: Graph, rows: Floats, column: int) -> Floats:
    """The log-probability of one column's cells."""
    cells = np.full(rows.shape, np.nan)
    cells[:, column] = rows[:, column]
    return log_values(graph, cells)


def all_rows(schema: Schema) -> Floats:
    """Every row there can be; numbers are missing."""
    return np.array(
        list(combinations(*([np.nan] if v.states == () else range(v.cardinality) for v in schema)))
    )


# ---- the tree ------------------------------------------------------------------------------------------


def leaf(table: Table, columns: list[int], rows: slice) -> CircuitNode:
    """A product of the columns on some rows."""
    graph = IndependentLearner().learn(table.select(columns).take(rows), rng())
    nothing = np.zeros(0, dtype=np.int64)
    return CircuitNode(graph, nothing, nothing, table, final=False)


def log_prob_in(graph: Graph, table: Table) -> Floats:
    """The log-values of a table's rows, its columns in the order that the circuit has them."""
    return log_values(graph, table.values[:, table.schema.columns(graph.schema.names)])


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_values_of_a_tree_are_those_of_its_circuit_and_those_by_hand(missing: float) -> None:
    table = clustered(200, missing=missing)
    one, two = leaf(table, [4, 1], slice(0, 50)), leaf(table, [1, 4], slice(50, 90))
    three, rest = leaf(table, [4, 1], slice(90, 200)), leaf(table, [6, 0, 3], slice(0, 200))
    inner = SumNode([one, two, three], np.array([0.5, 0.2, 0.3]))
    root = ProductNode([rest, inner])
    a, b, c, d = (log_prob_in(node.graph(), table) for node in (one, two, three, rest))
    by_hand = d + np.log(0.5 * np.exp(a) + 0.2 * np.exp(b) + 0.3 * np.exp(c))
    np.testing.assert_allclose(root.log_values, by_hand)
    np.testing.assert_allclose(log_prob_in(root.graph(), table), by_hand)
    assert list(root.circuits()) == [rest, one, two, three]


def test_a_replaced_leaf_changes_all_values_above_and_leaves_the_old_tree_as_it_was() -> None:
    table = clustered(200)
    one, two, new = (leaf(table, [0, 1], slice(at, at + 50)) for at in (0, 50, 100))
    rest = leaf(table, [2], slice(0, 200))
    old = ProductNode([SumNode([one, two], np.array([0.4, 0.6])), rest])
    before = old.log_values.copy()
    found = old.replace_leaf(two, new)
    wanted = rest.log_values + np.log(0.4 * np.exp(one.log_values) + 0.6 * np.exp(new.log_values))
    np.testing.assert_allclose(found.log_values, wanted)
    np.testing.assert_allclose(log_prob_in(found.graph(), table), wanted)
    assert np.array_equal(old.log_values, before)
    assert list(found.circuits()) == [one, new, rest]


def test_a_part_of_weight_zero_counts_for_nothing() -> None:
    table = clustered(100)
    one, two = leaf(table, [0, 1], slice(0, 50)), leaf(table, [0, 1], slice(50, 100))
    root = SumNode([one, two], np.array([1.0, 0.0]))
    np.testing.assert_allclose(root.log_values, one.log_values)
    np.testing.assert_allclose(log_prob_in(root.graph(), table), one.log_values)


# ---- its growth ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("valid", [None, clustered(200, seed=1)])
def test_a_grown_tree_is_its_circuit_and_scores_no_less_than_its_first_leaf(valid: Table | None) -> None:
    table = clustered()
    root, first = grown(table, valid), grown(table, valid, extensions=0)
    judge = table if valid is None else valid
    graph = root.graph()
    assert (is_smooth(graph), is_decomposable(graph)) == (True, True)
    assert len(list(root.circuits())) > 1
    scores = [mean_log_prob_in(node.graph(), judge) for node in (first, root)]
    assert scores[1] > scores[0] + 0.5


def mean_log_prob_in(graph: Graph, table: Table) -> float:
    return float(log_prob_in(graph, table) @ table.row_weights) / table.total_weight


def test_an_extension_that_the_judge_does_not_like_is_not_kept() -> None:
    table = clustered()
    assert len(list(grown(table, clustered(200, seed=1)).circuits())) > 1
    root = grown(table, shuffled(table))
    assert isinstance(root, CircuitNode)
    np.testing.assert_allclose(root.log_values, grown(table, shuffled(table), extensions=0).log_values)


def test_independent_groups_become_a_product_and_single_columns_are_never_extended() -> None:
    table = blocks()
    root = grown(table, blocks(500, seed=3))
    assert root.graph().kind[-1] == PRODUCT
    assert {tuple(one.columns) for one in root.circuits() if one.final} == {(5, 7)}
    assert {tuple(one.columns) for one in root.circuits()} == {(0, 2, 4), (1, 3, 6), (5, 7)}


def test_the_columns_of_a_circuit_come_in_the_order_of_the_table() -> None:
    table = blocks()
    graph = learned(table, blocks(500, seed=3), refit=False, dependence=0.01, **NO_SPLITS)
    assert graph.schema == table.schema
    assert graph.kind[-1] == PRODUCT
    rows = blocks(20, seed=4).values
    parts = np.zeros(20)
    for columns in ([0, 2, 4], [1, 3, 6], [5], [7]):
        cells = np.full(rows.shape, np.nan)
        cells[:, columns] = rows[:, columns]
        parts += log_values(graph, cells)
    np.testing.assert_allclose(log_values(graph, rows), parts)


def test_leaves_divide_the_rows_and_are_learned_by_their_part_of_the_cells() -> None:
    table, shares = clustered(400), list[float]()

    def noted(share: float) -> Learner:
        shares.append(share)
        return IndependentLearner()

    root = grown(table, None, 1, noted)
    leaves = list(root.circuits())
    whole = grown(table, None, 0)
    assert isinstance(whole, CircuitNode)
    several = [one for one in leaves if not one.final]
    assert len(several) > 1
    assert sorted(np.concatenate([one.rows for one in several])) == sorted(whole.rows)
    assert shares[-1] == pytest.approx(1.0)  # the whole comes last
    assert sum(shares[:-1]) == pytest.approx(1.0)


def test_what_was_divided_counts_for_a_few_rows_in_each_part() -> None:
    """The chances in a leaf, by hand: its own rows, all rows as so many as are said, and a pseudo-count."""
    table = clustered(400)
    distinct, _ = collapse(table)
    leaves = [one for one in grown(table, None, 1, parent_rows=7.0).circuits() if not one.final]
    assert len(leaves) > 1
    for one in leaves:
        weight = distinct.row_weights * 7.0 / len(table)
        weight[one.rows] += distinct.row_weights[one.rows]
        ones = weight[distinct.values[:, 0] == 1].sum()
        row = np.full((1, len(one.columns)), np.nan)
        row[0, one.columns.tolist().index(0)] = 1.0
        chance = (ones + 0.5) / (weight.sum() + 1.0)
        assert log_values(one.graph(), row)[0] == pytest.approx(np.log(chance))


@dataclass(frozen=True, kw_only=True)
class Restless(Learner):
    """Products of columns that are never good enough: it goes on until it is told to stop."""

    name: ClassVar[str] = "restless"
    title: ClassVar[str] = "restless"

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        give_up = time.monotonic() + 5.0
        while not watch.should_stop():
            watch.report("waiting", 0)
            time.sleep(0.01)
            assert time.monotonic() < give_up, "nobody says stop"
        return Learned(IndependentLearner().learn(table, rng))


@pytest.mark.parametrize("jobs", [1, 2, None])
def test_all_leaves_of_an_extension_share_the_time_that_is_left(jobs: int | None) -> None:
    clustering = Clustering(clusters=5, penalty=0.2)
    how = ExtensionSettings(clustering=clustering, dependence=0.01, extensions=5, parent_rows=3.0, jobs=jobs)
    watch = Watch(seconds=1.0)
    growth = ExtensionSearch(
        how, lambda share: Restless() if share < 1 else IndependentLearner(), clustered(), None
    )
    begin = time.monotonic()
    with parallel_config(backend="threading"):
        root = growth.run(rng(), watch)
    assert len(list(root.circuits())) > 3
    assert time.monotonic() - begin < 2.5  # one after the other they would take four times as long


def test_an_interrupt_reaches_the_leaf_that_is_being_learned() -> None:
    watch = Watch()
    Timer(0.2, lambda: setattr(watch, "interrupted", True)).start()
    how = ExtensionSettings(
        clustering=Clustering(), dependence=0.01, extensions=5, parent_rows=0.0, jobs=None
    )
    root = ExtensionSearch(how, lambda share: Restless(), clustered(), None).run(rng(), watch)
    assert sum(one.columns.size for one in root.circuits()) >= len(clustered().schema)  # it ended at all


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_leaves_learned_side_by_side_report_and_are_interrupted(backend: str) -> None:
    told: list[Progress] = []

    def interrupt(progress: Progress) -> None:
        told.append(progress)
        if progress.stage.endswith(": waiting"):
            raise KeyboardInterrupt

    watch = Watch(interrupt)
    how = ExtensionSettings(clustering=Clustering(), dependence=0.01, extensions=5, parent_rows=0.0, jobs=2)
    with parallel_config(backend=backend):
        root = ExtensionSearch(how, lambda share: Restless(), clustered(), None).run(rng(), watch)
    assert watch.interrupted
    assert len(list(root.circuits())) > 2
    assert any(p.stage.startswith("circuit 1 of ") and p.score is None for p in told)


@pytest.mark.parametrize("interrupted", [False, True])
def test_processes_that_are_killed_are_a_want_of_memory_or_an_interrupt(
    interrupted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C ends processes of joblib that have nothing to do, and with them the work of the others."""
    watch = Watch()

    class Broken:
        def __init__(self, **_: object) -> None: ...

        def __call__(self, tasks: object) -> list[Graph]:
            watch.interrupted = interrupted
            raise BrokenProcessPool

    monkeypatch.setattr("tractable.base.processes.Parallel", Broken)
    how = ExtensionSettings(clustering=Clustering(), dependence=0.01, extensions=5, parent_rows=0.0, jobs=2)
    growth = ExtensionSearch(how, lambda share: Restless(), clustered(), None)
    if interrupted:
        assert len(list(growth.run(rng(), watch).circuits())) > 2
    else:
        with pytest.raises(MemoryError, match="fewer jobs need less"):
            growth.run(rng(), watch)


@pytest.mark.parametrize("few", [clustered(20), clustered().select([0, 1, 2, 3])])
def test_what_is_too_small_is_not_extended(few: Table) -> None:
    assert isinstance(grown(few), CircuitNode)


# ---- the learner ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("leaf", "learner"), [("eacmn", EACMNLearner), ("acmn", ACMNLearner)])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_without_extensions_it_is_the_learner_of_its_leaves(
    leaf: Literal["eacmn", "acmn"], learner: type[EACMNLearner | ACMNLearner], missing: float
) -> None:
    table, valid = clustered(300, missing=missing), clustered(200, seed=1)
    how = IDSPNLearner(
        leaf=leaf, extensions=0, refit=False, l1=0.7, variance=0.4, split_cost=5.0, smoothing=2.0
    )
    same = learner(l1=0.7, variance=0.4, split_cost=5.0, max_edges=500_000, smoothing=2.0)
    one, other = (some.learn(table, rng(), valid=valid) for some in (how, same))
    np.testing.assert_allclose(log_values(one, valid.values), log_values(other, valid.values), atol=1e-9)
    assert mean_log_prob(one, valid) > mean_log_prob(learned(table, valid, extensions=0, **NO_SPLITS), valid)


def test_with_products_as_leaves_it_is_a_mixture_of_products() -> None:
    table, valid = clustered(1000), clustered(300, seed=1)
    root = grown(table, valid, 1, lambda share: ACMNLearner(max_edges=0))
    several, rest = ([one for one in root.circuits() if one.final is flag] for flag in (False, True))
    assert len(several) >= 3
    assert [one.columns.tolist() for one in rest] == [[6]]  # the column of one state
    distinct = encode(table).table
    weight = np.array([distinct.row_weights[one.rows].sum() for one in several])
    assert weight.sum() == len(table)
    cells = valid.values[:, several[0].columns]
    logs = [sum(alone(one.graph(), cells, at) for at in range(cells.shape[1])) for one in several]
    wanted = np.log(weight / weight.sum() @ np.exp(np.stack(logs)))
    np.testing.assert_allclose(root.log_values, wanted)


def test_sums_and_products_alone_beat_independent_columns_by_far() -> None:
    table, valid, test = clustered(1000), clustered(300, seed=1), clustered(1000, seed=2)
    graph = learned(table, valid, refit=False, **NO_SPLITS)
    flat = LEARNERS["independent"]().learn(table, rng())
    assert mean_log_prob(graph, test) > mean_log_prob(flat, test) + 1.0


def test_the_number_of_jobs_does_not_change_the_circuit() -> None:
    table, valid = clustered(600), clustered(200, seed=1)
    one, two = (learned(table, valid, seed=3, jobs=jobs, **NO_SPLITS) for jobs in (1, 2))
    assert one.edges > learned(table, valid, extensions=0, **NO_SPLITS).edges
    assert np.array_equal(one.child, two.child)
    assert np.array_equal(one.log_weight, two.log_weight)
    assert np.array_equal(log_values(one, valid.values), log_values(two, valid.values))


def test_weighted_rows_count_like_repeated_rows() -> None:
    some, valid = clustered(600), clustered(200, seed=1)
    weights = rng(3).integers(0, 4, size=600)
    weighted = Table(some.schema, some.values, weights.astype(np.float64))
    repeated = Table(some.schema, np.repeat(some.values, weights, axis=0))
    one, other = (learned(t, valid) for t in (weighted, repeated))
    np.testing.assert_allclose(log_values(one, valid.values), log_values(other, valid.values), atol=1e-6)


@pytest.mark.parametrize("rows", [30, 300])
@pytest.mark.parametrize("seed", [0, 1])
def test_fitting_all_sums_in_the_end_never_lowers_the_validation_score(rows: int, seed: int) -> None:
    table, valid = clustered(400, seed=seed), clustered(rows, seed=seed + 10)
    before, after = (
        mean_log_prob(learned(table, valid, refit=on, **NO_SPLITS), valid) for on in (False, True)
    )
    assert after >= before


def test_fitting_all_sums_in_the_end_takes_the_best_anchor_and_keeps_a_distribution() -> None:
    table, valid = clustered(2000), clustered(300, seed=1)
    before, after = (learned(table, valid, refit=on, **NO_SPLITS) for on in (False, True))
    ways = [CCCP(iterations=10, patience=1, smoothing=0.0, anchor=anchor) for anchor in ANCHORS]
    scores = [mean_log_prob(fit(before, table, how, rng(), valid=valid).graph, valid) for how in ways]
    assert mean_log_prob(after, valid) == pytest.approx(max(scores))
    assert max(scores) > mean_log_prob(before, valid) + 0.001
    assert np.logaddexp.reduce(log_values(after, all_rows(table.schema))) == pytest.approx(0.0, abs=1e-9)


# ---- all kinds of tables -------------------------------------------------------------------------------


def mixed(rows: int = 400, seed: int = 0, missing: float = 0.1) -> Table:
    """Two classes told by three columns of states, one of one state, two of numbers and one of counts."""
    draw = rng(seed)
    group = draw.integers(2, size=rows)
    near = [np.where(draw.random(rows) < 0.9, group, 1 - group) for _ in range(2)]
    values = np.column_stack(
        [draw.normal(4 * group), near[0], 2 * near[1] * (draw.random(rows) < 0.8), np.zeros(rows),
         draw.poisson(1 + 6 * group), group, draw.normal(1e3 * group, 1e2)]
    ).astype(np.float64)  # fmt: skip
    values[draw.random(values.shape) < missing] = np.nan
    states = [None, 2, 3, 1, None, 2, None]
    kinds = ["real", "categorical", "categorical", "categorical", "count", "categorical", "real"]
    columns = tuple(
        Variable(f"v{at}", kind, () if many is None else tuple(range(many)))  # type: ignore[arg-type]
        for at, (kind, many) in enumerate(zip(kinds, states, strict=True))
    )
    return Table(Schema(columns), values)


@pytest.mark.filterwarnings("error::tractable.data.TableWarning")
@pytest.mark.parametrize("seed", [0, 3, 6])
def test_no_warning_tells_of_validation_rows_that_have_no_cell_of_some_leaf(seed: int) -> None:
    """In each cluster of rows half of the columns are alone, whose validation cells are missing here."""
    draw = rng(seed)

    def halves(rows: int) -> Table:
        cluster, one, other = draw.integers(0, 2, (3, rows, 1))
        left = np.where(draw.random((rows, 5)) < 0.9, np.where(cluster, one, 1), 1 - one)
        right = np.where(draw.random((rows, 5)) < 0.9, np.where(cluster, 0, other), other)
        return Table(discrete_schema([2] * 10), np.hstack([left, right]).astype(np.float64))

    table, valid = halves(400), halves(100)
    valid.values[:, 5:] = np.nan
    learned(table, valid)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("leaf", ["eacmn", "acmn"])
def test_numbers_states_and_missing_cells_make_a_distribution(leaf: str, missing: float) -> None:
    table, valid = mixed(missing=missing), mixed(150, 1, missing)
    graph = learned(table, valid, leaf=leaf)
    assert graph.schema == table.schema
    assert np.logaddexp.reduce(log_values(graph, all_rows(table.schema))) == pytest.approx(0.0, abs=1e-9)
    flat = LEARNERS["independent"]().learn(table, rng())
    assert mean_log_prob(graph, valid) > mean_log_prob(flat, valid) + 0.5


@pytest.mark.parametrize(
    "table",
    [clustered(1), clustered(0), Table(clustered(9).schema, clustered(9).values, np.zeros(9)),
     Table(discrete_schema([1] * 6), np.zeros((200, 6))), clustered(300).select([4])],
    ids=["one row", "no rows", "rows of no weight", "one state", "one column"],
)  # fmt: skip
@pytest.mark.parametrize("held_out", [0, 10])
def test_small_tables_can_be_learned_from(table: Table, held_out: int) -> None:
    valid = Table(table.schema, np.zeros((held_out, len(table.schema))))
    graph = learned(table, valid)
    assert np.logaddexp.reduce(log_values(graph, all_rows(table.schema))) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("setting", ["clusters", "cluster_cost", "extensions", "min_l1", "max_edges"])
def test_settings_below_their_min_value_are_refused(setting: str) -> None:
    with pytest.raises(ValueError, match=f"setting {setting} of idspn"):
        IDSPNLearner(**{setting: -1})  # type: ignore[arg-type]
