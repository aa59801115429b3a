"""A circuit that grows: it starts as independent columns, and every split adds features to it."""

from typing import NamedTuple

import numpy as np

from tractable.arrays import Bools, Floats, Ints
from tractable.growing.guess import Asked, Possible, edges_copied, possible_states
from tractable.growing.plan import NEVER
from tractable.growing.split import cost, split
from tractable.growing.store import (
    EDGES,
    INDICATOR,
    NODES,
    PARAMETER,
    PRODUCT,
    SLOTS,
    SUM,
    Numbers,
    Store,
    copy_in_order,
    empty_store,
    in_order,
    new_inner,
    new_leaf,
    set_children,
    with_room,
)
from tractable.growing.sweep import downward, downward_lanes, upward, upward_lanes
from tractable.growing.walks import Work, work_for


class Moments(NamedTuple):
    """What one sweep up and down tells."""

    log_value: float
    expected: Floats  # (parameters,) the expectation of each feature


class GrowingCircuit:
    """The arithmetic circuit of a log-linear model with conjunctive features, one parameter leaf a feature.

    It begins with one feature for each state of each column. A split of features on a column multiplies each
    by new features, one for each state of the column; the circuit stays smooth, decomposable and
    deterministic, and equal to the model.
    """

    def __init__(self, states: Ints) -> None:
        self.states = states
        total = int(states.sum())
        self.first_indicator: Ints = 1 + np.cumsum(states) - states  # the node of each column's first state
        self._store = empty_store(16 + 8 * total, 16 + 8 * total, max(1, -(-states.size // 64)))
        self._param = np.zeros(0, dtype=np.int32)  # the node of each parameter
        self._work: Work | None = None
        self._order: Numbers | None = None
        self._possible: Possible | None = None
        self._memory = np.empty((2, 0))
        self._kept = 0  # slots that were in use when nodes were last put in order
        self._plant()

    def _plant(self) -> None:
        s, states = self._store, self.states
        column = np.repeat(np.arange(states.size), states)
        bit = np.uint64(1) << (column % 64).astype(np.uint64)
        leaves = np.array([new_leaf(s, INDICATOR) for _ in column], dtype=np.int32)
        s.scope[leaves, column // 64] = bit
        self._param = np.array([new_leaf(s, PARAMETER) for _ in column], dtype=np.int32)
        sums: list[int] = []
        last = at = 0
        for many in states.tolist():
            below = []
            for _ in range(many):
                last = new_inner(s, PRODUCT, last)
                s.scope[last] = s.scope[leaves[at]]
                set_children(s, last, np.array([leaves[at], self._param[at]], dtype=np.int32), 2)
                below.append(last)
                at += 1
            last = new_inner(s, SUM, last)
            s.scope[last] = s.scope[leaves[at - 1]]
            set_children(s, last, np.array(below, dtype=np.int32), many)
            sums.append(last)
        root = new_inner(s, PRODUCT, last)
        s.scope[root] = np.bitwise_or.reduce(s.scope[leaves], axis=0)
        set_children(s, root, np.array(sums, dtype=np.int32), len(sums))

    @property
    def edges(self) -> int:
        """The number of edges."""
        return int(self._store.used[EDGES])

    @property
    def params(self) -> int:
        """The number of parameters."""
        return self._param.size

    def edge_cost(self, params: Ints, column: int, *, replace: bool = False, limit: int = NEVER - 1) -> int:
        """How many edges a split would add, exactly; NEVER if more than `limit`."""
        edges, _, _ = self._cost(self._param[params], column, replace, limit)
        return edges

    def edge_guesses(self, params: Ints, columns: Bools | None = None, *, replace: bool = False) -> Floats:
        """About how many edges a split on each of some columns, or of all, would add. Shape (columns,)."""
        s = self._store
        some = np.ones(self.states.size, dtype=np.bool_) if columns is None else columns
        asked = Asked.of(some, words=s.scope.shape[1])
        if self._possible is None:
            self._possible = possible_states(s, self._ordered(), self.first_indicator)
        work = self._workspace()
        copied = edges_copied(s, work, self._param[params], self._possible, asked, self.states.size)
        held = 0 if replace else int(s.refs[self._param[params]].sum())  # products that get one factor more
        return held + np.maximum(self.states - 1.0, 0.0) * copied

    def split(self, params: Ints, column: int, *, replace: bool = False) -> Ints:
        """Give features a factor for each state of a column that none of them looks at.

        Of several features exactly one holds at a time. Answers with the new parameters, (params, states).
        With `replace` they take the place of the old ones, which then are in no product any more.
        """
        states = int(self.states[column])
        many = params.size * states
        self._make_room(many, 0)
        _, nodes, slots = self._cost(self._param[params], column, replace, NEVER - 1)
        self._make_room(many + nodes, slots)
        fresh = np.array([new_leaf(self._store, PARAMETER) for _ in range(many)], dtype=np.int32)
        fresh = fresh.reshape(-1, states)
        first = int(self.first_indicator[column])
        split(self._store, self._workspace(), self._param[params], fresh, column, first, replace)
        new = self._param.size + np.arange(many).reshape(-1, states)
        self._param = np.concatenate([self._param, fresh.ravel()])
        self._order = self._possible = None
        self._tidy()
        return new

    def moments(self, log_weight: Floats) -> Moments:
        """The logarithm of the value without evidence, and how often the model expects each feature."""
        s, order = self._store, self._ordered()
        value, flow = (array[:, 0] for array in self._room(1))
        value[1 : self.states.sum() + 1] = 1.0
        with np.errstate(over="ignore", divide="ignore"):  # of a step that went much too far
            value[self._param] = np.exp(log_weight)
            upward(order, s.kind, s.first, s.degree, s.child, value)
            downward(order, s.kind, s.first, s.degree, s.child, value, flow)
            return Moments(float(np.log(value[order[-1]])), flow[self._param])

    def state_chances(self, log_weight: Floats, allowed: Floats) -> Floats:
        """The chance of each state of each column given evidence, several pieces of it side by side.

        `allowed` is (states of all columns, pieces): 1 for states that are possible, 0 for the others. The
        answer has the same shape; where the evidence is impossible it is zero.
        """
        s, order = self._store, self._ordered()
        value, flow = self._room(allowed.shape[1])
        value[1 : len(allowed) + 1] = allowed
        value[self._param] = np.exp(log_weight)[:, None]
        upward_lanes(order, s.kind, s.first, s.degree, s.child, value)
        downward_lanes(order, s.kind, s.first, s.degree, s.child, value, flow)
        return flow[1 : len(allowed) + 1].copy()

    def structure(self) -> tuple[Store, Numbers, Numbers]:
        """The arrays, the inner nodes in order, and the node of each parameter: for reading only."""
        return self._store, self._ordered(), self._param

    def _cost(self, params: Numbers, column: int, replace: bool, limit: int) -> tuple[int, int, int]:
        first, states = int(self.first_indicator[column]), int(self.states[column])
        return cost(self._store, self._workspace(), params, column, first, states, replace, limit)

    def _ordered(self) -> Numbers:
        if self._order is None:
            self._order = in_order(self._store)
        return self._order

    def _workspace(self) -> Work:
        if self._work is None:
            self._work = work_for(self._store)
        return self._work

    def _room(self, lanes: int) -> tuple[Floats, Floats]:
        """Values, and flows of zero, in memory that is used again. Shape (nodes, lanes)."""
        size = int(self._store.used[NODES]) * lanes
        if self._memory.shape[1] < size:
            self._memory = np.empty((2, 2 * size))
        value, flow = (part[:size].reshape(-1, lanes) for part in self._memory)
        flow.fill(0.0)
        return value, flow

    def _make_room(self, nodes: int, slots: int) -> None:
        store = with_room(self._store, nodes, slots)
        if store is not self._store:
            self._store, self._work = store, None

    def _tidy(self) -> None:
        """Put nodes in order in memory when many have come: sweeps then read it front to back."""
        old = self._store
        if old.used[SLOTS] < 1.5 * self._kept:
            return
        order, leaves = self._ordered(), 1 + np.arange(self.states.sum(), dtype=np.int32)
        leaves = np.concatenate([leaves, self._param])
        number = np.zeros(old.kind.size, dtype=np.int32)
        new = empty_store(old.kind.size, old.child.size, old.scope.shape[1])
        copy_in_order(old, leaves, order, number, new)
        self._store, self._work, self._order = new, None, None
        self._param = number[self._param]
        self._kept = max(1000, int(new.used[SLOTS]))
