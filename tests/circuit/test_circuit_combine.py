"""Mixtures, products and conversions of circuits, against enumeration."""

import math

import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from same_function import assert_same_function, families
from strategies import circuits, deterministic_circuits, rows, schemas, tables

from tractable.circuit import (
    Builder,
    Graph,
    is_decomposable,
    is_deterministic,
    is_smooth,
    mixture,
    product,
    to_ac,
)
from tractable.data.schema import Schema, Variable

close = pytest.approx


@given(schemas(columns=(1, 3)), st.data())
def test_a_mixture_is_the_weighted_mean_of_distributions(schema: Schema, data: st.DataObject) -> None:
    parts = data.draw(st.lists(circuits(schema=schema, normalised=False), min_size=1, max_size=3))
    weights = [data.draw(st.sampled_from([0.0, 0.5, 2.0])) for _ in parts[1:]] + [1.0]
    mixed = mixture(parts, weights)
    assert is_smooth(mixed)
    for row in oracle.all_rows(schema):
        each = [oracle.log_marginal(g, row) for g in parts]
        expected = [math.log(w / sum(weights)) + x for w, x in zip(weights, each, strict=True) if w]
        assert oracle.log_value(mixed, row) == close(oracle.log_sum(expected), abs=1e-9)


def test_a_mixture_matches_columns_by_name() -> None:
    one, other = product([_coin("a", 2.0), _coin("b", 0.0)]), product([_coin("b", 1.0), _coin("a", -3.0)])
    mixed = mixture([one, other])
    assert mixed.schema.names == ("a", "b")
    both = [oracle.log_value(one, [1.0, 0.0]), oracle.log_value(other, [0.0, 1.0])]
    assert oracle.log_value(mixed, [1.0, 0.0]) == close(oracle.log_sum(both) - math.log(2))


def test_mixtures_and_products_of_the_wrong_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="column 'a' is not the same in all circuits"):
        mixture([_coin("a"), _coin("b")])
    with pytest.raises(ValueError, match="2 weights for 1 circuits"):
        mixture([_coin("a")], [1.0, 2.0])
    with pytest.raises(ValueError, match="non-negative"):
        mixture([_coin("a"), _coin("a")], [1.0, -1.0])
    with pytest.raises(ValueError, match="two columns are called 'a'"):
        product([_coin("a"), _coin("a")])


@given(circuits(mixed=True, normalised=False), circuits(mixed=True, normalised=False), st.data())
def test_a_product_makes_columns_independent(one: Graph, other: Graph, data: st.DataObject) -> None:
    renamed = Schema(tuple(Variable("w" + v.name, v.kind, v.states) for v in other.schema))
    second = Graph(renamed, other.kind, other.start, other.child, other.log_weight, other.blocks)
    both = product([one, second])
    assert is_decomposable(both)
    row = data.draw(rows(both.schema))
    cut = len(one.schema)
    expected = oracle.log_value(one, row[:cut]) + oracle.log_value(second, row[cut:])
    assert oracle.log_value(both, row) == close(expected, abs=1e-9)


@given(circuits(normalised=False), st.data())
def test_every_network_is_an_arithmetic_circuit_with_linearly_more_edges(
    graph: Graph, data: st.DataObject
) -> None:
    ac = to_ac(graph)
    assert_same_function(ac, graph, data.draw(tables(graph.schema)))
    assert families(ac) <= {"indicator", "constant"}
    assert not ac.log_weight.any()
    states = int(graph.schema.cardinalities.max())
    assert ac.edges <= 3 * graph.edges + 3 * states * sum(b.node.size for b in graph.blocks)
    assert is_smooth(ac)
    assert is_decomposable(ac)


@given(circuits(normalised=False))
def test_an_arithmetic_circuit_stays_as_it_is(graph: Graph) -> None:
    once = to_ac(graph)
    again = to_ac(once)
    assert (again.nodes, again.edges) == (once.nodes, once.edges)


@given(deterministic_circuits())
def test_the_conversion_keeps_determinism(graph: Graph) -> None:
    assert is_deterministic(to_ac(graph))


def test_a_real_column_has_no_arithmetic_circuit() -> None:
    b = Builder(Schema((Variable("height", "real"),)))
    b.leaf("gaussian", 0, [0.0, 0.0])
    with pytest.raises(ValueError, match="column 'height' is real"):
        to_ac(b.freeze())


def _coin(name: str, log_odds: float = 0.3) -> Graph:
    b = Builder(Schema((Variable(name, states=("no", "yes")),)))
    b.leaf("bernoulli", 0, [log_odds])
    return b.freeze()
