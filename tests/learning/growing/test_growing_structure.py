"""A structure is split, undone, replayed and frozen without any rows; every split is planned once."""

from typing import Any

import numpy as np
import pytest
from log_linear import all_rows, log_linear
from random_splits import random_splits

from tractable.base.compiled import Trial
from tractable.data import discrete_schema
from tractable.engine import log_values
from tractable.learning.growing import FeatureStructure, GrowingCircuit
from tractable.learning.growing.plan import NEVER, plan_split
from tractable.learning.growing.store import TRIAL

STATES = np.array([2, 3, 2, 4])
SPLITS = [(0, 1), (4, 0), (2, 3), (11, 2), (15, 3)]


def grown(splits: list[tuple[int, int]] = SPLITS) -> FeatureStructure:
    structure = FeatureStructure(STATES)
    for item, column in splits:
        structure.split(item, column)
    return structure


def test_a_structure_is_frozen_under_any_weights() -> None:
    structure = grown()
    weight = np.random.default_rng(0).normal(size=structure.items)
    graph = structure.freeze(discrete_schema(STATES.tolist()), weight, log_factor=0.5)
    rows = all_rows(STATES)
    logs = log_linear(rows, structure.conditions, weight) + 0.5
    np.testing.assert_allclose(log_values(graph, rows.astype(float)), logs, atol=1e-9)
    assert graph.features is not None
    assert len(graph.features) == structure.items + 1


def test_a_split_adds_an_item_for_each_state_and_keeps_the_history() -> None:
    structure = FeatureStructure(STATES)
    assert structure.items == 11
    assert list(structure.split(0, 1)) == [11, 12, 13]
    assert structure.conditions[11:] == [((0, 0), (1, 0)), ((0, 0), (1, 1)), ((0, 0), (1, 2))]
    assert structure.history.tolist() == [[0, 1]]
    assert structure.states_of(3) == slice(7, 11)


def test_undone_splits_leave_no_trace() -> None:
    structure, fresh = grown(), grown(SPLITS[:2])
    structure.undo(2)
    assert structure.conditions == fresh.conditions
    assert (structure.items, structure.splits, structure.edges) == (fresh.items, 2, fresh.edges)
    for item in range(structure.items):
        for column in set(range(4)) - {c for c, _ in structure.conditions[item]}:
            assert structure.is_allowed(item, column) == fresh.is_allowed(item, column)
            assert structure.edge_cost(item, column) == fresh.edge_cost(item, column)
    structure.replay(np.array(SPLITS))
    assert structure.history.tolist() == [list(pair) for pair in SPLITS]
    assert structure.edges == grown().edges


def test_a_split_that_adds_no_new_feature_is_not_allowed() -> None:
    structure = FeatureStructure(np.array([2, 2]))
    structure.split(0, 1)
    assert structure.is_allowed(2, 0)  # one of its two features is new
    structure.split(1, 1)
    assert not structure.is_allowed(2, 0)


class Count:
    """Counts the calls of a function."""

    def __init__(self, call: Any) -> None:
        self.calls = 0
        self._call = call

    def __call__(self, *arguments: Any) -> Any:
        self.calls += 1
        return self._call(*arguments)


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> Count:
    count = Count(plan_split)
    monkeypatch.setattr("tractable.learning.growing.circuit.plan_split", count)
    return count


def test_a_split_is_planned_once(plans: Count) -> None:
    grown()
    assert plans.calls == len(SPLITS)


def test_a_split_that_was_priced_last_is_not_planned_again(plans: Count) -> None:
    structure = FeatureStructure(STATES)
    for done, (item, column) in enumerate(SPLITS, start=1):
        cost, before = structure.edge_cost(item, column), structure.edges
        structure.split(item, column)
        assert structure.edges - before == cost
        assert plans.calls == done


@pytest.mark.parametrize("between", ["another price", "an estimate", "another split"])
def test_a_plan_is_not_used_after_the_workspace_was(plans: Count, between: str) -> None:
    structure, twin = FeatureStructure(STATES), FeatureStructure(STATES)
    structure.edge_cost(0, 1)
    if between == "another price":
        structure.edge_cost(1, 1)
    elif between == "an estimate":
        structure.estimate_edge_costs(0, np.ones(4, dtype=np.bool_))
    else:
        structure.split(7, 0)
        twin.split(7, 0)
    calls = plans.calls
    structure.split(0, 1)
    assert plans.calls == calls + 1
    twin.split(0, 1)
    assert structure.edges == twin.edges


def test_a_plan_that_was_given_up_is_made_again(plans: Count) -> None:
    circuit = GrowingCircuit(STATES)
    cost = GrowingCircuit(STATES).edge_cost(np.array([0]), 1)
    assert circuit.edge_cost(np.array([0]), 1, limit=cost - 1) == NEVER
    calls, before = plans.calls, circuit.edges
    circuit.split(np.array([0]), 1)
    assert plans.calls == calls + 1
    assert circuit.edges - before == cost


def test_a_plan_outlives_a_store_that_has_to_grow(plans: Count) -> None:
    """The marks of a plan are in the workspace, which is enlarged between planning and splitting."""
    rng = np.random.default_rng(0)
    structure, rows = FeatureStructure(np.full(6, 2)), all_rows(np.full(6, 2))
    enlarged = 0
    while enlarged < 3:
        item = int(rng.integers(structure.items))
        free = sorted(set(range(6)) - {c for c, _ in structure.conditions[item]})
        if not free:
            continue
        column = int(rng.choice(free))
        room = structure.circuit.arrays()[0].child.size
        calls = plans.calls
        structure.edge_cost(item, column)
        structure.split(item, column)
        assert plans.calls == calls + 1
        enlarged += structure.circuit.arrays()[0].child.size > room
    weight = 0.1 * rng.normal(size=structure.items)
    graph = structure.freeze(discrete_schema([2] * 6), weight)
    logs = log_linear(rows, structure.conditions, weight)
    np.testing.assert_allclose(log_values(graph, rows.astype(float)), logs, atol=1e-9)


def grown_arrays(seed: int) -> list[bytes]:
    """The arrays, costs and estimates of a circuit that has grown by random splits."""
    rng = np.random.default_rng(seed)
    circuit = GrowingCircuit(rng.integers(1, 5, size=int(rng.integers(2, 7))))
    found = [circuit.estimate_edge_costs(np.array([0])).tobytes() for _ in random_splits(circuit, rng, 12)]
    store, order, params = circuit.arrays()
    nodes, slots, _, _ = store.used
    used = [array[:nodes] for array in store[:8]] + [array[:slots] for array in store[8:12]]
    return [*found, *(array.tobytes() for array in (order, params, store.used, *used))]


def test_circuits_grow_alike_whether_kernels_are_compiled_or_interpreted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Trial, "at_once", True)
    compiled = [grown_arrays(seed) for seed in range(8)]
    monkeypatch.setattr(Trial, "at_once", False)
    monkeypatch.setattr(TRIAL, "spent", -np.inf)
    assert [grown_arrays(seed) for seed in range(8)] == compiled
