"""Graphs that are copied: by pickling, and with other parameters."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from random_circuits import random_graph

import tractable as tr
from tractable.base.arrays import AnyArray
from tractable.circuit import Graph, properties
from tractable.circuit.check import check_graph
from tractable.circuit.facts import remembered
from tractable.engine import log_values, posteriors


@pytest.fixture
def used() -> Graph:
    """A graph that was compiled and examined."""
    graph = random_graph(np.random.default_rng(0), 12, 3000)
    posteriors(graph, np.full((1, 12), np.nan))
    properties(graph)
    return graph


def _array_bytes(graph: Graph) -> int:
    arrays: list[AnyArray] = [graph.kind, graph.start, graph.child, graph.log_weight]
    arrays += [array for block in graph.blocks for array in block.arrays.values()]
    return sum(array.nbytes for array in arrays)


def test_a_pickle_carries_no_program_and_no_facts(used: Graph) -> None:
    assert used.facts
    assert len(pickle.dumps(used)) < 1.1 * _array_bytes(used) + 4096
    assert len(pickle.dumps(tr.Circuit(used))) < 1.1 * _array_bytes(used) + 4096


def test_a_graph_works_after_pickling(used: Graph) -> None:
    rows = np.random.default_rng(1).integers(0, 2, (50, 12)).astype(float)
    twin = pickle.loads(pickle.dumps(used))
    assert twin.facts == {}
    np.testing.assert_array_equal(log_values(twin, rows), log_values(used, rows))
    assert [b.key for b in twin.blocks] == [b.key for b in used.blocks]
    circuit = pickle.loads(pickle.dumps(tr.Circuit(used, {"learner": "none"})))
    assert circuit.about == {"learner": "none"}
    np.testing.assert_array_equal(circuit.log_prob(rows), tr.Circuit(used).log_prob(rows))


def test_copies_share_no_facts_with_the_original(used: Graph) -> None:
    for twin in (copy.copy(used), replace(used), used.with_parameters()):
        assert twin.facts == {}
        twin.facts["new"] = True
        assert "new" not in used.facts


def test_a_fact_is_computed_once_for_each_function_and_choice_of_arguments(used: Graph) -> None:
    computed: list[object] = []

    def fact_of(label: str) -> Callable[[Graph, int], tuple[str, int]]:
        @remembered
        def fact(graph: Graph, number: int) -> tuple[str, int]:
            computed.append((label, number))
            return label, number

        return fact

    one, other = fact_of("one"), fact_of("other")  # functions of the same name
    for _ in range(2):
        assert [one(used, 1), one(used, 2), other(used, 1)] == [("one", 1), ("one", 2), ("other", 1)]
    assert computed == [("one", 1), ("one", 2), ("other", 1)]


def test_other_parameters_change_nothing_else(used: Graph) -> None:
    weights = np.where(used.log_weight == 0, 0.0, -1.0)
    blocks = tuple(block.with_parameters(block.parameters + 1) for block in used.blocks)
    found = used.with_parameters(weights, blocks)
    assert found.log_weight is weights
    assert found.blocks is blocks
    assert found.child is used.child
    assert used.with_parameters(blocks=blocks).log_weight is used.log_weight
    check_graph(found)
    rows = np.zeros((3, 12))
    np.testing.assert_array_equal(
        log_values(found, rows), log_values(replace(used, log_weight=weights, blocks=blocks), rows)
    )


def test_parameters_of_another_shape_are_refused(used: Graph) -> None:
    with pytest.raises(ValueError, match="number of parameters differs"):
        used.with_parameters(used.log_weight[1:])
    with pytest.raises(ValueError, match="number of parameters differs"):
        used.with_parameters(blocks=(used.blocks[0].select(slice(1, None)),))
    with pytest.raises(ValueError, match="number of parameters differs"):
        used.with_parameters(blocks=())
