"""Numeric columns through pieces: how they are cut, and what becomes of circuits over them."""

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tractable.base.arrays import Floats
from tractable.circuit import is_decomposable, is_deterministic, is_smooth, properties
from tractable.circuit.leaves import FAMILIES
from tractable.data import Schema, Table, Variable
from tractable.engine import log_values, samples
from tractable.learning.joint import LEARNERS
from tractable.learning.joint.chow_liu import ChowLiuLearner
from tractable.learning.statistics.cuts import choose_edges, wanted_pieces
from tractable.learning.statistics.pieces import learn_through_pieces, view_pieces
from tractable.model import Circuit

SCHEMA = Schema(
    (
        Variable("height", "real"),
        Variable("group", "categorical", ("a", "b", "c")),
        Variable("grams", "integer"),
        Variable("visits", "count"),
        Variable("day", "date"),
    )
)
THROUGH_PIECES = [
    "chow-liu",
    "acbn",
    "acmn",
    "eacmn",
    "bayesian-network",
    "latent-tree",
    "mixture-of-trees",
    "cutset",
]
LIMITED = ["acbn", "acmn", "eacmn", "selective", "cutset"]  # by the setting `max_edges`
DETERMINISTIC = ["chow-liu", "acbn", "acmn", "eacmn", "bayesian-network"]


def mixed_table(rows: int = 300, missing: float = 0.1) -> Table:
    """All columns depend on a hidden number."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=rows)
    columns = [
        hidden + 0.3 * rng.normal(size=rows),
        np.digitize(hidden, [-0.5, 0.5]),
        np.rint(4000 + 500 * hidden + 100 * rng.normal(size=rows)),
        rng.poisson(np.exp(1 + hidden)),
        np.rint(18000 + 30 * hidden),
    ]
    values = np.column_stack(columns).astype(np.float64)
    values[rng.random(values.shape) < missing] = np.nan
    return Table(SCHEMA, values)


def learned(name: str, table: Table) -> Circuit:
    return Circuit(LEARNERS[name]().learn(table, np.random.default_rng(0)))


def test_a_row_is_worth_its_pieces_times_its_densities_in_them() -> None:
    table, learner = mixed_table(), ChowLiuLearner()
    view = view_pieces(table)
    coded = learner.learn(view.code(table), np.random.default_rng(0))
    whole = learner.learn(table, np.random.default_rng(0))
    expected = log_values(coded, view.code(table).values)
    for column, pieces in view.pieces.items():
        x = table.values[:, column]
        family = FAMILIES["rounded-piece" if SCHEMA[column].is_whole else "piece"]
        for row in np.flatnonzero(~np.isnan(x)):
            mine = pieces.owner == pieces.code(x[row : row + 1])[0]
            inside = family.log_prob(pieces.params[mine], x[None, row : row + 1])[:, 0]
            expected[row] += np.logaddexp.reduce(inside + pieces.log_share[mine])
    np.testing.assert_allclose(log_values(whole, table.values), expected, rtol=1e-9)
    assert whole.schema == SCHEMA


@pytest.mark.parametrize("name", THROUGH_PIECES)
def test_a_circuit_over_pieces_is_a_distribution_of_the_numbers(name: str) -> None:
    graph = learned(name, mixed_table()).graph
    assert is_smooth(graph)
    assert is_decomposable(graph)
    assert log_values(graph, np.full((1, 5), np.nan))[0] == pytest.approx(0.0, abs=1e-9)
    whole = np.full((30001, 5), np.nan)
    whole[:, 2] = np.arange(-10000, 20001)
    assert np.exp(log_values(graph, whole)).sum() == pytest.approx(1.0, abs=1e-6)
    counts = np.full((2000, 5), np.nan)
    counts[:, 3] = np.arange(2000)
    assert np.exp(log_values(graph, counts)).sum() == pytest.approx(1.0, abs=1e-6)
    line = np.full((80000, 5), np.nan)
    line[:, 0] = np.arange(80000) * 2e-4 - 8 + 1e-4
    assert np.exp(log_values(graph, line)).sum() * 2e-4 == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_deterministic_circuits_stay_deterministic(name: str) -> None:
    circuit = learned(name, mixed_table())
    assert is_deterministic(circuit.graph)
    best = circuit.mpe()
    assert best.exact
    drawn = samples(circuit.graph, np.full(5, np.nan), 2000, 1)
    assert log_values(circuit.graph, drawn).max() <= best.log_prob + 1e-9


@pytest.mark.parametrize("name", LIMITED)
def test_tails_count_among_the_edges_of_a_limit(name: str) -> None:
    table = mixed_table(missing=0.0)
    least = LEARNERS[name](max_edges=0).learn(table, np.random.default_rng(0)).edges  # type: ignore[call-arg]
    for more in (10, 11, 12, 40):
        graph = LEARNERS[name](max_edges=least + more).learn(table, np.random.default_rng(0))  # type: ignore[call-arg]
        assert graph.edges <= least + more


def test_overlapping_leaves_over_numbers_are_not_deterministic() -> None:
    from tractable.circuit import Builder

    def mixture_of(pieces: list[tuple[float, float, float]]) -> bool:
        builder = Builder(Schema((Variable("x", "real"),)))
        leaves = [builder.leaf("piece", 0, piece) for piece in pieces]
        return is_deterministic(builder.freeze(builder.sum(leaves, np.log([0.5, 0.5]))))

    assert mixture_of([(0.0, 1.0, 0.0), (1.0, inf, -1.0)])
    assert mixture_of([(-inf, 0.0, 1.0), (0.0, 1.0, 3.0)])
    assert not mixture_of([(0.0, 1.0, 0.0), (0.9, 2.0, 0.0)])
    assert not mixture_of([(0.0, 1.0, 0.0), (0.0, 1.0, 2.0)])


def test_properties_say_regular_selective_where_pieces_are_disjoint() -> None:
    assert properties(learned("chow-liu", mixed_table().select([0, 2, 3])).graph).regular_selective


def test_a_table_without_numbers_is_learned_as_it_is() -> None:
    table = mixed_table().select([1])
    seen: list[Table] = []

    def learn(part: Table, held_out: Table | None) -> object:
        seen.append(part)
        return ChowLiuLearner().learn(part, np.random.default_rng(0))

    learn_through_pieces(table, None, learn)  # type: ignore[arg-type]
    assert seen == [table]


# ---- cuts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "pieces"), [(8, 2), (120, 5), (500, 8), (8000, 20), (10**6, 20)])
def test_the_number_of_pieces_follows_that_of_the_rows(rows: int, pieces: int) -> None:
    assert wanted_pieces(rows) == pieces


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(
        st.one_of(st.integers(-50, 50).map(float), st.floats(-1e6, 1e6)), min_size=1, max_size=80
    ),
    whole=st.booleans(),
)
def test_cuts_ascend_and_hold_all_values(values: list[float], whole: bool) -> None:
    x = np.rint(values) if whole else np.array(values)
    edges = choose_edges(x, np.ones(x.size), whole=whole)
    assert (np.diff(edges) > 0).all()
    assert edges[0] <= x.min()
    assert x.max() <= edges[-1]
    assert edges.size - 1 <= wanted_pieces(x.size)
    if whole:
        np.testing.assert_array_equal(edges - 0.5, np.floor(edges))


def test_no_piece_has_too_few_rows() -> None:
    x = np.random.default_rng(0).lognormal(size=1000)
    edges = choose_edges(x, np.ones(1000), whole=False)
    assert np.histogram(x, edges)[0].min() >= 0.25 * 1000 / wanted_pieces(1000) - 1e-9


def test_cuts_of_a_sample_are_as_good_as_those_of_all_rows() -> None:
    x = np.random.default_rng(0).normal(size=200_000)
    edges = choose_edges(x, np.ones(x.size), whole=False)
    assert edges.size == 21
    assert edges[0] <= x.min()
    assert edges[-1] >= x.max()


@pytest.mark.parametrize("name", THROUGH_PIECES)
@pytest.mark.parametrize(
    "values",
    [
        np.zeros((1, 5)),
        np.array([[1.5, 1, 4000, 3, 17000]] * 20),
        np.full((7, 5), np.nan),
        np.array([[1e300, 0, 1e15, 10**9, -1e6], [-1e300, 1, -1e15, 0, 1e6], [0, 2, 0, 5, 0]] * 5),
        np.array([[1e-300, 0, 0, 0, 0], [2e-300, 0, 1, 1, 1]] * 8),
    ],
    ids=["one row", "constant", "all missing", "huge", "tiny"],
)
def test_strange_columns_give_a_distribution(name: str, values: Floats) -> None:
    graph = learned(name, Table(SCHEMA, values.astype(np.float64))).graph
    assert log_values(graph, np.full((1, 5), np.nan))[0] == pytest.approx(0.0, abs=1e-9)
    assert not np.isnan(log_values(graph, values.astype(np.float64))).any()
    assert (log_values(graph, values.astype(np.float64)) > -inf).all()


def test_intervals_are_exact_and_add_up() -> None:
    circuit = learned("chow-liu", mixed_table())
    assert circuit.prob("grams <= 4000") + circuit.prob("grams > 4000") == pytest.approx(1.0)
    both = circuit.prob("height > 0, grams > 4200")
    parts = circuit.prob("height > 0.7, grams > 4200") + circuit.prob(
        "height <= 0.7, height > 0, grams > 4200"
    )
    assert both == pytest.approx(parts, rel=1e-9)
    table = mixed_table()
    seen = table.values[~np.isnan(table.values[:, 2]), 2]
    assert circuit.prob("grams > 4200") == pytest.approx((seen > 4200).mean(), abs=0.03)
