"""Columns of very many states: learners see fewer, circuits are over all of them, and memory stays small."""

import tracemalloc
import warnings
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import circuits, rows

import tractable as tr
from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.circuit import Graph, is_deterministic
from tractable.data import Schema, Table, TableWarning, Variable, discrete_schema
from tractable.engine import log_values
from tractable.learning.joint import LEARNERS
from tractable.learning.statistics import link_gains as gains
from tractable.learning.statistics.dependence import pair_gains
from tractable.learning.statistics.encoding import encode
from tractable.learning.statistics.pooled_states import StatePools, pool_states

STATES = 9
MEGABYTE = 1 << 20


def wide_table(count: int = 60, states: int = STATES, seed: int = 0) -> Table:
    """A column of many states, some of which never occur, that tells about others; some cells are missing."""
    rng = np.random.default_rng(seed)
    wide = np.minimum(rng.geometric(0.35, count) - 1, states - 2)
    group = wide % 2
    values = np.column_stack(
        [
            wide,
            np.where(rng.random(count) < 0.8, group, 1 - group),
            rng.normal(group),
            rng.integers(3, size=count),
        ]
    ).astype(np.float64)
    values[rng.random(values.shape) < 0.05] = np.nan
    names = tuple(f"place {k}" for k in range(states))
    schema = Schema(
        (
            Variable("place", "ordinal", names),
            Variable("group", "categorical", ("no", "yes")),
            Variable("size", "real"),
            Variable("other", "categorical", ("a", "b", "c")),
        )
    )
    return Table(schema, values, rng.integers(1, 3, count).astype(np.float64))


def marginal(graph: Graph, column: int) -> Floats:
    """The probability of each state of a column."""
    every = np.full((graph.schema[column].cardinality, len(graph.schema)), np.nan)
    every[:, column] = np.arange(len(every))
    return np.exp(log_values(graph, every))


def assert_pooled_alike(found: Floats, table: Table, pools: StatePools) -> None:
    """Rare states have the ratios of their frequencies, with one row spread over all states."""
    seen = ~table.missing[:, 0]
    frequency = np.bincount(table.values[seen, 0].astype(int), table.row_weights[seen], STATES) + 1 / STATES
    rare = pools.pools[0].code == pools.pools[0].kept.size
    ratio = found[rare] / frequency[rare]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "independent"])
@pytest.mark.filterwarnings("ignore::tractable.data.TableWarning")
def test_a_model_of_pooled_states_is_a_distribution_over_all_states(name: str) -> None:
    table = wide_table()
    pools = pool_states(table, 4)
    assert pools is not None
    learner = LEARNERS.make_with(name, {"max_states": 4})
    graph = learner.learn(table, np.random.default_rng(0), valid=table, watch=Watch(seconds=0.3))
    assert graph.schema == table.schema
    found = marginal(graph, 0)
    assert found.min() > 0, "a state that no row has is possible"
    assert found.sum() == pytest.approx(1, abs=1e-9)
    assert_pooled_alike(found, table, pools)


@pytest.mark.parametrize("name", ["naive-bayes", "continuous-mixture"])
def test_a_decoded_mixture_carries_the_shape_of_its_components(name: str) -> None:
    values = np.random.default_rng(0).integers([9, 2, 3], size=(80, 3)).astype(np.float64)
    table, components = Table(discrete_schema([9, 2, 3]), values), 8
    pools = pool_states(table, 4)
    assert pools is not None
    many = {"components": (components,) if name == "naive-bayes" else components}
    graph = LEARNERS.make_with(name, many).learn(pools.code(table), np.random.default_rng(0), valid=None)
    assert graph.mixture is not None
    decoded = pools.decode(graph)
    assert decoded.mixture is graph.mixture


def test_states_within_the_limit_are_left_alone() -> None:
    table = wide_table()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pool_states(table, STATES) is None
        LEARNERS.make("chow-liu").learn(table, np.random.default_rng(0))


def test_pooling_is_told_in_one_line_that_names_the_column_and_the_limit() -> None:
    with pytest.warns(TableWarning) as told:
        tr.ChowLiuTree(max_states=4).fit(wide_table())
    (line,) = [str(warning.message) for warning in told]
    assert line.startswith("column 'place' has 9 states, but max_states is 4: the rarest 6 share parameters")
    assert "--set max_states=" in line


@settings(max_examples=20)
@given(data=st.data())
def test_a_decoded_circuit_is_the_circuit_over_codes_times_the_share_of_each_state(
    data: st.DataObject,
) -> None:
    """Whatever the circuit is: by the definition of pooling, row by row."""
    table = wide_table()
    pools = pool_states(table, 4)
    assert pools is not None
    coded = pools.code(table).schema
    graph = data.draw(circuits(schema=coded, deterministic=data.draw(st.booleans())))
    whole = pools.decode(graph)
    assert is_deterministic(whole) == is_deterministic(graph)
    row = data.draw(rows(table.schema))
    code = (
        Table(coded, row[None]).values
        if np.isnan(row[0])
        else pools.code(Table(table.schema, row[None])).values
    )
    share = 0.0 if np.isnan(row[0]) else pools.pools[0].log_share[int(row[0])]
    expected = log_values(graph, code)[0] + share
    np.testing.assert_allclose(log_values(whole, row[None])[0], expected, rtol=1e-9, atol=1e-9)


def numeric_and_wide_table() -> Table:
    """Three columns of many states beside columns of all kinds, weighted, with missing cells."""
    rng = np.random.default_rng(3)
    count, sizes = 500, [70, 40, 25]
    hidden = rng.integers(25, size=count)
    columns = [np.where(rng.random(count) < 0.5, hidden, rng.integers(k, size=count)) for k in sizes]
    columns += [hidden % 3, rng.normal(hidden), rng.poisson(1 + hidden / 5), rng.integers(2, size=count)]
    values = np.column_stack(columns).astype(np.float64)
    values[rng.random(values.shape) < 0.1] = np.nan
    kinds = [Variable(f"c{i}", "categorical", tuple(range(k))) for i, k in enumerate([*sizes, 3])]
    kinds += [Variable("x", "real"), Variable("n", "count"), Variable("b", "categorical", (0, 1))]
    return Table(Schema(tuple(kinds)), values, rng.integers(1, 4, size=count).astype(np.float64))


def slow_information(table: Table, one: int, other: int) -> float:
    """Mutual information times weight, pair of states by pair of states."""
    cells, weights = table.values[:, [one, other]], table.row_weights
    seen = ~np.isnan(cells).any(axis=1)
    total = weights[seen].sum()
    answer = 0.0
    for a, b in product(*(range(table.schema[c].cardinality) for c in (one, other))):
        first, second = seen & (cells[:, 0] == a), seen & (cells[:, 1] == b)
        both = weights[first & second].sum()
        if both:
            answer += both * np.log(both * total / (weights[first].sum() * weights[second].sum()))
    return answer


@pytest.mark.parametrize("most", [1 << 22, 6000, 2000, 900])
def test_gains_do_not_depend_on_how_many_counts_are_held_at_a_time(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = numeric_and_wide_table()
    whole = gains.link_gains(encode(table))
    monkeypatch.setattr(gains, "MOST_COUNTS", most)
    found = gains.link_gains(encode(table))
    np.testing.assert_allclose(found, whole, rtol=1e-9, atol=1e-7)
    categorical = [c for c, v in enumerate(table.schema) if v.is_categorical]
    for one, other in product(categorical, categorical):
        if one < other:
            assert found[one, other] == pytest.approx(slow_information(table, one, other), abs=1e-6)
            assert found[other, one] == pytest.approx(found[one, other], abs=1e-6)


def test_pairs_that_were_not_compared_in_time_gain_nothing() -> None:
    encoding = encode(numeric_and_wide_table())
    watch = Watch()
    watch.interrupted = True
    part, whole = pair_gains(encoding, 1.0, watch), pair_gains(encoding, 1.0)
    categorical = encoding.layout.categorical
    among = np.ix_(categorical, categorical)
    known = part[among] != 0
    assert 0 < known.sum() < known.size - categorical.size
    np.testing.assert_allclose(part[among][known], whole[among][known], rtol=1e-9)


def zip_codes(states: int, count: int) -> Table:
    """A column of so many states beside some of few, and one of numbers."""
    rng = np.random.default_rng(0)
    place = rng.permutation(np.arange(count) % states)
    few = [(place + rng.integers(2, size=count)) % k for k in (2, 3, 4, 5, 6)]
    values = np.column_stack([place, *few, rng.normal(place % 5)]).astype(np.float64)
    schema = discrete_schema([states, 2, 3, 4, 5, 6])
    return Table(Schema((*schema, Variable("x", "real"))), values)


def peak_of(work: Callable[[], object]) -> float:
    """The megabytes that are allocated at a time, at most."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / MEGABYTE
    finally:
        tracemalloc.stop()


def test_gains_with_a_column_of_very_many_states_take_little_memory() -> None:
    encoding = encode(zip_codes(9841, 20_000))
    assert peak_of(lambda: gains.link_gains(encoding)) < 200, "a square of the states takes 775 megabytes"


@pytest.mark.parametrize("name", ["chow-liu", "gaussian-mixture", "hidden-chow-liu", "latent-tree"])
@pytest.mark.filterwarnings("ignore::tractable.data.TableWarning")
def test_models_with_a_column_of_very_many_states_take_little_memory(name: str) -> None:
    table = zip_codes(4000, 12_000)

    def learn_and_score() -> None:
        graph = LEARNERS.make(name).learn(table, np.random.default_rng(0), watch=Watch(seconds=0.2))
        log_values(graph, table.values[:100])

    assert peak_of(learn_and_score) < 250
