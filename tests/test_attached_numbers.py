"""Numbers attached to circuits over categories: each told by one column, the rest as it was."""

import numpy as np
import pytest

from oracle import LOG_PROB
from tractable.arrays import Floats
from tractable.circuit import Graph, is_decomposable, is_deterministic, is_smooth
from tractable.data import Schema, Table, Variable, discrete_schema
from tractable.engine import log_values
from tractable.learners.chow_liu import ChowLiuLearner
from tractable.learners.independent import IndependentLearner
from tractable.networks import FeatureFactor, Network, compile_network
from tractable.statistics.attached_columns import attach_numeric_columns, best_categorical_parents
from tractable.statistics.conditionals import forest_tables
from tractable.statistics.encoding import Encoding, encode
from tractable.statistics.forests import Forest

SCHEMA = Schema(
    (
        Variable("height", "real"),
        Variable("group", "categorical", ("a", "b", "c")),
        Variable("noise", "real"),
        Variable("visits", "count"),
        Variable("sick", "categorical", ("no", "yes")),
    )
)
CATEGORICAL, NUMBERS = [1, 4], [0, 2, 3]
LINK_COST = 4.0  # more than chance gains


def mixed_table(rows: int = 300, missing: float = 0.15) -> Table:
    """The group tells the height, being sick tells the visits, nothing tells the noise."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, rows)
    sick = np.where(rng.random(rows) < 0.7, group > 0, rng.integers(0, 2, rows))
    columns = [rng.normal(150 + 20 * group), group, rng.normal(size=rows), rng.poisson(1 + 9 * sick), sick]
    values = np.column_stack(columns).astype(np.float64)
    values[rng.random(values.shape) < missing] = np.nan
    return Table(SCHEMA, values)


def over_categories(table: Table, how: str) -> Graph:
    """A circuit of the categorical columns: of indicators, of other leaves, or of a Markov network."""
    part = table.select(CATEGORICAL)
    if how == "features":
        factors = (
            FeatureFactor((0,), (1,), (True,), 0.7),
            FeatureFactor((0, 1), (2, 0), (True, False), -1.1),
        )
        return compile_network(Network(part.schema, factors, "markov"))
    learner = ChowLiuLearner() if how == "tree" else IndependentLearner()
    return learner.learn(part, np.random.default_rng(0))


def obvious_log_value(graph: Graph, encoding: Encoding, row: Floats) -> float:
    """The circuit's value of the categories times each number's leaf in its telling column's state."""
    parent = best_categorical_parents(encoding, 1.0, LINK_COST)
    tables = forest_tables(encoding, Forest(parent, np.arange(parent.size)), 1.0)
    answer = float(log_values(graph, row[None, CATEGORICAL])[0])
    for number in NUMBERS:
        if not np.isnan(row[number]):
            line = int(row[parent[number]]) if parent[number] >= 0 else 0
            family = "gaussian" if encoding.schema[number].kind == "real" else "poisson"
            answer += LOG_PROB[family](tables[number][line].tolist(), float(row[number]))
    return answer


@pytest.mark.parametrize("how", ["tree", "independent", "features"])
def test_a_row_is_worth_its_categories_times_its_numbers_given_them(how: str) -> None:
    table = mixed_table()
    encoding, graph = encode(table), over_categories(table, how)
    whole = attach_numeric_columns(graph, encoding, 1.0, LINK_COST)
    rows = table.values[~table.missing[:, CATEGORICAL].any(axis=1)]
    expected = [obvious_log_value(graph, encoding, row) for row in rows]
    np.testing.assert_allclose(log_values(whole, rows), expected, rtol=1e-9)
    assert whole.schema == SCHEMA
    assert is_smooth(whole)
    assert is_decomposable(whole)
    assert is_deterministic(whole) == is_deterministic(graph)


@pytest.mark.parametrize("how", ["tree", "independent", "features"])
def test_numbers_do_not_change_what_the_categories_say(how: str) -> None:
    table = mixed_table()
    graph = over_categories(table, how)
    whole = attach_numeric_columns(graph, encode(table), 1.0, LINK_COST)
    rows = table.values.copy()
    rows[:, NUMBERS] = np.nan
    np.testing.assert_allclose(log_values(whole, rows), log_values(graph, rows[:, CATEGORICAL]), atol=1e-9)


def test_a_number_goes_under_the_column_that_tells_most_or_stays_alone() -> None:
    encoding = encode(mixed_table())
    assert best_categorical_parents(encoding, 1.0, LINK_COST).tolist() == [1, -1, -1, 4, -1]
    assert best_categorical_parents(encoding, 1.0, 1e9).tolist() == [-1] * 5


def test_a_feature_table_is_kept_under_the_new_columns_and_nodes() -> None:
    table = mixed_table()
    graph = over_categories(table, "features")
    whole = attach_numeric_columns(graph, encode(table), 1.0)
    assert graph.features is not None
    assert whole.features is not None
    assert whole.features.column.tolist() == [CATEGORICAL[c] for c in graph.features.column]
    np.testing.assert_array_equal(whole.features.log_weight, graph.features.log_weight)
    constants = next(b for b in whole.leaves if b.family.name == "constant")
    value = dict(zip(constants.node.tolist(), constants.params[:, 0].tolist(), strict=True))
    assert [value[n] for n in whole.features.node.tolist()] == whole.features.log_weight.tolist()


def test_without_categories_the_numbers_are_independent() -> None:
    table = mixed_table().select(NUMBERS)
    whole = attach_numeric_columns(None, encode(table), 1.0)
    alone = IndependentLearner(smoothing=1.0).learn(table, np.random.default_rng(0))
    np.testing.assert_allclose(log_values(whole, table.values), log_values(alone, table.values))
    one = table.select([1])
    assert attach_numeric_columns(None, encode(one), 1.0).nodes == 1


def test_without_numbers_the_circuit_stays_as_it_is() -> None:
    table = mixed_table().select(CATEGORICAL)
    graph = ChowLiuLearner().learn(table, np.random.default_rng(0))
    assert attach_numeric_columns(graph, encode(table), 1.0) is graph


def test_a_single_state_and_a_single_row_are_enough() -> None:
    schema = Schema((*discrete_schema([1]), Variable("y", "real")))
    table = Table(schema, np.array([[0.0, 3.0]]))
    graph = IndependentLearner().learn(table.select([0]), np.random.default_rng(0))
    whole = attach_numeric_columns(graph, encode(table), 1.0)
    assert np.isfinite(log_values(whole, table.values)).all()
