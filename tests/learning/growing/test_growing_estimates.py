"""Estimates of what splits cost, against sets of nodes written down one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_splits import random_splits

from tractable.circuit import PRODUCT
from tractable.learning.growing import GrowingCircuit
from tractable.learning.growing.store import INDICATOR


class Slow:
    """The nodes of a circuit as sets: children, parents, everything below, states possible below."""

    def __init__(self, circuit: GrowingCircuit) -> None:
        store, order, self.params = circuit.arrays()
        self.kind = store.kind
        self.children = {
            int(n): [int(c) for c in store.child[store.first[n] : store.first[n] + store.degree[n]]]
            for n in order
        }
        self.order = [int(n) for n in order]
        column = np.repeat(np.arange(circuit.states.size), circuit.states)
        state = np.arange(column.size) - np.repeat(circuit.first_indicator - 1, circuit.states)
        self.states = {
            node: {(int(column[node - 1]), int(state[node - 1]))} if kind == INDICATOR else set()
            for node, kind in enumerate(store.kind.tolist())
        }
        self.below: dict[int, set[int]] = {}
        for node in self.order:
            self.below[node] = set(self.children[node]).union(
                *(self.below.get(c, set()) for c in self.children[node])
            )
            self.states[node] = set().union(*(self.states[c] for c in self.children[node]))

    def has(self, node: int, column: int) -> int:
        """How many kinds of states a column can have below a node: the first, and any other."""
        return len({state == 0 for c, state in self.states[node] if c == column})

    def estimate(self, param: int, column: int) -> int:
        leaf = int(self.params[param])
        above = [n for n in self.order if leaf in self.below[n]]
        met: dict[int, set[bool]] = {}
        edges, beside = 0, set()
        for node in reversed(above):
            here = met.setdefault(node, set())
            if not self.has(node, column) and len(here) == 2:
                edges += len(self.children[node])
            others = [c for c in self.children[node] if c != leaf and c not in above]
            passed = set(here)
            if self.kind[node] == PRODUCT:
                for c in others:
                    passed |= {state == 0 for k, state in self.states[c] if k == column}
                    beside |= {c} | self.below.get(c, set())
            for c in self.children[node]:
                if c in above:
                    met.setdefault(c, set()).update(passed)
        return edges + sum(len(self.children[n]) for n in beside if self.is_copied(n, column))

    def is_copied(self, node: int, column: int) -> bool:
        """Whether a node is needed once for each state of a column."""
        below = self.children.get(node, [])
        if self.kind[node] == PRODUCT:
            return self.has(node, column) == 2
        return any(self.has(c, column) == 2 for c in below)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=6), st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_estimates_are_the_edges_of_the_parts_that_are_copied(states: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    circuit = GrowingCircuit(np.array(states))
    for features in random_splits(circuit, rng, 12):
        slow = Slow(circuit)
        param = int(rng.integers(len(features)))
        estimates = circuit.estimate_edge_costs(np.array([param]))
        assert estimates.shape == (len(states),)
        for column in set(range(len(states))) - {c for c, _ in features[param]}:
            held = sum(int(slow.params[param]) in children for children in slow.children.values())
            copied = max(states[column] - 1, 0) * slow.estimate(param, column)
            assert estimates[column] == held + copied
            assert circuit.estimate_edge_costs(np.array([param]), replace=True)[column] == copied


def test_estimates_are_close_to_what_splits_cost() -> None:
    """In circuits as searches make them: cheap splits are not taken for expensive ones, nor vice versa."""
    rng = np.random.default_rng(0)
    circuit = GrowingCircuit(np.full(12, 2))
    ratio: list[float] = []
    for features in random_splits(circuit, rng, 60):
        param = int(rng.integers(len(features)))
        estimates = circuit.estimate_edge_costs(np.array([param]))
        free = set(range(12)) - {c for c, _ in features[param]}
        cost = {column: circuit.edge_cost(np.array([param]), column) for column in free}
        ratio.extend((cost[column] + 4) / (estimates[column] + 4) for column in free)
    assert len(ratio) > 400
    assert np.quantile(ratio, 0.05) > 0.8
    assert np.quantile(ratio, 0.95) < 2.0
    assert np.median(ratio) == pytest.approx(1.05, abs=0.1)


@given(st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_estimates_for_some_columns_are_those_for_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    circuit = GrowingCircuit(rng.integers(1, 4, size=70))  # more columns than a word has bits
    for features in random_splits(circuit, rng, 25):
        param = np.array([int(rng.integers(len(features)))])
        some = rng.random(70) < rng.choice([0.02, 0.3])
        np.testing.assert_array_equal(
            circuit.estimate_edge_costs(param, some)[some], circuit.estimate_edge_costs(param)[some]
        )
